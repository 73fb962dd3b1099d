// SPDX-License-Identifier: Apache-2.0

import { plural } from "../core/format.js";
import { check } from "./json-text.js";

/**
 * Values that an editor has folded: one character of planes 15 and 16 stands in its text for each. Deleting the
 * character deletes the value,
 * and undo brings it back, since a character is never used twice.
 *
 * @typedef {{ text: string, lines: number, summary: string }} Fold
 *   `lines`: line breaks in it, with those of folds inside.
 */
const FIRST = 0xf0000, COUNT = 0x1fffe;
const FOLDS = /[\u{f0000}-\u{10fffd}]/gu;
/** A text longer than this is folded when it is opened: browsers need long for text areas of a million characters. */
const LONG = 250_000;
const LONG_STRING = 20_000;

export class Folds {
  constructor() {
    /** @type {Map<string, Fold>} */
    this.all = new Map();
  }

  /**
   * The character that stands for a value from now on; the value itself once all characters are used.
   *
   * @param {string} text
   * @returns {string}
   */
  add(text) {
    if (this.all.size >= COUNT) return text;
    const mark = String.fromCodePoint(FIRST + this.all.size);
    let lines = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
    for (const [inner] of text.matchAll(FOLDS)) lines += this.all.get(inner)?.lines ?? 0;
    const summary = text[0] === '"' ? `a string of ${plural(text.length - 2, "character")}`
      : `${text[0]} ${plural(lines + 1, "line")} ${text[0] === "{" ? "}" : "]"}`;
    this.all.set(mark, { text, lines, summary });
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
   * object's values.
   *
   * @param {string} text
   * @param {number} [depth]
   * @returns {string}
   */
  foldAll(text, depth = 1) {
    const { pairs } = check(text);
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
    return out.join("") + text.slice(from);
  }

  /**
   * A text as it is opened: a long one with its larger values folded.
   *
   * @param {string} text
   * @returns {string}
   */
  open(text) {
    if (text.length <= LONG) return text;
    return this.foldAll(text).replace(/"[^"\\]*(?:\\[^][^"\\]*)*"(\s*:)?/g, (string, colon) =>
      !colon && string.length > LONG_STRING ? this.add(string) : string);
  }
}
