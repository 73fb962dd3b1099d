// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { input } from "../components/field.js";
import { progressLine } from "../components/progress.js";
import { emptyState, errorState } from "../components/states.js";
import { debounce, fill, freshID, h } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { valueAt } from "../core/json.js";
import { short } from "./columns.js";

/**
 * A panel that counts the values of a property, over a sample or over everything. A click on one adds
 * it to the selector.
 *
 * @typedef {import("./pages.js").Source} Source
 */

/** Pages of a sample, spread over the list. */
const PLACES = 10;
const MOST_VALUES = 10_000, MOST_SHOWN = 50;

/** Counts of the values of one property. */
class Tally {
  /** @param {string} property */
  constructor(property) {
    this.property = property;
    this.docs = 0;
    this.missing = 0;
    this.others = 0;
    /** @type {Map<string, { value: any, count: number, isItem: boolean }>} */
    this.values = new Map();
    this.numbers = { count: 0, sum: 0, least: Infinity, most: -Infinity };
  }

  /** @param {any} doc */
  add(doc) {
    this.docs += 1;
    const value = valueAt(doc, this.property);
    if (value === undefined) this.missing += 1;
    else if (Array.isArray(value)) for (const item of new Set(value)) this.#count(item, true);
    else this.#count(value, false);
  }

  /**
   * @param {any} value
   * @param {boolean} isItem
   */
  #count(value, isItem) {
    if (typeof value === "number") {
      const { count, sum, least, most } = this.numbers;
      this.numbers = { count: count + 1, sum: sum + value, least: Math.min(least, value), most: Math.max(most, value) };
    }
    const key = `${isItem}${JSON.stringify(value)}`;
    const known = this.values.get(key);
    if (known) known.count += 1;
    else if (this.values.size < MOST_VALUES && key.length < 1000) this.values.set(key, { value, count: 1, isItem });
    else this.others += 1;
  }

  /** The most frequent first. */
  sorted() { return [...this.values.values()].sort((one, other) => other.count - one.count); }
}

/**
 * @param {object} options
 * @param {string} options.property
 * @param {string[]} options.names Properties to choose from.
 * @param {() => { source: Source, total: number | null }} options.list What is counted.
 * @param {(property: string) => void} options.onProperty
 * @param {(property: string, condition: any) => void} options.onChoose
 * @param {() => void} options.onClose
 * @param {AbortSignal} options.signal
 * @returns {HTMLElement & { restart: () => void, leave: () => void }}
 */
export function facetPanel({ property, names, list, onProperty, onChoose, onClose, signal }) {
  let request = new AbortController();
  signal.addEventListener("abort", () => request.abort(), { once: true });
  const listID = freshID();
  const name = input({
    list: listID, value: property, placeholder: "city", dir: "auto", "aria-label": "Property",
    oninput: debounce(() => {
      if (name.value.trim() === property) return;
      property = name.value.trim();
      onProperty(property);
      start(false);
    }, 300),
  });
  const head = h("div.column.tight"), values = h("div.column");
  const result = h("div.column", { "aria-live": "polite" }, head, values);

  /** @param {boolean} isAll */
  const start = async (isAll) => {
    request.abort();
    const mine = request = new AbortController();
    if (!property) {
      fill(head);
      fill(values, emptyState({
        icon: "chart", title: "Choose a property", text: "The panel counts its values. Click one to filter by it.",
      }));
      return;
    }
    const tally = new Tally(property);
    const { source, total } = list();
    const line = progressLine(() => { mine.abort(); show(tally, total, "sample"); });
    try {
      for await (const rows of isAll ? source.scan(mine.signal, true) : sample(source, total, mine.signal)) {
        if (mine.signal.aborted) return;
        for (const { doc } of rows) if (doc) tally.add(doc);
        if (isAll) line.count(tally.docs, total, "Counted: ");
        if (isAll || !values.firstChild) show(tally, total, isAll ? line : "sample");
      }
      const isWhole = isAll || (total !== null && tally.docs >= total);
      if (!mine.signal.aborted) show(tally, total, isWhole ? "all" : "sample");
    } catch (error) {
      if (mine.signal.aborted) return;
      fill(head);
      fill(values, errorState(error, () => start(isAll)));
    }
  };

  /**
   * @param {Tally} tally
   * @param {number | null} total
   * @param {import("../components/progress.js").ProgressLine | "sample" | "all"} state A line while it is counted.
   */
  const show = (tally, total, state) => {
    const found = tally.sorted(), most = Math.max(tally.missing, found[0]?.count ?? 1);
    const { count: numeric, sum, least, most: largest } = tally.numbers;
    /** @type {(label: string, number: number, condition: any, isFaint?: boolean) => HTMLElement} */
    const line = (label, number, condition, isFaint = false) =>
      h("li", null, h("button.facet", {
        type: "button", title: `Show only the documents with ${label}`,
        onclick: () => onChoose(tally.property, condition),
      }, h("span.share", { style: { "inline-size": `${(number / most) * 100}%` } }),
      h("span.cut.grow", { dir: "auto", class: isFaint ? "soft" : "" }, label), h("span.number", null, count(number))));
    const documents = plural(tally.docs, "document");
    // The button to cancel stays where it is while counts come.
    if (typeof state !== "object") fill(head, h("p.small.soft", null, state === "all" ? `In all ${documents}.`
      : `In a sample of ${documents}${total === null ? ", the first" : ` from ${PLACES} places of the list`}.`),
    state === "sample" && h("div", null, button({
      label: total === null ? "Count all" : `Count all ${count(total)}`, kind: "small",
      onclick: () => { start(true); },
    })));
    else if (head.firstChild !== state.element) fill(head, state.element);
    fill(values,
      numeric > 0 && h("p.small", null,
        `Minimum ${least}, maximum ${largest}, mean ${Number((sum / numeric).toPrecision(5))}`),
      h("ul", null, found.slice(0, MOST_SHOWN).map(({ value, count: number, isItem }) =>
        line(typeof value === "string" && value ? value.slice(0, 100) : short(value, 60), number,
          isItem ? { $elemMatch: { $eq: value } } : value && typeof value === "object" ? { $eq: value } : value)),
      tally.missing > 0 && line("no value", tally.missing, { $exists: false }, true)),
      found.length > MOST_SHOWN && h("p.small.soft", null,
        `${plural(found.length - MOST_SHOWN + tally.others, "other value")}.`));
  };
  start(false);
  return Object.assign(h("aside.facets", { "aria-label": "Facets" },
    h("header.row.nowrap", null, h("h2.grow", null, "Facets"),
      button({ title: "Close the facets", icon: "close", kind: "plain small", onclick: onClose })),
    h("datalist", { id: listID }, names.map((value) => h("option", { value }))), name, result),
  { restart: () => start(false), leave: () => request.abort() });
}

/**
 * A thousand documents from ten places, or the first ones where the list can be read in order only.
 *
 * @param {Source} source
 * @param {number | null} total
 * @param {AbortSignal} signal
 */
async function* sample(source, total, signal) {
  if (source.isSequential || total === null) {
    for await (const rows of source.scan(signal, true)) { yield rows; return; }
    return;
  }
  const pages = Math.ceil(total / source.size), step = Math.max(1, pages / PLACES);
  for (let at = 0; at < pages; at += step) yield (await source.load(Math.floor(at), signal)).rows;
}
