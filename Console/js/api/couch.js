// SPDX-License-Identifier: Apache-2.0

import { api, ApiError, documentPath, path } from "./client.js";
import { plain } from "../components/json-text.js";
import { properties } from "../core/json.js";
import { askExactly, readExact, writeExactly } from "./exact.js";

/**
 * What several views ask of a database, by CouchDB's public API.
 *
 * @typedef {{ signal?: AbortSignal }} Until
 * @typedef {{ _id: string, _rev: string, [key: string]: any }} Doc
 * @typedef {{
 *   db_name: string, doc_count: number, doc_del_count: number, update_seq: any,
 *   sizes: { file: number, active: number, external: number }, props?: any,
 * }} DatabaseInfo
 */

/**
 * The names of all databases.
 *
 * @param {Until} [until]
 * @returns {Promise<string[]>}
 */
export const allDatabases = (until) => api.get("/_all_dbs", until);

/**
 * Infos of databases, a hundred at a time; null for one that has gone.
 *
 * @param {string[]} names
 * @param {Until} [until]
 * @returns {Promise<(DatabaseInfo | null)[]>}
 */
export async function databaseInfos(names, until) {
  /** @type {(DatabaseInfo | null)[]} */
  const infos = [];
  for (let start = 0; start < names.length; start += 100) {
    const rows = await api.post("/_dbs_info", { keys: names.slice(start, start + 100) }, until);
    infos.push(...rows.map((/** @type {any} */ row) => row.info ?? null));
  }
  return infos;
}

/**
 * @param {string} database
 * @param {Until} [until]
 * @returns {Promise<DatabaseInfo>}
 */
export const databaseInfo = (database, until) => api.get(path(database), until);

/**
 * A document as a value of `parseExact`; throws an `ApiError` 404 when there is none.
 *
 * @param {string} database
 * @param {string} id
 * @param {import("./client.js").Options} [options]
 * @returns {Promise<any>}
 */
export const readDocument = (database, id, options) => readExact("GET", documentPath(database, id), options);

/**
 * The same as plain JSON.
 *
 * @param {string} database
 * @param {string} id
 * @param {Record<string, any>} [query] Such as `{ rev, conflicts: true, revs: true }`.
 * @param {Until} [until]
 * @returns {Promise<Doc>}
 */
export const getDocument = (database, id, query = {}, until = {}) =>
  api.get(documentPath(database, id), { query, ...until });

/**
 * Saves a document; its `_rev` says what it was made from.
 *
 * @param {string} database
 * @param {any} document
 * @param {Until} [until]
 * @returns {Promise<{ id: string, rev: string }>}
 */
export const putDocument = (database, document, until) =>
  api.put(documentPath(database, document._id), document, until);

/**
 * The same for a value of `parseExact`.
 *
 * @param {string} database
 * @param {any} document
 * @returns {Promise<{ id: string, rev: string }>}
 */
export const writeDocument = (database, document) =>
  writeExactly("PUT", documentPath(database, plain(document._id)), document);

/**
 * @param {string} database
 * @param {string} id
 * @param {string} rev
 * @param {Until} [until]
 * @returns {Promise<{ id: string, rev: string }>}
 */
export const deleteDocument = (database, id, rev, until) =>
  api.delete(documentPath(database, id), { query: { rev }, ...until });

/**
 * Saves many documents, each by itself. They are values of `parseExact`.
 *
 * @param {string} database
 * @param {any[]} docs
 * @param {Until} [until]
 * @returns {Promise<{ id: string, rev?: string, error?: string, reason?: string }[]>}
 */
export const bulkDocuments = (database, docs, until) =>
  writeExactly("POST", path(database, "_bulk_docs"), { docs }, until);

/**
 * Saves documents; null if no answer says which of them the server has saved.
 *
 * @param {string} database
 * @param {any[]} docs
 */
export async function saveDocuments(database, docs) {
  try { return await bulkDocuments(database, docs); } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
    return null;
  }
}

/**
 * Documents that a selector finds. The request and the answer are values of `parseExact`.
 *
 * @param {string} database
 * @param {any} request
 * @param {Until} [until]
 * @returns {Promise<{ docs: Doc[], bookmark: string, warning?: string, execution_stats?: any }>}
 */
export const find = (database, request, until) => askExactly("POST", path(database, "_find"), request, until);

/**
 * Rows of documents by ID.
 *
 * @param {string} database
 * @param {Record<string, any>} query
 * @param {Until} [until]
 * @returns {Promise<{ total_rows: number, offset: number | null, rows: any[] }>}
 */
export const allDocuments = (database, query, until = {}) => api.get(path(database, "_all_docs"), { query, ...until });

/**
 * Rows of documents, in the order of their IDs in `keys`.
 *
 * @param {string} database
 * @param {string[]} keys
 * @param {import("./client.js").Options} [options]
 * @returns {Promise<any[]>}
 */
export const rowsOf = async (database, keys, options) =>
  (await api.post(path(database, "_all_docs"), { keys }, options)).rows;

/**
 * The same with the documents, as values of `parseExact`.
 *
 * @param {string} database
 * @param {string[]} keys
 * @param {AbortSignal} signal
 * @param {boolean} [conflicts] Whether documents have `_conflicts`.
 * @returns {Promise<any[]>}
 */
export async function readRows(database, keys, signal, conflicts) {
  const query = { include_docs: true, conflicts };
  return (await readExact("POST", path(database, "_all_docs"), { body: { keys }, signal, query })).rows;
}

/**
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function designDocuments(database, signal) {
  const { rows } = await api.get(path(database, "_design_docs"), { query: { include_docs: true }, signal });
  return rows.flatMap((/** @type {any} */ { doc }) => doc ?? []);
}

/**
 * The name of a design document: its ID without `_design/`.
 *
 * @param {any} doc
 * @returns {string}
 */
export const designName = (doc) => doc._id.slice("_design/".length);

/**
 * The fields of a database's documents as a selector names them, those in most documents of a sample first.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
export async function sampleFields(database, signal) {
  const { rows } = await allDocuments(database, { limit: 100, include_docs: true, descending: true }, { signal });
  const docs = rows.map((row) => row.doc).filter((doc) => doc && !doc._id.startsWith("_design/"));
  return [...properties(docs, 3).slice(0, 100), "_id"];
}

/**
 * All leaf revisions of a document with their histories.
 *
 * @param {string} database
 * @param {string} id
 * @param {Until} [until]
 * @returns {Promise<{ ok?: Doc, missing?: string }[]>}
 */
export const leafRevisions = (database, id, until = {}) =>
  api.get(documentPath(database, id), { query: { open_revs: "all", revs: true }, ...until });
