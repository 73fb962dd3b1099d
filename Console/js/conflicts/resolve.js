// SPDX-License-Identifier: Apache-2.0

import { bulkDocuments, getDocument } from "../api/couch.js";
import { api, path } from "../api/client.js";
import { generation, pathOf } from "../components/revision-tree.js";
import { get, isEqual, set } from "../core/merge.js";
import { contentOf } from "./load.js";

/**
 * @typedef {import("./load.js").Conflict} Conflict
 *
 * @typedef {object} Resolution What was done to a conflict, which is what undoing it needs.
 * @property {Conflict} conflict
 * @property {string | null} saved The revision with the merged body; null if the winner was not saved.
 * @property {any[]} deleted The sides that were deleted.
 * @property {string} problem Why not all was done, or "".
 */

const CHANGED = "A side was changed meanwhile.";

/**
 * Saves merged bodies on the winners and deletes the other sides, by one `_bulk_docs`. The server takes or refuses
 * each by itself: where it refuses a merged body, the sides of that conflict that it deleted are put back.
 *
 * @param {string} database
 * @param {{ conflict: Conflict, body: any }[]} decisions
 * @returns {Promise<Resolution[]>}
 */
export async function resolveConflicts(database, decisions) {
  /** @type {Resolution[]} */
  const resolutions = decisions.map(({ conflict }) => ({ conflict, saved: null, deleted: [], problem: "" }));
  const { rows } = await api.post(path(database, "_all_docs"), { keys: decisions.map(({ conflict }) => conflict.id) });
  /** @type {{ at: number, side: any, doc: any }[]} */
  const writes = [];
  for (const [at, { conflict, body }] of decisions.entries()) {
    const [winner, ...others] = conflict.sides;
    // A winner that has the merged body already is not saved, so nothing else would notice that it was changed.
    if (rows[at].value?.rev !== winner._rev) { resolutions[at].problem = CHANGED; continue; }
    if (!isEqual(body, contentOf(winner))) {
      const doc = await withAttachments(database, conflict, body);
      writes.push({ at, side: winner, doc: { ...doc, _id: conflict.id, _rev: winner._rev } });
    }
    for (const side of others) writes.push({ at, side, doc: { _id: conflict.id, _rev: side._rev, _deleted: true } });
  }
  const answers = writes.length ? await bulkDocuments(database, writes.map((write) => write.doc)) : [];
  const isRefused = new Set();
  writes.forEach(({ at, side, doc }, index) => {
    const { rev = null, error, reason } = answers[index], resolution = resolutions[at];
    if (error) {
      resolution.problem = error === "conflict" ? CHANGED : `The server refused: ${reason || error}`;
      if (!doc._deleted) isRefused.add(at);
    } else if (doc._deleted) resolution.deleted.push(side);
    else resolution.saved = rev;
  });
  for (const at of isRefused) {
    await restoreSides(database, [resolutions[at]]);
    resolutions[at].deleted = [];
  }
  return resolutions;
}

/**
 * Puts documents back in conflict: the winner's old body on top of the merged one, and the other sides as branches.
 *
 * @param {string} database
 * @param {Resolution[]} resolutions
 * @returns {Promise<{ id: string, problem: string }[]>} Those that could not be undone.
 */
export async function undoResolutions(database, resolutions) {
  /** @type {{ id: string, problem: string }[]} */
  const problems = [];
  const fail = (/** @type {string} */ id, /** @type {string} */ problem) => { problems.push({ id, problem }); };
  /** @type {any[]} */
  const docs = [];
  for (const { conflict: { id, sides: [winner] }, saved } of resolutions) {
    if (saved === null) continue;
    const body = await fullBody(database, winner).catch(() => null);
    if (body) docs.push({ ...contentOf(body), _id: id, _rev: saved });
    else fail(id, "The attachments of the winner were compacted away.");
  }
  const answers = docs.length ? await bulkDocuments(database, docs) : [];
  answers.forEach(({ error, reason }, index) => {
    if (error) fail(docs[index]._id, error === "conflict" ? "The document was changed since." : reason || error);
  });
  const failed = new Set(problems.map((one) => one.id));
  return problems.concat(await restoreSides(database, resolutions.filter(({ conflict }) => !failed.has(conflict.id))));
}

/**
 * Saves deleted sides as branches with a new ID on their old parents. The IDs begin with zeros, so that none becomes
 * the winner.
 *
 * @param {string} database
 * @param {Resolution[]} resolutions
 * @returns {Promise<{ id: string, problem: string }[]>}
 */
async function restoreSides(database, resolutions) {
  /** @type {{ id: string, problem: string }[]} */
  const problems = [];
  const docs = [];
  for (const { conflict: { id }, deleted } of resolutions) {
    for (const side of deleted) {
      const body = await fullBody(database, side).catch(() => null);
      if (!body) { problems.push({ id, problem: "The attachments of a side were compacted away." }); continue; }
      const start = generation(side._rev), random = crypto.getRandomValues(new Uint8Array(14));
      const own = `0000${[...random].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
      const ids = [own, ...pathOf(side).slice(1).map((rev) => rev.replace(/^\d+-/, ""))];
      docs.push({ ...contentOf(body), _id: id, _rev: `${start}-${own}`, _revisions: { start, ids } });
    }
  }
  if (!docs.length) return problems;
  const answers = await api.post(path(database, "_bulk_docs"), { docs, new_edits: false });
  return problems.concat(answers.flatMap((/** @type {any} */ { id, error, reason }) =>
    error ? [{ id, problem: reason || error }] : []));
}

/**
 * A body as it was read; with the data of attachments, which are read now.
 *
 * @param {string} database
 * @param {any} side
 * @returns {Promise<any>}
 */
async function fullBody(database, side) {
  return side._attachments ? getDocument(database, side._id, { rev: side._rev, attachments: true }) : side;
}

/**
 * The body with data in the place of the attachments that the winner does not have.
 *
 * @param {string} database
 * @param {Conflict} conflict
 * @param {any} body
 * @returns {Promise<any>}
 */
async function withAttachments(database, { sides }, body) {
  if (!body._attachments) return body;
  const attachments = {};
  for (const [name, stub] of Object.entries(/** @type {Record<string, any>} */ (body._attachments))) {
    const isThere = (/** @type {any} */ side) => get(side._attachments, name)?.digest === stub.digest;
    const side = stub.data || isThere(sides[0]) ? null : sides.find(isThere);
    set(attachments, name, side ? get((await fullBody(database, side))._attachments, name) : stub);
  }
  return { ...body, _attachments: attachments };
}
