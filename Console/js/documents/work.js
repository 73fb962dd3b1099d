// SPDX-License-Identifier: Apache-2.0

import { documentPath } from "../api/client.js";
import { bulkDocuments, readRows, saveDocuments } from "../api/couch.js";
import { readExact } from "../api/exact.js";
import { stringifyExact } from "../components/json-text.js";
import { isEqual } from "../core/merge.js";
import { generation } from "../core/revision.js";

/**
 * Work on many documents: they are read in batches, changed and saved by `_bulk_docs`. The outcome lists what failed
 * and keeps what was before, for undo. All bodies are values of `parseExact`.
 *
 * @typedef {{ id: string, rev?: string }} Target A document, and the revision that the user saw.
 * @typedef {{ id: string, reason: string }} Failure
 *
 * What undoes a change. `after` is there while it is unknown whether that was saved, so that `rev` is "".
 *
 * @typedef {{ id: string, rev: string, before: any, after?: any }} Saved
 * @typedef {{ saved: number, unchanged: number, failures: Failure[], undo: Saved[], isStopped: boolean }} Outcome
 * @typedef {(done: number) => void} Report
 */

const BATCH = 500;
const CHANGED = "The document has changed since you selected it.";
const LOST = "The server's answer was lost. This document may or may not be saved.";
const STILL_THERE = "The document still exists: its winner is deleted, and another side of the conflict is the winner.";
/** How many documents an undo keeps; more would fill the page's memory. */
export const MOST_UNDO = 20_000;
/** Attachments up to this size are kept for the undo of a deletion, in bytes of a document. */
export const MOST_ATTACHED = 4e6;
/** Characters of a request that restores documents, unless one document is longer. */
const MOST_RESTORED = 4e6;

/**
 * Targets in batches.
 *
 * @param {AsyncIterable<Target[]>} targets
 * @returns {AsyncGenerator<Target[]>}
 */
export async function* batches(targets) {
  /** @type {Target[]} */
  let rest = [];
  for await (const some of targets) {
    rest.push(...some);
    while (rest.length >= BATCH) yield rest.splice(0, BATCH);
  }
  if (rest.length) yield rest;
}

/**
 * Changes documents. A document that has changed since the user saw it is left alone and listed as a failure.
 *
 * @param {string} database
 * @param {AsyncIterable<Target[]>} targets
 * @param {(doc: any) => any} change Returns the document to save, or null to leave it as it is.
 * @param {AbortSignal} signal
 * @param {Report} report
 * @returns {Promise<Outcome>}
 */
export async function rewrite(database, targets, change, signal, report) {
  /** @type {Outcome} */
  const outcome = { saved: 0, unchanged: 0, failures: [], undo: [], isStopped: false };
  let done = 0;
  try {
    for await (const batch of batches(targets)) {
      const rows = await readRows(database, batch.map((target) => target.id), signal, true);
      const ids = [], before = [], after = [], branched = new Set();
      for (const [at, row] of rows.entries()) {
        const { id, rev } = batch[at], { _conflicts, ...doc } = row.doc ?? {};
        if (!row.doc || rev && doc._rev !== rev) {
          outcome.failures.push({ id, reason: row.doc ? CHANGED : "The document no longer exists." });
          continue;
        }
        const next = change(doc);
        if (next === null) { outcome.unchanged += 1; continue; }
        if (next._deleted && _conflicts) branched.add(id);
        before.push(next._deleted ? await withAttachments(database, id, doc, signal) : doc);
        after.push(next);
        ids.push(id);
      }
      if (after.length) {
        // Not cancelled halfway, since then nothing would say which of these were saved.
        const answers = await saveDocuments(database, after);
        for (const [at, id] of ids.entries()) {
          // A refusal names a revision, too: the one that was sent.
          const answer = answers?.[at], rev = answer?.rev ?? "";
          if (answer?.error) { outcome.failures.push({ id, reason: reasonOf(answer) }); continue; }
          if (!rev || branched.has(id)) outcome.failures.push({ id, reason: rev ? STILL_THERE : LOST });
          else outcome.saved += 1;
          const unsure = rev ? {} : { after: after[at] };
          if (outcome.undo.length < MOST_UNDO) outcome.undo.push({ id, rev, before: before[at], ...unsure });
        }
      }
      done += batch.length;
      report(done);
      if (signal.aborted) break;
    }
  } catch (error) {
    // What was saved before stays saved: the outcome says so and keeps the undo.
    if (!signal.aborted) outcome.failures.push({ id: "", reason: `Stopped: ${/** @type {Error} */ (error).message}` });
  }
  outcome.isStopped = signal.aborted;
  return outcome;
}

/** @param {{ error?: string, reason?: string }} answer */
function reasonOf({ error, reason }) {
  return error === "conflict" ? CHANGED : reason || error || "The server gave no reason.";
}

/**
 * A document with its attachments inside, so that it can be saved again after it was deleted.
 *
 * @param {string} database
 * @param {string} id
 * @param {any} doc
 * @param {AbortSignal} signal
 */
async function withAttachments(database, id, doc, signal) {
  const size = attachedSize(doc);
  if (!size || size > MOST_ATTACHED) return doc;
  return readExact("GET", documentPath(database, id), { query: { rev: doc._rev, attachments: true }, signal });
}

/**
 * @param {any} doc
 * @returns {number}
 */
export function attachedSize(doc) {
  return Object.values(doc?._attachments ?? {}).reduce((sum, stub) => sum + stub.length, 0);
}

/**
 * Gives those whose answer was lost the revision that they were saved as. One that was not saved needs no undo.
 *
 * @param {string} database
 * @param {Saved[]} batch
 * @param {AbortSignal} signal
 * @param {Outcome} outcome
 * @param {Set<Saved>} rest
 */
async function settle(database, batch, signal, outcome, rest) {
  const unsure = batch.filter(({ rev }) => !rev);
  if (!unsure.length) return;
  try {
    const rows = await readRows(database, unsure.map(({ id }) => id), signal);
    for (const [at, one] of unsure.entries()) {
      const { before, after } = one, { value, doc } = rows[at];
      if (value?.rev === before._rev) { outcome.unchanged += 1; rest.delete(one); continue; }
      const isNext = value && generation(value.rev) === generation(before._rev) + 1;
      const isOurs = after._deleted ? value?.deleted : doc && isEqual({ ...doc, _rev: "" }, { ...after, _rev: "" });
      if (isNext && isOurs) one.rev = value.rev;
      else outcome.failures.push({ id: one.id, reason: CHANGED });
    }
  } catch (error) {
    const reason = /** @type {Error} */ (error).message;
    outcome.failures.push(...unsure.map(({ id }) => ({ id, reason })));
  }
}

/**
 * Saved ones in batches of a number of documents and of a length.
 *
 * @param {Saved[]} saved
 * @returns {Generator<Saved[]>}
 */
function* byLength(saved) {
  /** @type {Saved[]} */
  let batch = [];
  let length = 0;
  for (const one of saved) {
    const own = stringifyExact(one.before).length;
    if (batch.length && (batch.length === BATCH || length + own > MOST_RESTORED)) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(one);
    length += own;
  }
  if (batch.length) yield batch;
}

/**
 * Saves what was before, on top of what was saved.
 *
 * @param {string} database
 * @param {Saved[]} saved
 * @param {AbortSignal} signal
 * @param {Report} report
 * @returns {Promise<Outcome & { rest: Saved[] }>} `rest`: what was not restored and can be tried again.
 */
export async function restore(database, saved, signal, report) {
  /** @type {Outcome} */
  const outcome = { saved: 0, unchanged: 0, failures: [], undo: [], isStopped: false };
  const rest = new Set(saved);
  let done = 0;
  /** @param {Saved[]} batch */
  const save = async (batch) => {
    try {
      const answers = await bulkDocuments(database, batch.map(({ rev, before }) => ({ ...before, _rev: rev })));
      for (const [at, answer] of answers.entries()) {
        const { id } = batch[at];
        if (answer.error || !answer.rev) { outcome.failures.push({ id, reason: reasonOf(answer) }); continue; }
        outcome.undo.push({ id, rev: answer.rev, before: null });
        rest.delete(batch[at]);
      }
    } catch (error) {
      const { status, message } = /** @type {any} */ (error);
      // The server refuses a batch as a whole when an attachment of one document has gone, or when it is too long.
      if (batch.length > 1 && [400, 412, 413].includes(status)) {
        for (const one of batch) if (!signal.aborted) await save([one]);
      } else outcome.failures.push(...batch.map(({ id }) => ({ id, reason: message })));
    }
  };
  for (const batch of byLength(saved)) {
    if (signal.aborted) break;
    await settle(database, batch, signal, outcome, rest);
    const known = batch.filter((one) => rest.has(one) && one.rev);
    if (known.length) await save(known);
    report(done += batch.length);
  }
  outcome.saved = outcome.undo.length;
  outcome.isStopped = signal.aborted;
  return { ...outcome, rest: saved.filter((one) => rest.has(one)) };
}
