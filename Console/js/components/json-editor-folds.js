// SPDX-License-Identifier: Apache-2.0

import { plural } from "../core/format.js";
import { check } from "./json-text.js";

/**
 * Values that an editor has folded: one character stands in its text for each, or for several properties or items of
 * the outermost value. Deleting the character deletes the value, and undo brings it back, since a character is never
 * used twice.
 *
 * @typedef {{ text: string, lines: number, summary: string, names: string[] }} Fold
 *   `lines`: line breaks in it, with those of folds inside; `names`: those of folded properties.
 */

/** The characters of each kind, as `check` of json-text.js knows them. */
const RANGES = { value: [0xf0000, 0xffffd], property: [0x100000, 0x107fff], item: [0x108000, 0x10fffd] };
const FOLDS = /[\u{f0000}-\u{10fffd}]/gu;
/** A text longer than this is folded when it is opened: browsers need long for text areas of a million characters. */
const LONG = 250_000;
const LONG_STRING = 20_000;
/** So many characters of properties or items are folded together, where so many are left. */
const RUN = 20_000, MUCH = 100_000;
const TOKENS = /("[^"\\]*(?:\\[^][^"\\]*)*")(\s*:)?|[{}[\],]/g;

export class Folds {
  constructor() {
    /** @type {Map<string, Fold>} */
    this.all = new Map();
    this.used = { value: 0, property: 0, item: 0 };
  }

  /**
   * The character that stands for a text from now on; the text itself once all characters are used.
   *
   * @param {string} text
   * @param {keyof RANGES} kind
   * @param {number} count How many properties or items it has.
   * @param {string[]} names
   * @returns {string}
   */
  add(text, kind = "value", count = 0, names = []) {
    const [first, last] = RANGES[kind];
    if (first + this.used[kind] > last) return text;
    const mark = String.fromCodePoint(first + this.used[kind]++);
    let lines = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
    for (const [inner] of text.matchAll(FOLDS)) lines += this.all.get(inner)?.lines ?? 0;
    const summary = kind === "property" ? plural(count, "property", "properties") : kind === "item"
      ? plural(count, "item") : text[0] === '"' ? `a string of ${plural(text.length - 2, "character")}`
      : `${text[0]} ${plural(lines + 1, "line")} ${text[0] === "{" ? "}" : "]"}`;
    this.all.set(mark, { text, lines, summary, names });
    return mark;
  }

  /**
   * The whole text, without folds.
   *
   * @param {string} text
   * @returns {string}
   */
  expand(text) {
    if (!this.all.size) return text;
    return text.replace(FOLDS, (mark) => {
      const fold = this.all.get(mark);
      return fold ? this.expand(fold.text) : mark;
    });
  }

  /**
   * The folds in a piece of text, with their places.
   *
   * @param {string} text
   * @returns {{ at: number, mark: string, fold: Fold }[]}
   */
  within(text) {
    if (!this.all.size) return [];
    const found = [];
    for (const match of text.matchAll(FOLDS)) {
      const fold = this.all.get(match[0]);
      if (fold) found.push({ at: /** @type {number} */ (match.index), mark: match[0], fold });
    }
    return found;
  }

  /**
   * A text with the values at a level of depth folded, where they have several lines; 1 is that of the outermost
   * object's values. Where the text is still long, its long strings are folded, then its properties or items.
   *
   * @param {string} text
   * @param {number} [depth]
   * @returns {string}
   */
  foldAll(text, depth = 1) {
    const { pairs, fault } = check(text);
    /** @type {[number, number][]} */
    const ranges = [];
    for (let index = 0; index < pairs.length; index += 2) ranges.push([pairs[index], pairs[index + 1]]);
    ranges.sort((a, b) => a[0] - b[0]);
    /** @type {string[]} */
    const out = [];
    /** @type {number[]} */
    const ends = [];
    let from = 0;
    for (const [open, close] of ranges) {
      while (ends.length && ends[ends.length - 1] < open) ends.pop();
      ends.push(close);
      if (ends.length !== depth + 1 || !text.slice(open, close).includes("\n")) continue;
      out.push(text.slice(from, open), this.add(text.slice(open, close + 1)));
      from = close + 1;
    }
    const folded = out.join("") + text.slice(from);
    if (folded.length <= MUCH || fault) return folded;
    return this.foldRuns(folded.replace(TOKENS, (all, string, colon) =>
      !colon && string?.length > LONG_STRING ? this.add(string) : all));
  }

  /**
   * Folds runs of the outermost value's properties or items.
   *
   * @param {string} text
   * @returns {string}
   */
  foldRuns(text) {
    if (text.length <= MUCH) return text;
    /** @type {string[]} */
    const out = [];
    /** @type {string[]} */
    const names = [];
    let depth = 0, copied = 0, from = 0, count = 1;
    /** @type {"property" | "item"} */
    let kind = "item";
    const cut = (/** @type {number} */ at) => {
      const piece = text.slice(from, at).trim(), start = text.indexOf(piece, from);
      out.push(text.slice(copied, start), this.add(piece, kind, count, names.splice(0)));
      copied = start + piece.length;
      from = at + 1;
      count = 1;
    };
    for (const { 0: token, 1: string, 2: colon, index = 0 } of text.matchAll(TOKENS)) {
      if (string) {
        if (colon && depth === 1) names.push(string);
      } else if (token === "{" || token === "[") {
        depth += 1;
        if (depth === 1) { from = index + 1; kind = token === "{" ? "property" : "item"; }
      } else if (token !== ",") {
        depth -= 1;
        if (!depth) cut(index);
      } else if (depth === 1) {
        if (index - from > RUN) cut(index); else count += 1;
      }
    }
    return out.join("") + text.slice(copied);
  }

  /**
   * A text as it is opened: a long one with its larger values folded.
   *
   * @param {string} text
   * @returns {string}
   */
  open(text) { return text.length > LONG ? this.foldAll(text) : text; }
}
