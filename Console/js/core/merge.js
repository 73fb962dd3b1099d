// SPDX-License-Identifier: Apache-2.0

import { isObject } from "./json.js";

/**
 * Merges two JSON values that were made from a third.
 *
 * Objects are merged property by property. An array is one value: an index does not say which element it was before,
 * so that no merge of elements is certain. Where both sides changed a value and differ, that is a conflict, and the
 * merged value has `mine`. `undefined` stands for an absent value. Objects more than `DEEPEST` levels down are taken
 * as one value, too.
 *
 * @typedef {{ path: (string | number)[], base: any, mine: any, theirs: any }} Conflict
 */
const DEEPEST = 200;

/**
 * @param {any} base
 * @param {any} mine
 * @param {any} theirs
 * @returns {{ merged: any, conflicts: Conflict[] }}
 */
export function merge3(base, mine, theirs) {
  /** @type {Conflict[]} */
  const conflicts = [];
  return { merged: merge(base, mine, theirs, [], conflicts), conflicts };
}

/**
 * @param {any} base
 * @param {any} mine
 * @param {any} theirs
 * @param {string[]} path
 * @param {Conflict[]} conflicts
 * @returns {any}
 */
function merge(base, mine, theirs, path, conflicts) {
  if (isEqual(mine, theirs) || isEqual(base, theirs)) return mine;
  if (isEqual(base, mine)) return theirs;
  if (!isObject(mine) || !isObject(theirs) || path.length >= DEEPEST) {
    conflicts.push({ path, base, mine, theirs });
    return mine;
  }
  const merged = {};
  for (const key of keysOf(mine, theirs)) {
    set(merged, key, merge(get(base, key), get(mine, key), get(theirs, key), [...path, key], conflicts));
  }
  return merged;
}

/**
 * An own property, or undefined. `value.__proto__` would give what is not in the document.
 *
 * @param {any} value
 * @param {string} key
 * @returns {any}
 */
export function get(value, key) { return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined; }

/**
 * Sets an own property, also one named `__proto__`, as `JSON.parse` does; removes it for `undefined`.
 *
 * @param {any} object
 * @param {string} key
 * @param {any} value
 */
export function set(object, key, value) {
  if (value === undefined) delete object[key];
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * The names of the properties of all values, in the order of the first that has each.
 *
 * @param {...any} values
 * @returns {string[]}
 */
export function keysOf(...values) {
  return [...new Set(values.flatMap((value) => isObject(value) ? Object.keys(value) : []))];
}

/**
 * Whether two JSON values are equal, whatever the order of properties. Works without recursion, so that no depth is
 * too much.
 *
 * @param {any} left
 * @param {any} right
 * @returns {boolean}
 */
export function isEqual(left, right) {
  const pairs = [[left, right]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (!a || !b || typeof a !== "object" || typeof b !== "object") return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      pairs.push([a[key], b[key]]);
    }
  }
  return true;
}
