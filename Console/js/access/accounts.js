// SPDX-License-Identifier: Apache-2.0

import {
  allDatabases, deleteDocument, getDocument, putDocument, readDocument, writeDocument,
} from "../api/couch.js";
import { api, ApiError, nullIfMissing, path } from "../api/client.js";
import { parseExact } from "../components/json-text.js";

/**
 * The accounts of a server: documents of `_users`, and administrators of its configuration.
 *
 * @typedef {import("../api/couch.js").Doc} Doc
 * @typedef {import("./security.js").Security} Security
 */

export const PREFIX = "org.couchdb.user:";
/** Where the configuration of the node lies that answers. */
export const CONFIGURATION = "/_node/_local/_config";
const LAST = "\u{10ffff}";

/**
 * Documents of users whose names begin with a text.
 *
 * @param {{ prefix?: string, from?: string, limit: number }} which `from` is the name that the page begins with.
 * @param {AbortSignal} signal
 * @returns {Promise<Doc[]>}
 */
export async function userDocuments({ prefix = "", from = "", limit }, signal) {
  const { rows } = await api.get("/_users/_all_docs", {
    query: {
      startkey: JSON.stringify(PREFIX + (from || prefix)), endkey: JSON.stringify(PREFIX + prefix + LAST), limit,
        include_docs: true, conflicts: true,
    }, signal,
  });
  return rows.map((/** @type {any} */ row) => row.doc).filter(Boolean);
}

/**
 * The document of a user, or null.
 *
 * @param {string} name
 * @param {AbortSignal} [signal]
 * @returns {Promise<Doc | null>}
 */
export const userDocument = (name, signal) =>
  getDocument("_users", PREFIX + name, {}, { signal }).catch(nullIfMissing);

/**
 * Says in a sentence that another client has changed an account first.
 *
 * @template T
 * @param {Promise<T>} work
 * @param {string} name
 * @returns {Promise<T>}
 */
const unlessChanged = (work, name) => work.catch((error) => {
  if (error.status !== 409) throw error;
  throw new ApiError(409, error.error, `The account of ${name} has been changed, so nothing was done. `
    + "Close this dialog, look at the account as it is now, then try again.", error.path);
});

/**
 * Changes some members of a user's document, and leaves the others as they are.
 *
 * @param {string} name
 * @param {Record<string, any>} changes
 * @param {string} [rev] The revision that they were made from, where they depend on what it had.
 */
export async function changeUser(name, changes, rev) {
  const doc = await readDocument("_users", PREFIX + name).catch(nullIfMissing);
  if (!doc) throw new Error(`${name} has no document in _users. Ask an administrator to change the account.`);
  await unlessChanged(writeDocument("_users",
    { ...doc, ...parseExact(JSON.stringify(changes)), _rev: rev ?? doc._rev }), name);
}

/**
 * @param {string} name
 * @param {string} password
 * @param {string[]} roles
 */
export const createUser = (name, password, roles) =>
  putDocument("_users", { _id: PREFIX + name, type: "user", name, password, roles });

/**
 * @param {Doc} doc
 * @param {string} name
 */
export const deleteUser = (doc, name) => unlessChanged(deleteDocument("_users", doc._id, doc._rev), name);

/**
 * Sets a key of the configuration.
 *
 * @param {string} section
 * @param {string} key
 * @param {string} text
 * @param {boolean} [isKept] Whether the server has it after a restart, too.
 */
export const setKey = (section, key, text, isKept = true) =>
  api.put(`${CONFIGURATION}${path(section, key)}`, JSON.stringify(text), {
  headers: { "Content-Type": "application/json", ...(isKept ? {} : { "X-Couch-Persist": "false" }) },
});

/**
 * @param {string} section
 * @param {string} key
 * @returns {Promise<boolean>}
 */
export const hasKey = (section, key) => api.get(`${CONFIGURATION}${path(section, key)}`).then(() => true, (error) => {
  if (error.status === 404) return false;
  throw error;
});

/**
 * @param {string} section
 * @param {string} key
 */
export const deleteKey = (section, key) => api.delete(`${CONFIGURATION}${path(section, key)}`);

/**
 * The whole configuration.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<Record<string, Record<string, string>>>}
 */
export const configuration = (signal) => api.get(CONFIGURATION, { signal });

/**
 * The security objects of all databases, six requests at a time; null for one that has gone or is not to be seen.
 *
 * @param {AbortSignal} signal
 * @param {(done: number, total: number) => void} onProgress
 * @returns {Promise<{ database: string, object: any }[]>}
 */
export async function allSecurity(signal, onProgress) {
  const names = await allDatabases({ signal });
  /** @type {{ database: string, object: any }[]} */
  const found = names.map((database) => ({ database, object: null }));
  let next = 0, done = 0;
  const work = async () => {
    while (next < found.length) {
      const one = found[next++];
      one.object = await api.get(path(one.database, "_security"),
        { signal }).catch((error) => { if (signal.aborted) throw error; return null; });
      onProgress(++done, found.length);
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  return found;
}
