// SPDX-License-Identifier: Apache-2.0

import { api, path } from "../api/client.js";
import { designDocuments, find } from "../api/couch.js";
import { has } from "../api/server.js";

/**
 * What the overview knows of a database.
 *
 * `details` are asked for when the row comes into sight; null before. A member of null could not be found out.
 *
 * @typedef {{ indexes: number | null, conflicts: number | null, engine?: string, isEncrypted?: boolean }} Details
 * @typedef {object} Row
 * @property {string} name
 * @property {import("../api/couch.js").DatabaseInfo | null} info
 * @property {Details | null} details
 * @property {number} detailsAt The sequence number that the details are of.
 * @property {number} askedAt When the info was last asked for, in milliseconds.
 * @property {number} rate Changes a second.
 * @property {number[]} history The last rates, the newest at the end.
 */

/**
 * @param {string} name
 * @returns {Row}
 */
export function newRow(name) {
  return { name, info: null, details: null, detailsAt: -1, askedAt: 0, rate: 0, history: [] };
}

/** Up to how many documents a server without a count of conflicts is asked to look for them in. */
const FEW = 2000;

/**
 * @param {Row} row
 * @param {AbortSignal} signal
 * @returns {Promise<Details>}
 */
export async function askDetails(row, signal) {
  const [designs, more] = await Promise.all([
    designDocuments(row.name, signal).catch(() => null),
    has("divan-database") ? api.get(path(row.name, "_divan"), { signal }).catch(() => null)
      : (row.info?.doc_count ?? Infinity) <= FEW ? countConflicts(row.name, signal).catch(() => null) : null,
  ]);
  return {
    indexes: designs && designs.reduce((sum, design) => sum + countIndexes(design), 0),
    conflicts: more?.conflicts ?? null, engine: more?.engine, isEncrypted: more?.encrypted,
  };
}

/** @param {any} design */
function countIndexes(design) {
  return ["views", "indexes", "nouveau"].reduce((sum, member) => sum
    + Object.keys(design?.[member] ?? {}).filter((name) => name !== "lib").length, 0);
}

/**
 * @param {string} database
 * @param {AbortSignal} signal
 */
async function countConflicts(database, signal) {
  const request = { selector: { _conflicts: { $exists: true } }, conflicts: true, fields: ["_id"], limit: FEW };
  return { conflicts: (await find(database, request, { signal })).docs.length };
}
