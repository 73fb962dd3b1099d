// SPDX-License-Identifier: Apache-2.0

import { directed, isObject } from "../core/json.js";

/**
 * Which index would help a selector.
 *
 * An index narrows most by fields that are compared with one value, so these go first. Fields to sort by follow, since
 * the server reads an index in its order only if the fields before are fixed; a range comes last, as the fields after
 * it narrow nothing down.
 *
 * @typedef {{ fields: Record<string, "asc" | "desc">[], names: string[], equal: string[], ranges: string[], sorted:
 *   string[] }} Advice
 */

const RANGES = ["$gt", "$gte", "$lt", "$lte", "$beginsWith", "$exists"];

/**
 * The conditions that all must hold, by their field.
 *
 * @param {any} selector
 * @returns {[field: string, condition: any][]}
 */
function conditions(selector) {
  if (!isObject(selector)) return [];
  return Object.entries(selector).flatMap(([key, value]) => {
    if (key === "$and" && Array.isArray(value)) return value.flatMap(conditions);
    if (key.startsWith("$")) return [];
    // An object without operators stands for the properties in it.
    if (isObject(value) && !Object.keys(value).some((one) => one.startsWith("$"))) {
      return conditions(value).map(([inner, condition]) =>
        /** @type {[string, any]} */ ([`${key}.${inner}`, condition]));
    }
    return [/** @type {[string, any]} */ ([key, value])];
  });
}

/**
 * @param {any} request The body of a `_find`.
 * @returns {Advice | null} Null where no index of fields can help.
 */
export function adviseIndex(request) {
  const all = conditions(request.selector).filter(([field]) => field !== "_id");
  const isEqual = (/** @type {any} */ value) => value === null || typeof value !== "object" || "$eq" in value;
  const equal = unique(all.filter(([, value]) => isEqual(value)).map(([field]) => field));
  const lists = unique(all.filter(([, value]) => !isEqual(value) && "$in" in value).map(([field]) =>
    field)).filter((one) => !equal.includes(one));
  const ranges = unique(all.filter(([, value]) => !isEqual(value) && RANGES.some((one) => one in value
    && value[one] !== false)).map(([field]) => field))
    .filter((one) => !equal.includes(one) && !lists.includes(one));
  const sort = directed(request.sort);
  const directions = new Set(sort.map(([, direction]) => direction));
  // An index is read one way at a time, so that it cannot give an order of both.
  if (directions.size > 1) return null;
  const sorted = sort.map(([field]) => field).filter((field) => field !== "_id" && !equal.includes(field));
  const names = unique(sorted.length ? [...equal, ...sorted, ...lists, ...ranges] : [...equal, ...lists, ...ranges]);
  if (!names.length) return null;
  const direction = /** @type {"asc" | "desc"} */ ([...directions][0] ?? "asc");
  return { fields: names.map((name) => ({ [name]: direction })), names, equal: [...equal, ...lists], ranges, sorted };
}

/** @param {string[]} list */
const unique = (list) => [...new Set(list)];

/**
 * Whether an index has exactly these fields.
 *
 * @param {any} index Of `_explain`.
 * @param {Advice} advice
 */
export function isSame(index, advice) {
  return directed(index?.def?.fields).map(([name]) => name).join("\n") === advice.names.join("\n");
}
