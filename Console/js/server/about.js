// SPDX-License-Identifier: Apache-2.0

import { root } from "../api/client.js";
import { isDivan, mayWrite, server } from "../api/server.js";
import { tag } from "../components/states.js";
import { h } from "../core/dom.js";

/** Where to read on, in the repository of Divan and in the console's server. */
const DOCS = [["docs/listener.md", "the HTTP interface, users and the configuration"],
  ["docs/replication.md", "sync, conflicts and filters"], ["docs/indexes.md", "indexes and how queries choose them"],
  ["docs/copies-and-backups.md", "backups"], ["docs/threat-model.md", "what is protected against whom"]];

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
  return h("div.grid.charts", null,
    panel("The server", facts([
      ["Made by", `${vendor?.name ?? "unknown"} ${vendor?.version ?? ""}`],
      [isDivan() ? "CouchDB version" : "Version", version],
      ["Features", h("span.row", null, features.map((/** @type {string} */ one) => tag(one)))],
      ["Read-only", mayWrite() ? "no" : "yes"],
      ["UUID", h("code", null, uuid ?? "none")], ["Address", h("code", null, root.href)],
    ])),
    panel("Documentation", h("div.column", null,
      h("ul.column.tight", null, DOCS.map(([file, about]) => h("li", null, h("code", null, file), `: ${about}`))),
      h("p.soft.small", null,
      "These are files of Divan's repository. The console sends no request to another server."))),
    panel("The console", h("div.column", null,
      h("p", null, "It uses only the server's public API: ",
      "a program can do everything that the console does."),
      h("p.soft.small", null, "Licence: Apache-2.0"))));
}
