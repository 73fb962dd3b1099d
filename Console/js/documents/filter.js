// SPDX-License-Identifier: Apache-2.0

import { button, segments } from "../components/button.js";
import { searchField, select, textarea } from "../components/field.js";
import { parseExact } from "../components/json-text.js";
import { debounce, fill, freshID, h } from "../core/dom.js";
import { isObject, parseObject } from "../core/json.js";

/**
 * What a list shows: documents whose IDs begin with a prefix, or those that a selector or a full-text query finds.
 *
 * @typedef {"id" | "find" | "text"} Kind
 * @typedef {{ by: Kind, q: string, index: string }} Filter
 * @typedef {{ design: string, index: string, isFind: boolean }} TextIndex
 *
 * @typedef {object} Bar
 * @property {HTMLElement} element
 * @property {() => void} focus
 * @property {(filter: Filter) => void} set
 * @property {(indexes: TextIndex[]) => void} offer Full-text indexes to choose from.
 */

/** @type {Record<Kind, string>} */
const LABELS = { id: "ID", find: "Selector", text: "Full text" };

/** @param {TextIndex} index */
export const indexName = (index) => `${index.design}/${index.index}`;

/**
 * The request of `_find` that a text is: a selector, or a whole request with `selector`, `sort` and `use_index`.
 *
 * @param {string} text
 * @returns {Record<string, any>} A value of `parseExact`.
 */
export function parseSelector(text) {
  const value = parseObject(text, "The selector", parseExact);
  if (!isObject(value.selector)) return { selector: value };
  const { selector, sort, use_index } = value;
  return { selector, sort, use_index };
}

/**
 * The selector of a filter, to which a facet adds a condition.
 *
 * @param {Filter} filter
 * @returns {Record<string, any>}
 */
export function selectorOf({ by, q }) {
  if (by === "find") { try { return parseSelector(q).selector; } catch { return {}; } }
  if (by === "id" && q) return { _id: { $gte: q, $lte: `${q}\u{10FFFF}` } };
  return {};
}

/**
 * A selector with one more condition.
 *
 * @param {Record<string, any>} selector
 * @param {string} property
 * @param {any} condition
 * @returns {Record<string, any>}
 */
export function withCondition(selector, property, condition) {
  const own = Object.hasOwn(selector, property) ? JSON.stringify(selector[property]) : undefined;
  if (own === undefined || own === JSON.stringify(condition)) return { ...selector, [property]: condition };
  return { $and: [selector, { [property]: condition }] };
}

/**
 * The bar above a list.
 *
 * @param {object} options
 * @param {Filter} options.filter
 * @param {(filter: Filter) => void} options.onchange
 * @returns {Bar}
 */
export function filterBar({ filter, onchange }) {
  /** @type {TextIndex[]} */
  let indexes = [];
  /** What was typed into each kind, so that switching to and fro loses nothing. */
  const typed = /** @type {Record<Kind, string>} */ ({ id: "", find: "", text: "" });
  const element = h("div.filter", { role: "search" });
  /** @type {HTMLElement | null} */
  let box = null;

  const tell = () => { typed[filter.by] = filter.q; onchange({ ...filter }); };
  const slowly = debounce((/** @type {Kind} */ by, /** @type {string} */ q) => {
    if (by !== filter.by || q === filter.q) return;
    filter = { ...filter, q };
    tell();
  }, 250);

  /** @param {Kind} by */
  const choose = (by) => {
    filter = { ...filter, by, q: typed[by] };
    draw();
    box?.focus();
    tell();
  };

  /**
   * A field of one line.
   *
   * @param {Kind} by
   * @param {string} placeholder
   */
  const line = (by, placeholder) => {
    const search = searchField({
      placeholder, value: filter.q, dir: "auto",
      oninput: (/** @type {Event} */ event) => slowly(by, /** @type {HTMLInputElement} */ (event.target).value),
    });
    box = search.input;
    return search;
  };

  const selector = () => {
    const wrongID = freshID();
    const wrong = h("p.wrong.small", { id: wrongID, role: "status" });
    const rows = (/** @type {string} */ text) => Math.min(8, text.split("\n").length);
    const area = textarea({
      class: "code", rows: rows(filter.q), value: filter.q, "aria-label": "Selector", "aria-describedby": wrongID,
      placeholder: "{\"type\": \"order\", \"price\": {\"$gt\": 100}}",
      oninput: () => {
        area.rows = rows(area.value);
        check();
        if (!area.hasAttribute("aria-invalid")) slowly("find", area.value.trim());
      },
    });
    const check = () => {
      let message = "";
      try { if (area.value.trim()) parseSelector(area.value); } catch (error) {
        message = /** @type {Error} */ (error).message;
      }
      fill(wrong, message);
      area.toggleAttribute("aria-invalid", false);
      if (message) area.setAttribute("aria-invalid", "true");
    };
    check();
    box = area;
    return h("div.column.tight", null, area, wrong);
  };

  const draw = () => {
    const kinds = /** @type {Kind[]} */ (["id", "find", ...(indexes.length || filter.by === "text" ? ["text"] : [])]);
    const field = filter.by === "id" ? line("id", "IDs that begin with…")
      : filter.by === "text" ? line("text", "Words, or a query such as title:lamp AND sofa") : selector();
    const which = filter.by === "text" && indexes.length > 1 && select(
      indexes.map((index) => ({ value: indexName(index), label: indexName(index) })), filter.index,
      {
        "aria-label": "Full-text index",
        onchange: (/** @type {any} */ event) => { filter = { ...filter, index: event.target.value }; tell(); },
      });
    const clear = filter.by === "find" && filter.q && button({
      title: "Clear the selector", icon: "close", kind: "plain",
      onclick: () => { filter = { ...filter, q: "" }; draw(); tell(); },
    });
    fill(element, segments({
      label: "Filter by", value: filter.by, onchange: choose,
      options: kinds.map((value) => ({ value, label: LABELS[value] })),
    }), h("div.grow", null, field), which, clear);
  };
  typed[filter.by] = filter.q;
  draw();
  return {
    element,
    focus: () => box?.focus(),
    set: (next) => { filter = next; typed[next.by] = next.q; draw(); },
    offer: (found) => {
      indexes = found;
      const isIn = element.contains(document.activeElement);
      draw();
      if (isIn) box?.focus();
    },
  };
}
