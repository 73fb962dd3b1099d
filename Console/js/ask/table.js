// SPDX-License-Identifier: Apache-2.0

import { VirtualList } from "../components/virtual-list.js";
import { numberOf, plain } from "../components/json-text.js";
import { fill, h } from "../core/dom.js";
import { cut } from "../core/format.js";
import { asText, compare, idOf, valueAt } from "./rows.js";

/**
 * Rows as a table; a click on a heading sorts what is here, without asking again.
 *
 * @param {object} options
 * @param {string} options.label
 * @param {import("./rows.js").Result} options.result
 * @param {(id: string) => string} options.href
 * @param {(hash: string) => void} options.go
 * @returns {HTMLElement}
 */
export function resultTable({ label, result, href, go }) {
  const { items, columns } = result;
  let shown = items, by = "", isDescending = false;
  const widths = columns.map((column) => {
    const longest = Math.max(...items.slice(0, 60).map((item) => asText(valueAt(item, column)).length));
    return Math.max(8, Math.min(36, Math.max(longest, column.length + 2))) + 3;
  });
  const numbers = columns.map((column) => items.slice(0, 60).every((item) => {
    const value = valueAt(item, column);
    return value === undefined || numberOf(value) !== undefined;
  }));
  const head = h("div.result-line.head", { role: "row" });
  const drawHead = () => fill(head, columns.map((column, index) => h("div", {
    role: "columnheader", class: numbers[index] ? "number" : "", "aria-sort": by === column
      ? (isDescending ? "descending" : "ascending") : "none",
  }, h("button", {
    type: "button", title: `Sort by ${plain(column)}`, dataset: { column }, onclick: () => sort(column),
  }, plain(column), by === column && (isDescending ? " ↓" : " ↑")))));
  const sort = (/** @type {string} */ column) => {
    isDescending = by === column && !isDescending;
    by = column;
    shown = [...items].sort((a, b) => compare(valueAt(a, column), valueAt(b, column)) * (isDescending ? -1 : 1));
    drawHead();
    /** @type {HTMLElement | undefined} */ ([...head.querySelectorAll("button")].find((one) =>
      one.dataset.column === column))?.focus();
    list.refresh();
  };
  drawHead();
  const list = new VirtualList({
    label, header: head, rowHeight: 34,
    draw: (index, line) => {
      line.classList.add("result-line");
      const item = shown[index], id = idOf(item);
      for (const [at, column] of columns.entries()) {
        const value = valueAt(item, column), text = cut(asText(value), 300);
        const isID = id !== null && text === id && /(^|\.)_?id$/.test(column);
        line.append(h("div.cut", { role: "gridcell", class: numbers[at] ? "number" : value === undefined
          || value === null ? "faint" : "", title: text.length > 30 ? text : undefined },
          isID ? h("a", { href: href(id), tabindex: -1 }, h("bdi", null, text)) : h("bdi", null, text)));
      }
    },
    activate: (index) => { const id = idOf(shown[index]); if (id !== null) go(href(id)); },
  });
  // The heading and the lines are grids of their own, so that their columns depend on nothing but the widths.
  list.element.style.setProperty("--columns", widths.map((width) => `minmax(0, ${width}fr)`).join(" "));
  list.element.style.setProperty("--wide", `${widths.reduce((sum, width) => sum + width, 0) * 0.6}rem`);
  list.element.setAttribute("aria-colcount", String(columns.length));
  list.setCount(items.length);
  return h("div.result-table", { style: { "block-size": `${Math.min(items.length, 15) * 34 + 54}px` } }, list.element);
}
