// SPDX-License-Identifier: Apache-2.0

import { bulkDocuments, rowsOf, saveDocuments } from "../api/couch.js";
import { documentPath, path } from "../api/client.js";
import { readExact, writeExactly } from "../api/exact.js";
import { get, isEqual, set } from "../core/merge.js";
import { generation, pathOf } from "../core/revision.js";
import { contentOf } from "./load.js";

/**
 * @typedef {import("./load.js").Conflict} Conflict
 *
 * @typedef {object} Resolution What was done to a conflict, which is what undoing it needs.
 * @property {Conflict} conflict
 * @property {string | null} saved The revision with the merged body; null if the winner was not saved.
 * @property {any[]} deleted The sides that were deleted.
 * @property {string} problem Why not all was done, or "".
 * @property {any} [unsure] The merged body, while it is unknown what of all this the server saved.
 */

const CHANGED = "A side has changed since it was read.";
const LOST = "The server's answer was lost. This conflict may or may not be resolved.";

/**
 * Whether a resolution, also one that failed in part, has something to undo.
 *
 * @param {Resolution} resolution
 * @returns {boolean}
 */
export function isUndoable({ saved, deleted, unsure }) { return saved !== null || deleted.length > 0 || !!unsure; }

/**
 * Saves merged bodies on the winners and deletes the other sides, by one `_bulk_docs`. The server takes or refuses
 * each by itself: where it refuses a merged body, the sides of that conflict that it deleted are put back. What cannot
 * be put back stays in the resolution, for undo.
 *
 * @param {string} database
 * @param {{ conflict: Conflict, body: any }[]} decisions
 * @returns {Promise<Resolution[]>}
 */
export async function resolveConflicts(database, decisions) {
  /** @type {Resolution[]} */
  const resolutions = decisions.map(({ conflict }) => ({ conflict, saved: null, deleted: [], problem: "" }));
  const rows = await rowsOf(database, decisions.map(({ conflict }) => conflict.id));
  /** @type {{ at: number, side: any, doc: any }[]} */
  const writes = [];
  for (const [at, { conflict, body }] of decisions.entries()) {
    const [winner, ...others] = conflict.sides;
    // A winner that has the merged body already is not saved, so nothing else would notice that it was changed.
    if (rows[at].value?.rev !== winner._rev) { resolutions[at].problem = CHANGED; continue; }
    if (!isEqual(body, contentOf(winner))) {
      const doc = await withAttachments(database, conflict, body);
      writes.push({ at, side: winner, doc: { ...doc, _id: winner._id, _rev: winner._rev } });
    }
    for (const side of others) writes.push({ at, side, doc: { _id: side._id, _rev: side._rev, _deleted: true } });
  }
  const answers = writes.length ? await saveDocuments(database, writes.map((write) => write.doc)) : [];
  if (!answers) {
    for (const { at } of writes) Object.assign(resolutions[at], { problem: LOST, unsure: decisions[at].body });
    return resolutions;
  }
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
    const [failed] = await restoreSides(database, [resolutions[at]]);
    if (failed) resolutions[at].problem += ` A deleted side could not be restored: ${failed.problem}`;
  }
  return resolutions;
}

/**
 * Puts documents back in conflict: the winner's old body on top of the merged one, and the other sides as branches.
 * What was put back leaves the resolutions, so that the rest can be tried again.
 *
 * @param {string} database
 * @param {Resolution[]} resolutions
 * @returns {Promise<{ id: string, problem: string }[]>} Those that could not be undone.
 */
export async function undoResolutions(database, resolutions) {
  /** @type {{ id: string, problem: string }[]} */
  const problems = [];
  const fail = (/** @type {string} */ id, /** @type {string} */ problem) => { problems.push({ id, problem }); };
  /** @type {{ doc: any, resolution: Resolution }[]} */
  const writes = [];
  for (const resolution of resolutions) {
    await settle(database, resolution);
    const { conflict: { id, sides: [winner] }, saved } = resolution;
    if (saved === null) continue;
    const body = await fullBody(database, id, winner).catch(() => null);
    if (body) writes.push({ resolution, doc: { ...contentOf(body), _id: winner._id, _rev: saved } });
    else fail(id, "The attachments of the winner were compacted away.");
  }
  const answers = writes.length ? await bulkDocuments(database, writes.map(({ doc }) => doc)) : [];
  answers.forEach(({ error, reason }, index) => {
    const { resolution } = writes[index];
    if (!error) resolution.saved = null;
    else fail(resolution.conflict.id, error === "conflict" ? "The document has changed since." : reason || error);
  });
  const failed = new Set(problems.map((one) => one.id));
  return problems.concat(await restoreSides(database, resolutions.filter(({ conflict }) => !failed.has(conflict.id))));
}

/**
 * Finds out what was saved of a resolution whose answer was lost.
 *
 * @param {string} database
 * @param {Resolution} resolution
 */
async function settle(database, resolution) {
  const { conflict: { id, sides: [winner, ...others] }, unsure } = resolution;
  if (!unsure) return;
  const answer = await readExact("GET", documentPath(database, id), { query: { open_revs: "all", revs: true } });
  const leaves = answer.flatMap((/** @type {any} */ { ok }) => ok ?? []);
  const next = (/** @type {any} */ side) => leaves.find((/** @type {any} */ leaf) => pathOf(leaf)[1] === side._rev);
  const merged = next(winner);
  resolution.saved = merged && isEqual(contentOf(merged), unsure) ? merged._rev : null;
  resolution.deleted = others.filter((side) => next(side)?._deleted);
  delete resolution.unsure;
}

/**
 * The revisions that sides are put back as. They stay the same, so that a second try makes no second branch.
 *
 * @type {WeakMap<any, string>}
 */
const restoredAs = new WeakMap();

/**
 * Saves deleted sides as branches with a new ID on their old parents. The IDs begin with zeros, so that none becomes
 * the winner. A side that was put back is no longer among the deleted ones.
 *
 * @param {string} database
 * @param {Resolution[]} resolutions
 * @returns {Promise<{ id: string, problem: string }[]>}
 */
async function restoreSides(database, resolutions) {
  /** @type {{ id: string, problem: string }[]} */
  const problems = [];
  /** @type {{ doc: any, side: any, resolution: Resolution }[]} */
  const writes = [];
  for (const resolution of resolutions) {
    const { conflict: { id }, deleted } = resolution;
    for (const side of deleted) {
      const body = await fullBody(database, id, side).catch(() => null);
      if (!body) { problems.push({ id, problem: "The attachments of a side were compacted away." }); continue; }
      const start = generation(side._rev), random = crypto.getRandomValues(new Uint8Array(14));
      const own = restoredAs.get(side)
        ?? `0000${[...random].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
      restoredAs.set(side, own);
      const ids = [own, ...pathOf(side).slice(1).map((rev) => rev.replace(/^\d+-/, ""))];
      const doc = { ...contentOf(body), _id: side._id, _rev: `${start}-${own}`, _revisions: { start, ids } };
      writes.push({ doc, side, resolution });
    }
  }
  if (!writes.length) return problems;
  /** @type {any[]} */
  let answers;
  try {
    const docs = writes.map(({ doc }) => doc);
    answers = await writeExactly("POST", path(database, "_bulk_docs"), { docs, new_edits: false });
  } catch (error) {
    const problem = /** @type {Error} */ (error).message;
    return problems.concat(writes.map(({ resolution }) => ({ id: resolution.conflict.id, problem })));
  }
  // The answer names those that failed, some servers without their revision.
  const failed = answers.filter(({ error }) => error);
  for (const { doc, side, resolution } of writes) {
    const { conflict: { id } } = resolution;
    if (failed.some((one) => one.id === id && (!one.rev || one.rev === doc._rev))) continue;
    resolution.deleted = resolution.deleted.filter((one) => one !== side);
  }
  return problems.concat(failed.map(({ id, error, reason }) => ({ id, problem: reason || error })));
}

/**
 * A body as it was read; with the data of attachments, which are read now.
 *
 * @param {string} database
 * @param {string} id
 * @param {any} side
 * @returns {Promise<any>}
 */
async function fullBody(database, id, side) {
  if (!side._attachments) return side;
  return readExact("GET", documentPath(database, id), { query: { rev: side._rev, attachments: true } });
}

/**
 * The body with data in the place of the attachments that the winner does not have.
 *
 * @param {string} database
 * @param {Conflict} conflict
 * @param {any} body
 * @returns {Promise<any>}
 */
async function withAttachments(database, { id, sides }, body) {
  if (!body._attachments) return body;
  const attachments = {};
  for (const [name, stub] of Object.entries(/** @type {Record<string, any>} */ (body._attachments))) {
    const isThere = (/** @type {any} */ side) => get(side._attachments, name)?.digest === stub.digest;
    const side = stub.data || isThere(sides[0]) ? null : sides.find(isThere);
    set(attachments, name, side ? get((await fullBody(database, id, side))._attachments, name) : stub);
  }
  return { ...body, _attachments: attachments };
}
