// SPDX-License-Identifier: Apache-2.0

import { has, mayWrite } from "../api/server.js";
import { sparkline } from "../components/chart.js";
import { icon } from "../components/icon.js";
import { menuButton } from "../components/menu.js";
import { tag } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { bytes, count, plural } from "../core/format.js";
import { link } from "../core/router.js";
import { backUp } from "../maintenance/backup.js";
import { compact, deleteDatabase, verify } from "../maintenance/operations.js";
import { REMEMBERED } from "./rates.js";

/**
 * A line of the overview. Its cells are updated where they stand, so that a focus or an open menu stays.
 *
 * @typedef {import("./row.js").Row} Row
 */

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 * @property {boolean} [isNumber]
 * @property {(row: Row) => string | number | null} value What it is sorted by; null when it is not known.
 * @property {(row: Row) => string} [text]
 */

/** @type {Column[]} */
export const COLUMNS = [
  { key: "name", label: "Name", value: (row) => row.name },
  { key: "documents", label: "Documents", isNumber: true, value: (row) => row.info?.doc_count ?? null, text: (row) =>
    number(row.info?.doc_count) },
  { key: "deleted", label: "Deleted", isNumber: true, value: (row) => row.info?.doc_del_count ?? null, text: (row) =>
    number(row.info?.doc_del_count) },
  { key: "size", label: "Size", isNumber: true, value: (row) => row.info?.sizes.file ?? null,
    text: (row) => (row.info ? bytes(row.info.sizes.file) : "") },
  { key: "conflicts", label: "Conflicts", isNumber: true, value: (row) => row.details?.conflicts ?? null,
    text: (row) => known(row, "conflicts") },
  { key: "indexes", label: "Indexes", isNumber: true, value: (row) => row.details?.indexes ?? null, text: (row) =>
    known(row, "indexes") },
  { key: "rate", label: "Changes a second", isNumber: true, value: (row) => row.rate, text: (row) =>
    rateText(row.rate) },
];

/** @type {WeakMap<Row, HTMLElement>} */
const drawn = new WeakMap();

/**
 * @param {Row} row
 * @param {HTMLElement} line
 * @param {{ signal: AbortSignal, onCompact: () => any, onDelete: () => void }} options
 */
export function drawRow(row, line, { signal, onCompact, onDelete }) {
  const go = (/** @type {string} */ part) => { location.hash = link("db", row.name, part); };
  const menu = menuButton({
    title: `Actions for ${row.name}`, kind: "plain small",
    items: () => [
      { label: "Storage", icon: "chart", call: () => go("storage") },
      { label: "Indexes", icon: "index", call: () => go("indexes") },
      { label: "Live changes", icon: "live", call: () => go("live") },
      "line",
      { label: "Back up…", icon: "download", call: () => backUp(row.name, signal) },
      mayWrite() && { label: "Compact…", icon: "save", call: async () => { if (await compact(row.name,
        signal)) await onCompact(); } },
      has("divan-verify") && { label: "Verify…", icon: "check", call: () => verify(row.name, signal) },
      mayWrite() && "line",
      mayWrite() && { label: "Delete…", icon: "delete", danger: true,
        call: async () => { if (await deleteDatabase(row.name, row.info?.doc_count)) onDelete(); } },
    ],
  });
  fill(line,
    h("div.name", { role: "gridcell" }, h("div.row.nowrap", null,
      h("a.cut", { href: link("db", row.name, "docs"), title: row.name }, row.name), h("span.tags")),
      h("p.brief.soft.small")),
    COLUMNS.slice(1).map((column) => h("div.number", { role: "gridcell", class: column.key })),
    h("div.menu-cell", { role: "gridcell" }, menu));
  drawn.set(row, line);
  updateRow(row);
}

/**
 * Writes what is new about a database into its line, if that is in the page.
 *
 * @param {Row} row
 */
export function updateRow(row) {
  const line = drawn.get(row);
  const tags = line?.querySelector(".tags");
  // A line that has gone out of sight may show another database now.
  if (!line || !tags || line.querySelector("a")?.textContent !== row.name) return;
  const { info, details } = row;
  fill(tags, info?.props?.partitioned && tag("partitioned"), details?.engine && tag(details.engine),
    details?.isEncrypted && h("span.tag.success", { title: "Encrypted on disk" }, icon("lock"), "encrypted"));
  for (const column of COLUMNS.slice(1)) {
    const cell = /** @type {HTMLElement} */ (line.querySelector(`.${column.key}`));
    const text = column.text?.(row) ?? "";
    if (column.key === "rate") fill(cell, row.history.some((rate) => rate > 0)
      && sparkline({ label: "Changes a second", values: row.history, room: REMEMBERED, width: 72, height: 20,
        format: rateText }),
    h("span", null, text));
    else if (cell.textContent !== text) fill(cell, text);
  }
  const conflicts = /** @type {HTMLElement} */ (line.querySelector(".conflicts"));
  if (details?.conflicts) fill(conflicts, h("a", { href: link("db", row.name, "conflicts") },
    count(details.conflicts)));
  conflicts.title = details && details.conflicts === null
    ? "This server does not count the conflicts of a database of this size. Its Conflicts page does." : "";
  const brief = /** @type {HTMLElement} */ (line.querySelector(".brief"));
  fill(brief, info ? [info.doc_count !== undefined && `${plural(info.doc_count, "document")}, `, bytes(info.sizes.file),
    details?.conflicts ? `, ${plural(details.conflicts, "conflict")}` : null, row.rate > 0
      && `, ${rateText(row.rate)}/s`] : null);
}

/** @param {number | undefined} value */
function number(value) { return value === undefined ? "" : count(value); }

/**
 * @param {Row} row
 * @param {"conflicts" | "indexes"} member
 */
function known(row, member) {
  if (!row.details) return "";
  const value = row.details[member];
  return value === null ? "–" : count(value);
}

/** @param {number} rate */
function rateText(rate) { return rate < 0.05 ? "0" : rate < 10 ? rate.toFixed(1) : count(Math.round(rate)); }
