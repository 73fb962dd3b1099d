// SPDX-License-Identifier: Apache-2.0

import { numberOf, plain, stringifyExact } from "../components/json-text.js";
import { isObject } from "../core/json.js";
import { looseJSON } from "./question.js";

/**
 * Conditions as rows, and the selector that they make.
 *
 * @typedef {{ field: string, operator: string, value: string }} Rule `value` is typed as JSON or as a plain text.
 * @typedef {{ join: "$and" | "$or" | "$nor", items: (Rule | Group)[] }} Group
 */

/** @type {[operator: string, label: string][]} */
export const OPERATORS = [
  ["$eq", "is"], ["$ne", "is not"], ["$gt", "is greater than"], ["$gte", "is at least"], ["$lt", "is less than"],
    ["$lte", "is at most"],
  ["$in", "is one of"], ["$nin", "is none of"], ["$exists", "exists"], ["$beginsWith", "begins with"],
  ["$regex", "matches the pattern"], ["$type", "has the type"], ["$all", "has all of"], ["$size", "has a length of"],
];
const LISTS = ["$in", "$nin", "$all"], TEXTS = ["$regex", "$beginsWith", "$type"];

/**
 * @param {Rule | Group} item
 * @returns {item is Group}
 */
export const isGroup = (item) => "join" in item;

/** @param {Rule} rule */
function operand({ operator, value }) {
  if (operator === "$exists") return value !== "false";
  const read = looseJSON(value);
  if (TEXTS.includes(operator)) return typeof read === "string" && numberOf(read) === undefined ? read : value;
  if (!LISTS.includes(operator) || Array.isArray(read)) return read;
  return value.split(",").map((one) => looseJSON(one.trim()));
}

/**
 * Rows without a field are left out: they are not written yet.
 *
 * @param {Group} group
 * @returns {any}
 */
export function toSelector(group) {
  const parts = group.items.filter((item) => isGroup(item) ? item.items.length : item.field).map((item) =>
    isGroup(item) ? toSelector(item) : { [item.field]: item.operator === "$eq" ? operand(item)
      : { [item.operator]: operand(item) } });
  if (group.join !== "$and") return { [group.join]: parts };
  /** @type {Map<string, any>} */
  const merged = new Map();
  for (const [key, value] of parts.flatMap(Object.entries)) {
    const before = merged.get(key);
    // Two conditions on a field share an object if their operators differ; otherwise each stays by itself.
    if (before === undefined) merged.set(key, value);
    else if (isOperators(before) && isOperators(value) && !Object.keys(value).some((one) =>
      Object.hasOwn(before, one))) {
      merged.set(key, { ...before, ...value });
    } else return { $and: parts };
  }
  return Object.fromEntries(merged);
}

/** @param {any} value */
const isOperators = (value) => isObject(value)
  && Object.keys(value).length > 0 && Object.keys(value).every((key) => key.startsWith("$"));

/**
 * The rows of a selector; null if it has what rows cannot show.
 *
 * @param {any} selector
 * @returns {Group | null}
 */
export function fromSelector(selector) {
  if (!isObject(selector)) return null;
  const items = Object.entries(selector).flatMap(/** @returns {(Rule | Group | null)[]} */ ([key, value]) => {
    if (["$and", "$or", "$nor"].includes(key) && Array.isArray(value)) {
      const parts = value.map((part) => {
        const group = fromSelector(part);
        return group?.items.length === 1 ? group.items[0] : group;
      });
      return parts.includes(null) ? [null] : [{ join: /** @type {any} */ (key), items: /** @type {any[]} */ (parts) }];
    }
    if (key.startsWith("$")) return [null];
    if (!isOperators(value)) return [isObject(value) ? null : rule(key, "$eq", value)];
    return Object.entries(value).map(([operator, one]) => OPERATORS.some(([known]) => known === operator)
      ? rule(key, operator, one) : null);
  });
  if (items.includes(null)) return null;
  const only = items.length === 1 ? items[0] : null;
  return only && isGroup(only) ? only : { join: "$and", items: /** @type {(Rule | Group)[]} */ (items) };
}

/**
 * @param {string} field
 * @param {string} operator
 * @param {any} value
 * @returns {Rule}
 */
function rule(field, operator, value) {
  // A text is shown without quotes where it is read back as the same text.
  const isPlain = typeof value === "string" && looseJSON(plain(value)) === value;
  return { field, operator, value: isPlain ? plain(value) : stringifyExact(value) };
}
