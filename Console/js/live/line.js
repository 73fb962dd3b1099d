// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { cut, time } from "../core/format.js";
import { isObject } from "../core/json.js";
import { generation } from "../core/revision.js";
import { link } from "../core/router.js";
import { tag } from "../components/states.js";

/**
 * One change as the list shows it. The document itself is not kept: two thousand of any size would be too much.
 *
 * @typedef {"new" | "changed" | "deleted" | "conflict"} Kind
 * @typedef {object} Line
 * @property {number | null} at When it arrived, in milliseconds; null for a change from before the feed was opened.
 * @property {string} id
 * @property {string} rev
 * @property {Kind} kind
 * @property {boolean} isDeleted
 * @property {boolean} hasBranches Whether the document has several leaf revisions, of which some may be deleted.
 * @property {string | null} preview The beginning of the document as JSON; null when the feed brings no documents.
 * @property {Map<string, string> | null} values The document's plain values by the paths of their properties.
 */

const PREVIEW = 400;
const MOST_VALUES = 60;
const TONES = /** @type {const} */ ({ new: "success", changed: "", deleted: "danger", conflict: "warning" });
const clock = new Intl.DateTimeFormat(undefined,
  { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/**
 * @param {import("../api/changes.js").Change} change
 * @param {number | null} at
 * @returns {Line}
 */
export function lineOf(change, at) {
  const { _id, _rev, _conflicts, ...body } = change.doc ?? {};
  const rev = _rev ?? change.changes[0]?.rev ?? "";
  const isDeleted = change.deleted === true;
  /** @type {Kind} */
  const kind = isDeleted ? "deleted" : _conflicts?.length ? "conflict" : generation(rev) === 1 ? "new" : "changed";
  return {
    at, id: change.id, rev, kind, isDeleted, hasBranches: change.changes.length > 1,
    preview: change.doc ? JSON.stringify(body).slice(0, PREVIEW) : null,
    values: change.doc ? valuesOf(body) : null,
  };
}

/**
 * The texts, numbers and words of a document, also those one level down: `type`, `place.city`.
 *
 * @param {any} body
 * @returns {Map<string, string>}
 */
function valuesOf(body) {
  /** @type {Map<string, string>} */
  const values = new Map();
  const take = (/** @type {any} */ object, /** @type {string} */ before, /** @type {boolean} */ goesDown) => {
    for (const [key, value] of Object.entries(object)) {
      if (values.size >= MOST_VALUES) return;
      if (!before && key.startsWith("_")) continue;
      if (isObject(value)) { if (goesDown) take(value, `${key}.`, false); }
      else if (!Array.isArray(value)) values.set(before + key, cut(String(value), 80));
    }
  };
  take(body, "", true);
  return values;
}

/**
 * The names of the columns, which stand above the lines.
 *
 * @returns {HTMLElement}
 */
export function lineHeader() {
  return h("div.live-line.names", { role: "row" },
    ["Time", "ID", "Generation", "Kind", "Document"].map((name) => h("span", { role: "columnheader" }, name)));
}

/**
 * @param {Line} line
 * @param {HTMLElement} element
 * @param {string} database
 */
export function drawLine(line, element, database) {
  element.classList.add("live-line");
  element.append(
    h("time.faint", { role: "gridcell", title: line.at === null ? "From before the feed was opened" : time(line.at) },
      line.at === null ? "earlier" : clock.format(line.at)),
    h("a.cut", { role: "gridcell", href: link("db", database, "doc", line.id), title: line.id, dir: "auto" }, line.id),
    h("span.number.soft", { role: "gridcell", title: line.rev }, generation(line.rev)),
    h("span", { role: "gridcell" }, tag(line.kind, TONES[line.kind])),
    h("span.preview.code.cut", { role: "gridcell", title: line.preview ?? undefined, dir: "ltr" }, line.preview ?? ""));
}
