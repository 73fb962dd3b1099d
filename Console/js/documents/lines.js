// SPDX-License-Identifier: Apache-2.0

import { jsonView } from "../components/json-view.js";
import { h } from "../core/dom.js";
import { link } from "../core/router.js";
import { valueAt } from "../core/json.js";
import { cell } from "./columns.js";

/**
 * Draws the lines of a list of documents: a table, cards with JSON, or IDs only.
 *
 * @typedef {"table" | "json" | "ids"} Shape
 * @typedef {import("./pages.js").Row} Row
 */

/** @type {Record<Shape, number>} */
export const HEIGHTS = { table: 36, json: 220, ids: 32 };
const ID_WIDTH = 220, CHECK_WIDTH = 36;

/**
 * The tracks of the grid that a line and the header share, and how wide they are at least.
 *
 * @param {Shape} shape
 * @param {import("./columns.js").Column[]} columns
 * @returns {{ tracks: string, width: number }}
 */
export function tracks(shape, columns) {
  const check = `${CHECK_WIDTH}px`;
  if (shape !== "table") return { tracks: `${check} minmax(0, 1fr)${shape === "ids" ? " auto" : ""}`, width: 0 };
  const widths = columns.map(({ width }) => width);
  return {
    tracks: [check, ...[ID_WIDTH, ...widths].map((width) => `minmax(${width}px, ${width}fr)`)].join(" "),
    width: CHECK_WIDTH + ID_WIDTH + widths.reduce((sum, width) => sum + width, 0),
  };
}

/**
 * The box by which a line is selected. Not a stop of the Tab key: Space does it for the current line.
 *
 * @param {string} label
 * @param {boolean} checked
 * @param {(event: MouseEvent) => void} onclick
 */
function box(label, checked, onclick) {
  return h("span.cell.tick", { role: "gridcell", onclick: (/** @type {Event} */ event) => event.stopPropagation() },
    h("input", { type: "checkbox", tabindex: -1, "aria-label": label, checked, onclick }));
}

/**
 * @param {object} options
 * @param {HTMLElement} options.line
 * @param {string} options.database
 * @param {Shape} options.shape
 * @param {import("./columns.js").Column[]} options.columns
 * @param {Row | undefined} options.row Undefined while it is on its way.
 * @param {boolean} options.isSelected
 * @param {(event: MouseEvent) => void} options.onTick
 */
export function drawLine({ line, database, shape, columns, row, isSelected, onTick }) {
  if (!row) {
    line.classList.add("waiting");
    const waiting = [h("span.bar"), h("span.unseen", null, "Loading")];
    line.append(h("span.cell"), h("span.cell.cut", { role: "gridcell" }, waiting));
    return;
  }
  const { id, rev, doc, isGone } = row;
  line.classList.toggle("gone", isGone === true);
  const name = isGone ? h("span.cut", { dir: "auto", title: `${id} was deleted` }, id)
    : h("a.cut", {
      href: link("db", database, "doc", id), dir: "auto", tabindex: -1, title: id,
      onclick: (/** @type {Event} */ event) => event.stopPropagation(),
    }, id);
  line.append(box(`Select ${id}`, isSelected, onTick));
  if (shape === "json") {
    line.append(h("div.card", { role: "gridcell" },
      h("div.row.nowrap", null, name, h("span.faint.tiny.cut.push", null, rev)),
      isGone ? h("p.soft", null, "This document was deleted.") : jsonView(body(doc), { open: 1 })));
    return;
  }
  line.append(h("span.cell.id.cut", { role: "gridcell" }, name));
  if (shape === "ids") line.append(h("span.cell.cut.faint.tiny.rev", { role: "gridcell" }, rev));
  else line.append(...columns.map((column) => cell(valueAt(doc, column.property), column)));
}

/**
 * What a card shows: the ID and revision stand above, and a card has room for few properties.
 *
 * @param {any} doc
 */
function body(doc) {
  return Object.fromEntries(Object.entries(doc ?? {}).filter(([key]) => key !== "_id" && key !== "_rev").slice(0, 12)
    .map(([key, value]) => [key, typeof value === "string" ? value.slice(0, 400) : value]));
}

/**
 * The line above the list.
 *
 * @param {Shape} shape
 * @param {import("./columns.js").Column[]} columns
 * @param {HTMLInputElement} all The box that selects everything.
 * @returns {HTMLElement[]}
 */
export function headerCells(shape, columns, all) {
  const title = (/** @type {string} */ text, kind = "") =>
    h("span.cell.cut", { role: "columnheader", class: kind, dir: "auto", title: text }, text);
  return [
    h("span.cell.tick", { role: "columnheader" }, all), title(shape === "json" ? "Document" : "ID"),
    ...(shape === "ids" ? [title("Revision")] : []),
    ...(shape === "table" ? columns.map(({ property, kind }) => title(property, kind === "number" ? "end" : "")) : []),
  ];
}
