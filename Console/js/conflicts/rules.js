// SPDX-License-Identifier: Apache-2.0

import { numberOf, parseExact, plain } from "../components/json-text.js";
import { valueAt } from "../core/json.js";
import { isEqual } from "../core/merge.js";
import { contentOf, mergeSides } from "./load.js";

/**
 * How many conflicts are resolved alike.
 *
 * @typedef {object} Rule
 * @property {"winner" | "latest" | "equals" | "merge"} kind
 * @property {string} property
 * @property {string} value
 * @property {"winner" | "other" | "skip"} otherwise
 *
 * @typedef {"winner" | "other" | "merged" | "skipped"} Outcome
 * @typedef {{ conflict: import("./load.js").Conflict, outcome: Outcome, body: any }} Decision
 */

/** @type {Record<Outcome, string>} */
export const OUTCOMES = {
  winner: "keep the winner", other: "keep another side", merged: "merge the sides", skipped: "stay in conflict",
};

/**
 * @param {Rule} rule
 * @param {import("./load.js").Conflict} conflict
 * @returns {Decision}
 */
export function decide(rule, conflict) {
  const { sides } = conflict;
  /**
   * @param {number} index
   * @returns {Decision}
   */
  const keep = (index) => index < 0 ? { conflict, outcome: "skipped", body: null }
    : { conflict, outcome: index ? "other" : "winner", body: contentOf(sides[index]) };
  const values = sides.map((side) => valueAt(side, rule.property));
  switch (rule.kind) {
    case "winner": return keep(0);
    case "latest": return keep(latest(values));
    case "equals": {
      const wanted = wantedValue(rule.value);
      return keep(values.findIndex((value) => isEqual(value, wanted) || isSame(value, wanted)
        || typeof value === "string" && numberOf(value) === undefined && plain(value) === rule.value));
    }
    case "merge": {
      const { merged, properties } = mergeSides(conflict);
      return properties.some((one) => one.isDisputed) ? keep({ winner: 0, other: 1, skip: -1 }[rule.otherwise])
        : { conflict, outcome: "merged", body: merged };
    }
  }
}

/**
 * What the user typed as JSON; a text that is no JSON means itself.
 *
 * @param {string} text
 * @returns {any}
 */
function wantedValue(text) { try { return parseExact(text); } catch { return text; } }

/**
 * Whether two values are the same number, such as 1 and 1.0.
 *
 * @param {any} left
 * @param {any} right
 * @returns {boolean}
 */
function isSame(left, right) {
  const one = numberOf(left), other = numberOf(right);
  // A bigint and a number are comparable by order only.
  return one !== undefined && other !== undefined && one <= other && one >= other;
}

/**
 * Which value is the latest: a greater number or a later date, else the text that sorts last. -1 unless all are
 * comparable and differ.
 *
 * @param {any[]} found
 * @returns {number}
 */
function latest(found) {
  const numbers = found.flatMap((value) => numberOf(value) ?? []);
  if (numbers.length === found.length) return greatest(numbers);
  if (numbers.length) return -1;
  const values = found.map((value) => typeof value === "string" ? plain(value) : value);
  if (values.some((value) => typeof value !== "string")) return -1;
  // Date.parse takes many a text for a date, such as "lamp 3".
  const dates = values.map((value) => /^\d{4}-\d\d/.test(value) ? Date.parse(value) : NaN);
  return greatest(dates.some(Number.isNaN) ? values : dates);
}

/**
 * @param {any[]} ranks
 * @returns {number} -1 if two are the greatest.
 */
function greatest(ranks) {
  const best = ranks.reduce((top, rank) => rank > top ? rank : top);
  return ranks.filter((rank) => rank >= best).length === 1 ? ranks.indexOf(best) : -1;
}
