// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { bytes, count, time } from "../core/format.js";
import { link } from "../core/router.js";
import { short } from "../core/revision.js";

/**
 * What is known about a document beside its properties.
 *
 * @param {string} database
 * @param {import("./store.js").Stored} stored
 * @returns {HTMLElement}
 */
export function factsPanel(database, { id, rev, meta, size }) {
  const { start, ids } = meta._revisions ?? { start: 0, ids: [] };
  const revs = ids.map((/** @type {string} */ digest, /** @type {number} */ index) => `${start - index}-${digest}`);
  /** @type {[string, import("../core/dom.js").Children][]} */
  const facts = [
    ["Size", bytes(size)],
    ...(meta._local_seq === undefined ? [] : [/** @type {[string, string]} */ ([
      "Sequence",
      typeof meta._local_seq === "number" ? count(meta._local_seq) : String(meta._local_seq).split("-")[0],
    ])]),
    ...(meta._exp ? [/** @type {[string, string]} */ ([
      "Expires", time(typeof meta._exp === "number" ? meta._exp * 1000 : meta._exp),
    ])] : []),
  ];
  return h("section.panel", { "aria-label": "Details" }, h("header", null, h("h2", null, "Details")),
    h("div.body.column", null,
      h("dl.facts", null, facts.map(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
      revs.length > 0 && h("h3", null, "Revisions"),
      revs.length > 0 && h("ol.column.tight", null, revs.slice(0, 6).map((/** @type {string} */ one) => h("li", null,
        h("a.code", {
          href: link("db", database, "doc", id, { rev: one }), title: one,
          "aria-current": one === rev ? "true" : undefined,
        }, short(one))))),
      revs.length > 6
        && h("a.small", { href: link("db", database, "doc", id, "history") }, `All ${count(revs.length)} revisions`)));
}
