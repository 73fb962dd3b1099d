// SPDX-License-Identifier: Apache-2.0

/**
 * The changes that came, bounded: the latest lines, and how many came in each second of the last five minutes.
 *
 * While it is paused, new lines are held back and counted. The rates go on.
 *
 * ## Invariants
 *
 * 1. `lines` and `held` have at most `MOST_LINES` lines each, in the order of arrival.
 * 2. `seconds` has no second older than `SPAN` seconds before the latest one that it has.
 */
export const MOST_LINES = 2000;
const SPAN = 300;

/** @typedef {import("./line.js").Line} Line */

export class ChangeLog {
  constructor() {
    /** @type {Line[]} */
    this.lines = [];
    /** @type {Line[]} */
    this.held = [];
    this.heldCount = 0;
    this.total = 0;
    this.isPaused = false;
    /** @type {Map<number, number>} */
    this.seconds = new Map();
    this.begun = Date.now();
  }

  /** @param {Line} line */
  add(line) {
    this.total += 1;
    if (line.at !== null) this.#count(Math.floor(line.at / 1000));
    if (this.isPaused) this.heldCount += 1;
    const list = this.isPaused ? this.held : this.lines;
    list.push(line);
    // Cutting in steps costs less than moving all lines for each new one.
    if (list.length >= MOST_LINES * 1.25) list.splice(0, list.length - MOST_LINES);
  }

  /** Ends the pause: what was held back joins the lines. */
  resume() {
    this.isPaused = false;
    this.lines = [...this.lines, ...this.held].slice(-MOST_LINES);
    this.held = [];
    this.heldCount = 0;
  }

  /** Removes all lines; the rates stay. */
  clear() {
    this.lines = [];
    this.held = [];
    this.heldCount = 0;
    this.total = 0;
  }

  /** @param {number} second */
  #count(second) {
    this.seconds.set(second, (this.seconds.get(second) ?? 0) + 1);
    if (this.seconds.size <= SPAN + 5) return;
    for (const one of this.seconds.keys()) if (one < second - SPAN) this.seconds.delete(one);
  }

  /**
   * How many changes came in each of the last seconds; null for those before the log was begun.
   *
   * @param {number} now In milliseconds.
   * @returns {[x: number, y: number | null][]}
   */
  rates(now) {
    const last = Math.floor(now / 1000) - 1, first = Math.floor(this.begun / 1000);
    return Array.from({ length: SPAN }, (_, index) => {
      const second = last - SPAN + 1 + index;
      return [second * 1000, second < first ? null : this.seconds.get(second) ?? 0];
    });
  }
}
