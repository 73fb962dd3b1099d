// SPDX-License-Identifier: Apache-2.0

import { allDocuments } from "../api/couch.js";

/**
 * What chooses among the changes of a database, at the server.
 *
 * @typedef {object} Choice
 * @property {string} [filter] A function of a design document, as `design/function`.
 * @property {Record<string, any>} [parameters] What the function is given beside the document.
 * @property {Record<string, any>} [selector]
 */

/**
 * The design documents of a database.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function designDocuments(database, signal) {
  const query = { startkey: JSON.stringify("_design/"), endkey: JSON.stringify("_design0"), include_docs: true };
  const { rows } = await allDocuments(database, query, { signal });
  return rows.map((row) => row.doc).filter(Boolean);
}

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
    Object.keys(design.filters ?? {}).map((name) => `${design._id.slice("_design/".length)}/${name}`));
}

/**
 * How a request for `_changes` says a choice.
 *
 * @param {Choice} choice
 * @returns {{ query: Record<string, any>, body?: any }}
 */
export function changesRequest({ filter, parameters, selector }) {
  if (selector) return { query: { filter: "_selector" }, body: { selector } };
  return { query: filter ? { ...parameters, filter } : {} };
}

/**
 * Reads a JSON object that a person has typed.
 *
 * @param {string} text
 * @param {string} name What it is, for the error's message.
 * @returns {Record<string, any>}
 */
export function parseObject(text, name) {
  let value;
  try { value = JSON.parse(text); } catch (error) {
    throw new Error(`${name} is not JSON: ${/** @type {Error} */ (error).message}.`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Error(`${name} must be an object in braces, such as {"type": "order"}.`);
  }
  return value;
}
