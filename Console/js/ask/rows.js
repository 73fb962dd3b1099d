// SPDX-License-Identifier: Apache-2.0

import { numberOf, plain, rounded, stringifyExact } from "../components/json-text.js";

/**
 * The rows of an answer as a table sees them.
 *
 * @typedef {object} Result
 * @property {any[]} items Documents, or rows of a view or a search, as values of `parseExact`.
 * @property {string[]} columns Paths such as `place.city`, `key[0]`.
 * @property {number} hidden How many columns more there are.
 * @property {number} milliseconds As the browser measured.
 * @property {any} counts Facets of a text search.
 * @property {any} ranges
 * @property {any} [stats]
 * @property {string} [warning]
 * @property {string} [bookmark]
 * @property {number | null} total
 */

const COLUMNS = 40;

/**
 * @param {any} answer A value of `parseExact`.
 * @param {number} milliseconds
 * @returns {Result}
 */
export function readAnswer(answer, milliseconds) {
  const items = answer.docs ?? answer.rows ?? answer.hits ?? [];
  const columns = columnsOf(items);
  return {
    items, columns: columns.slice(0, COLUMNS), hidden: Math.max(0, columns.length - COLUMNS), milliseconds,
    stats: rounded(answer.execution_stats), counts: rounded(answer.counts), ranges: rounded(answer.ranges),
    warning: answer.warning && plain(answer.warning), bookmark: answer.bookmark && plain(answer.bookmark),
    total: answer.total_rows ?? answer.total_hits ?? null,
  };
}

/**
 * The paths that rows have, those of the first rows first; `_rev` and its like, which few look for, last.
 *
 * @param {any[]} items
 * @returns {string[]}
 */
function columnsOf(items) {
  /** @type {Set<string>} */
  const paths = new Set();
  for (const item of items.slice(0, 300)) collect(item, "", 0, paths);
  const weight = (/** @type {string} */ name) => name === "_id" || name === "id" ? 0 : /(^|\.)_/.test(name) ? 2 : 1;
  return [...paths].sort((a, b) => weight(a) - weight(b));
}

/**
 * @param {any} value
 * @param {string} path
 * @param {number} depth
 * @param {Set<string>} into
 */
function collect(value, path, depth, into) {
  const isArray = Array.isArray(value), isSmall = isArray && path === "key" && value.length < 8;
  const isWhole = depth > 2 || path.endsWith("_attachments") || (isArray && !isSmall);
  if (value === null || typeof value !== "object" || isWhole) {
    into.add(path || "value");
    return;
  }
  for (const key of Object.keys(value)) collect(value[key], isArray ? `${path}[${key}]` : join(path, key), depth + 1,
    into);
}

/**
 * Names with a dot are quoted, so that a path has one meaning.
 *
 * @param {string} path
 * @param {string} key
 */
function join(path, key) {
  const name = /[.[\]"]/.test(key) ? JSON.stringify(key) : key;
  return path ? `${path}.${name}` : name;
}

/** @type {Map<string, string[]>} */
const parsed = new Map();

/**
 * The value at a path of a row.
 *
 * @param {any} item
 * @param {string} path
 * @returns {any}
 */
export function valueAt(item, path) {
  let words = parsed.get(path);
  if (!words) {
    words = (path.match(/"(?:[^"\\]|\\.)*"|[^.[\]]+/g) ?? []).map((word) => word.startsWith('"') ? JSON.parse(word)
      : word);
    parsed.set(path, words);
  }
  let value = item;
  for (const word of words) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, word)) return undefined;
    value = value[word];
  }
  return value;
}

/**
 * The ID of the document that a row is of.
 *
 * @param {any} item
 * @returns {string | null}
 */
export function idOf(item) {
  const id = item?._id ?? item?.id ?? item?.doc?._id;
  return typeof id === "string" && numberOf(id) === undefined ? plain(id) : null;
}

/** @param {any} value */
export const asText = (value) => value === undefined ? "" : typeof value === "string" ? plain(value)
  : stringifyExact(value);

/**
 * The order of values: missing, null, booleans, numbers, texts, the rest.
 *
 * @param {any} a
 * @param {any} b
 * @returns {number}
 */
export function compare(a, b) {
  const rank = (/** @type {any} */ value) => value === undefined ? 0 : value === null ? 1
    : numberOf(value) !== undefined ? 3 : { boolean: 2, string: 4 }[/** @type {string} */ (typeof value)] ?? 5;
  const order = rank(a) - rank(b);
  if (order) return order;
  const [one, other] = [numberOf(a), numberOf(b)];
  if (one !== undefined && other !== undefined) return one < other ? -1 : one > other ? 1 : 0;
  return asText(a).localeCompare(asText(b));
}
