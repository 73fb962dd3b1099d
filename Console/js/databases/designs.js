// SPDX-License-Identifier: Apache-2.0

import { api, documentPath, path } from "../api/client.js";

/**
 * A design document with what the server says of its indexes. `searches` are by name; what could not be read is null.
 *
 * @typedef {{ id: string, doc: any, info: any, searches: Record<string, any> }} Design
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<Design[]>}
 */
export async function readDesigns(database, signal) {
  const { rows } = await api.get(path(database, "_design_docs"), { query: { include_docs: true }, signal });
  return Promise.all(rows.map((/** @type {any} */ row) => readDesign(database, row.doc, signal)));
}

/**
 * @param {string} database
 * @param {any} doc
 * @param {AbortSignal} signal
 * @returns {Promise<Design>}
 */
async function readDesign(database, doc, signal) {
  const base = documentPath(database, doc._id);
  const read = (/** @type {string} */ part) => api.get(base + part, { signal }).catch(() => null);
  const names = Object.keys(doc.indexes ?? {});
  const [answer, ...searches] = await Promise.all([
    doc.views ? read("/_info") : null,
    // The server tells of a search index with a function only.
    ...names.map((name) => (doc.language === "query" ? null : read(path("_search_info", name)))),
  ]);
  return {
    id: doc._id, doc, info: answer?.view_index ?? null,
    searches: Object.fromEntries(names.map((name, index) => [name, searches[index]?.search_index ?? null])),
  };
}

/**
 * The bytes that the indexes of a design document take, as far as the server tells.
 *
 * @param {Design} design
 * @returns {number}
 */
export function sizeOf({ info, searches }) {
  return Object.values(searches).reduce((sum, one) => sum + (one?.disk_size ?? 0), info?.sizes?.file ?? 0);
}
