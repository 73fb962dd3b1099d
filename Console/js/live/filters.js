// SPDX-License-Identifier: Apache-2.0

import { designDocuments, designName } from "../api/couch.js";
import { plain, stringifyExact } from "../components/json-text.js";

/**
 * What chooses among the changes of a database, at the server.
 *
 * @typedef {object} Choice
 * @property {string} [filter] A function of a design document, as `design/function`.
 * @property {Record<string, any>} [parameters] What the function is given beside the document, a value of
 *   `parseExact`.
 * @property {Record<string, any>} [selector] A value of `parseExact`.
 */

/**
 * The filter functions of a database by their names, `design/function`.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
export async function filterNames(database, signal) {
  const designs = await designDocuments(database, signal);
  return designs.flatMap((design) =>
    Object.keys(design.filters ?? {}).map((name) => `${designName(design)}/${name}`));
}

/**
 * How a request for `_changes` says a choice.
 *
 * @param {Choice} choice
 * @returns {{ query: Record<string, any>, body?: any }}
 */
export function changesRequest({ filter, parameters, selector }) {
  if (selector) return { query: { filter: "_selector" }, body: { selector } };
  if (!filter) return { query: {} };
  const given = Object.entries(parameters ?? {}).map(([name, value]) =>
    [plain(name), typeof value === "string" ? plain(value) : stringifyExact(value)]);
  return { query: { ...Object.fromEntries(given), filter } };
}
