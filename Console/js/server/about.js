// SPDX-License-Identifier: Apache-2.0

import { root } from "../api/client.js";
import { isDivan, mayWrite, server } from "../api/server.js";
import { tag } from "../components/states.js";
import { h } from "../core/dom.js";
import { listed } from "../core/keys.js";

/** What lists and grids understand beside the keys of a view. */
const GRIDS = [["ArrowUp ArrowDown", "Go through a list"], ["PageUp PageDown Home End", "Go far in a list"],
  ["Enter", "Open the current line"], ["Space", "Select the current line"],
  ["Escape", "Close a dialog or a menu, or select nothing"]];
/** Where to read on, in the repository of Divan and in the console's server. */
const DOCS = [["docs/listener.md", "the HTTP interface, users and the configuration"],
  ["docs/replication.md", "sync, conflicts and filters"], ["docs/indexes.md", "indexes and how they are chosen"],
  ["docs/copies-and-backups.md", "backups"], ["docs/threat-model.md", "what is protected from whom"]];

/**
 * What the server and the console are.
 *
 * @returns {import("../core/dom.js").Children}
 */
export function aboutPart() {
  const { vendor, version, features = [], uuid } = server.value ?? /** @type {any} */ ({});
  const panel = (/** @type {string} */ title, /** @type {import("../core/dom.js").Children} */ body) =>
    h("section.panel", null, h("header", null, h("h2", null, title)), h("div.body", null, body));
  const facts = (/** @type {[string, import("../core/dom.js").Children][]} */ rows) =>
    h("dl.facts", null, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
  const typed = (/** @type {string} */ text) =>
    text.split(" ").map((one) => [h("kbd", null, one.replace("mod", "Ctrl")), " "]);
  return h("div.grid.charts", null,
    panel("The server", facts([
      ["Made by", `${vendor?.name ?? "unknown"} ${vendor?.version ?? ""}`],
      [isDivan() ? "Speaks as CouchDB" : "Version", version],
      ["Features", h("span.row", null, features.map((/** @type {string} */ one) => tag(one)))],
      ["Takes writes", mayWrite() ? "yes" : "no, it is read-only"],
      ["UUID", h("code", null, uuid ?? "none")], ["Address", h("code", null, root.href)],
    ])),
    panel("What can be typed", facts([...listed().map(({ keys, does }) => [keys, does]), ...GRIDS]
      .map(([keys, does]) => [does, typed(keys)]))),
    panel("To read on", h("div.column", null,
      h("ul.column.tight", null, DOCS.map(([file, about]) => h("li", null, h("code", null, file), `: ${about}`))),
      h("p.soft.small", null,
      "These are files of Divan's repository. The console asks no other server for anything."))),
    panel("The console", h("div.column", null,
      h("p", null, "It uses the server's public API only: ",
      "everything that it shows and does is also a request that a program can send."),
      h("p.soft.small", null, "Licence: Apache-2.0"))));
}
