// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { openDialog } from "../components/dialog.js";
import { checkbox, field, input } from "../components/field.js";
import { h } from "../core/dom.js";
import { cut, plural, time } from "../core/format.js";
import { properties, valueAt } from "../core/json.js";

/**
 * The columns of a table of documents: chosen by the user, or the most frequent properties of the documents in sight.
 *
 * @typedef {{ property: string, kind: "text" | "number" | "date" | "word", width: number }} Column
 */

const AUTOMATIC = 6;
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** The properties that the user chose for a database, kept by the browser. */
export class ColumnChoice {
  /** @param {string} database */
  constructor(database) {
    this.key = `divan.columns.${database}`;
    /** @type {string[] | null} */
    this.chosen = null;
    /** @type {string[]} */
    this.shown = [];
    /** @type {Set<string>} */
    this.seen = new Set();
    /** @type {Map<string, Column>} */
    this.known = new Map();
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) ?? "null");
      if (Array.isArray(kept)) this.chosen = kept.map(String);
    } catch { /* What is kept is not ours: the automatic columns do. */ }
  }

  /**
   * The columns for the documents in sight. The automatic ones stay while half of them are in use: scrolling does not
   * rearrange the table at each line.
   *
   * @param {any[]} docs
   * @returns {Column[]}
   */
  take(docs) {
    const found = properties(docs);
    for (const name of found) if (this.seen.size < 500) this.seen.add(name);
    const inUse = this.shown.filter((name) => found.includes(name)).length;
    if (this.chosen) this.shown = this.chosen;
    else if (docs.length && (inUse === 0 || inUse < this.shown.length / 2)) this.shown = found.slice(0, AUTOMATIC);
    return this.shown.map((property) => {
      const now = describe(property, docs), before = this.known.get(property);
      // A column gets wider as longer values come into sight, and never narrower: the table would jump.
      const column = before ? { ...before, width: Math.max(before.width, now.width) } : now;
      if (now.isUsed) this.known.set(property, column);
      return column;
    });
  }

  /** The automatic columns are chosen anew from the documents that come. */
  reset() { if (!this.chosen) this.shown = []; }

  /** @param {string[] | null} names */
  choose(names) {
    this.chosen = names;
    if (names) localStorage.setItem(this.key, JSON.stringify(names)); else localStorage.removeItem(this.key);
    this.reset();
  }

  /**
   * Asks which columns to show.
   *
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>} Whether something changed.
   */
  async ask(signal) {
    const names = [...new Set([...this.shown, ...this.seen])];
    const boxes = names.map((name) => checkbox(name, { value: name, checked: this.shown.includes(name) }));
    const more = input({ placeholder: "place.city" });
    let isAutomatic = false;
    const answer = await openDialog({
      title: "Columns", action: "Show these columns", signal,
      body: [
        h("fieldset.checks", null, h("legend.unseen", null, "Properties"), boxes),
        field({ label: "Another property", input: more, hint: "A dot leads into an object." }),
        h("p", null, button({
          label: "Use the most frequent properties", kind: "small",
          onclick: () => { isAutomatic = true; more.form?.requestSubmit(); },
        })),
      ],
      submit: () => {
        const chosen = boxes.filter((box) => box.input.checked).map((box) => box.input.value);
        if (more.value.trim()) chosen.push(more.value.trim());
        this.choose(isAutomatic || chosen.length === 0 ? null : chosen);
        return true;
      },
    });
    return answer === true;
  }
}

/**
 * What most values of a property are, and how wide its column is.
 *
 * @param {string} property
 * @param {any[]} docs
 * @returns {Column & { isUsed: boolean }}
 */
function describe(property, docs) {
  const kinds = { text: 0, number: 0, date: 0, word: 0 };
  let length = property.length;
  for (const doc of docs) {
    const value = valueAt(doc, property);
    if (value === undefined) continue;
    kinds[kindOf(value)] += 1;
    length = Math.max(length, value !== null && typeof value === "object" ? 20 : String(value).length);
  }
  const [most] = Object.entries(kinds).reduce((best, one) => one[1] > best[1] ? one : best);
  const kind = /** @type {Column["kind"]} */ (most);
  const width = kind === "date" ? 210 : Math.max(70, Math.min(300, length * 8 + 24));
  return { property, kind, isUsed: kinds[kind] > 0, width };
}

/**
 * @param {any} value
 * @returns {Column["kind"]}
 */
function kindOf(value) {
  if (typeof value === "number") return "number";
  if (typeof value === "string") return DATE.test(value) ? "date" : "text";
  return typeof value === "boolean" || value === null ? "word" : "text";
}

/**
 * A value in the space of a cell.
 *
 * @param {any} value
 * @param {Column} column
 * @returns {HTMLElement}
 */
export function cell(value, column) {
  const kind = value === undefined ? "none" : kindOf(value);
  const isObject = value !== null && typeof value === "object";
  const [text, title] = value === undefined ? ["", ""] : kind === "date" ? [time(value), value]
    : typeof value === "string" ? [value.slice(0, 300), value.slice(0, 1000)]
    : isObject ? [short(value), short(value, 600)] : [String(value), ""];
  return h("span.cell.cut", {
    role: "gridcell", dir: kind === "text" ? "auto" : undefined, title: title || undefined,
    class: `as-${kind} ${column.kind === "number" ? "end" : ""} ${isObject ? "soft" : ""}`,
  }, text);
}

/**
 * A value as JSON, as much of it as fits: a large one is not written out.
 *
 * @param {any} value
 * @param {number} [room]
 * @returns {string}
 */
export function short(value, room = 120) {
  if (typeof value === "string") return JSON.stringify(cut(value, Math.max(2, room)));
  if (value === null || typeof value !== "object") return String(value);
  const isArray = Array.isArray(value);
  if (isArray && value.length > 20) return plural(value.length, "item");
  const parts = [];
  for (const key of Object.keys(value)) {
    const part = `${isArray ? "" : `${key}: `}${short(value[key], room - 10)}`;
    parts.push(part);
    room -= part.length + 2;
    if (room <= 0) { parts.push("…"); break; }
  }
  return isArray ? `[${parts.join(", ")}]` : `{${parts.join(", ")}}`;
}
