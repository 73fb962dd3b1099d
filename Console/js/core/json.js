// SPDX-License-Identifier: Apache-2.0

/**
 * Whether a value is an object with properties: no array, not null.
 *
 * @param {any} value
 * @returns {boolean}
 */
export function isObject(value) { return value !== null && typeof value === "object" && !Array.isArray(value); }

/**
 * Reads a JSON object that a person has typed; throws an `Error` that says what is wrong.
 *
 * @param {string} text
 * @param {string} name What it is, for the error's message.
 * @param {(text: string) => any} [parse] `parseExact`, to keep numbers as they are written.
 * @returns {Record<string, any>}
 */
export function parseObject(text, name, parse = JSON.parse) {
  let value;
  try { value = parse(text); } catch (error) {
    throw new Error(`${name} is not JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (!isObject(value)) throw new Error(`${name} must be an object in braces, such as {"type": "order"}.`);
  return value;
}

/**
 * A property by its path, such as `place.city`; a property whose own name has a dot goes first.
 *
 * @param {any} value
 * @param {string} property
 * @returns {any}
 */
export function valueAt(value, property) {
  if (value === null || typeof value !== "object") return undefined;
  if (Object.hasOwn(value, property)) return value[property];
  const dot = property.indexOf("."), name = property.slice(0, dot);
  return dot >= 0 && Object.hasOwn(value, name) ? valueAt(value[name], property.slice(dot + 1)) : undefined;
}

/**
 * The names of the properties of documents, the most frequent first; those that begin with `_` are left out.
 *
 * @param {any[]} docs
 * @param {number} [levels] With more than one, paths as a selector has them: `place.city`, a dot of a name as `\.`.
 * @returns {string[]}
 */
export function properties(docs, levels = 1) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const walk = (/** @type {any} */ value, /** @type {string} */ before, /** @type {number} */ level) => {
    for (const [key, inner] of Object.entries(value ?? {})) {
      if (level === 1 && key.startsWith("_")) continue;
      const name = before + (levels > 1 ? key.replaceAll(".", "\\.") : key);
      if (level < levels && isObject(inner)) walk(inner, `${name}.`, level + 1);
      else counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  };
  for (const doc of docs) walk(doc, "", 1);
  return [...counts].sort((one, other) => other[1] - one[1]).map(([name]) => name);
}

/**
 * The fields of an index or of a `sort`, which may be names or objects such as `{ "date": "desc" }`.
 *
 * @param {any} fields
 * @returns {[name: string, direction: string][]}
 */
export const directed = (fields) => (Array.isArray(fields) ? fields : []).map((one) =>
  typeof one === "string" ? [one, "asc"] : /** @type {any} */ (Object.entries(one)[0]));
