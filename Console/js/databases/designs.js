// SPDX-License-Identifier: Apache-2.0

import { api, documentPath, path } from "../api/client.js";
import { designDocuments } from "../api/couch.js";

/**
 * A design document with what the server says of its indexes; what could not be read is null. `searches` are by their
 * member of the document and their name, such as `indexes/by_text`.
 *
 * @typedef {{ id: string, doc: any, info: any, searches: Record<string, any> }} Design
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<Design[]>}
 */
export async function readDesigns(database, signal) {
  const docs = await designDocuments(database, signal);
  return Promise.all(docs.map(async (doc) => {
    const base = documentPath(database, doc._id);
    const read = (/** @type {string} */ part) => api.get(base + part, { signal }).catch(() => null);
    const searches = Object.entries({ indexes: "_search_info", nouveau: "_nouveau_info" }).flatMap(([member, part]) =>
      Object.keys(doc[member] ?? {}).map(async (name) => [`${member}/${name}`,
        // The server tells of a search index with a function only.
        doc.language === "query" ? null : (await read(path(part, name)))?.search_index ?? null]));
    const [answer, ...told] = await Promise.all([doc.views ? read("/_info") : null, ...searches]);
    return { id: doc._id, doc, info: answer?.view_index ?? null, searches: Object.fromEntries(told) };
  }));
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
