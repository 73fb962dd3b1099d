// SPDX-License-Identifier: Apache-2.0

import { openDialog } from "../components/dialog.js";
import { button } from "../components/button.js";
import { api, path } from "../api/client.js";
import { bulkDocuments, getDocument } from "../api/couch.js";
import { fill, h } from "../core/dom.js";
import { count } from "../core/format.js";

/**
 * Work on many documents: they are read in batches, changed and saved by `_bulk_docs`. The outcome lists what failed
 * and keeps what was before, for undo.
 *
 * @typedef {{ id: string, rev?: string }} Target A document, and the revision that the user saw.
 * @typedef {{ id: string, reason: string }} Failure
 * @typedef {{ id: string, rev: string, before: any }} Saved
 * @typedef {{ saved: number, unchanged: number, failures: Failure[], undo: Saved[], isStopped: boolean }} Outcome
 * @typedef {(done: number) => void} Report
 */

const BATCH = 500;
const CHANGED = "The document has changed since you selected it.";
/** How many documents an undo keeps; more would fill the page's memory. */
export const MOST_UNDO = 20_000;
/** Attachments up to this size are kept for the undo of a deletion, in bytes of a document. */
const MOST_ATTACHED = 4e6;

/**
 * Targets in batches.
 *
 * @param {AsyncIterable<Target[]>} targets
 * @returns {AsyncGenerator<Target[]>}
 */
async function* batches(targets) {
  /** @type {Target[]} */
  let rest = [];
  for await (const some of targets) {
    rest.push(...some);
    while (rest.length >= BATCH) yield rest.splice(0, BATCH);
  }
  if (rest.length) yield rest;
}

/**
 * The winning revisions of documents, with bodies.
 *
 * @param {string} database
 * @param {string[]} keys
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function readRows(database, keys, signal) {
  return (await api.post(path(database, "_all_docs"), { keys }, { signal, query: { include_docs: true } })).rows;
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
      const rows = await readRows(database, batch.map((target) => target.id), signal);
      const before = [], after = [];
      for (const [at, { doc }] of rows.entries()) {
        const { id, rev } = batch[at];
        const isOther = doc && rev && doc._rev !== rev;
        if (!doc || isOther) {
          outcome.failures.push({ id, reason: doc ? CHANGED : "The document no longer exists." });
          continue;
        }
        const next = change(doc);
        if (next === null) { outcome.unchanged += 1; continue; }
        before.push(next._deleted ? await withAttachments(database, doc, signal) : doc);
        after.push(next);
      }
      if (after.length) {
        // Not cancelled halfway, since then nothing would say which of these were saved.
        const answers = await bulkDocuments(database, after);
        for (const [at, answer] of answers.entries()) {
          const { rev } = answer, id = after[at]._id;
          if (answer.error || !rev) { outcome.failures.push({ id, reason: reasonOf(answer) }); continue; }
          outcome.saved += 1;
          if (outcome.undo.length < MOST_UNDO) outcome.undo.push({ id, rev, before: before[at] });
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
 * @param {any} doc
 * @param {AbortSignal} signal
 */
async function withAttachments(database, doc, signal) {
  const stubs = Object.values(doc._attachments ?? {});
  if (!stubs.length || stubs.reduce((sum, stub) => sum + stub.length, 0) > MOST_ATTACHED) return doc;
  return getDocument(database, doc._id, { rev: doc._rev, attachments: true }, { signal });
}

/**
 * Saves what was before, on top of what was saved.
 *
 * @param {string} database
 * @param {Saved[]} saved
 * @param {AbortSignal} signal
 * @param {Report} report
 * @returns {Promise<Outcome>}
 */
export async function restore(database, saved, signal, report) {
  /** @type {Outcome} */
  const outcome = { saved: 0, unchanged: 0, failures: [], undo: [], isStopped: false };
  for (let start = 0; start < saved.length && !signal.aborted; start += BATCH) {
    const batch = saved.slice(start, start + BATCH);
    try {
      const answers = await bulkDocuments(database, batch.map(({ rev, before }) => ({ ...before, _rev: rev })));
      for (const [at, answer] of answers.entries()) {
        const { id } = batch[at];
        if (answer.error || !answer.rev) outcome.failures.push({ id, reason: reasonOf(answer) });
        else outcome.undo.push({ id, rev: answer.rev, before: null });
      }
    } catch (error) {
      // A batch is refused as a whole when, for one, an attachment has gone.
      outcome.failures.push(...batch.map(({ id }) => ({ id, reason: /** @type {Error} */ (error).message })));
    }
    report(start + batch.length);
  }
  outcome.saved = outcome.undo.length;
  outcome.isStopped = signal.aborted;
  return outcome;
}

/**
 * Shows how far a work has come, with a button that stops it; closing the dialog stops it, too.
 *
 * @template T
 * @param {object} options
 * @param {string} options.title
 * @param {number | null} options.total
 * @param {AbortSignal} options.signal
 * @param {(signal: AbortSignal, report: Report) => Promise<T>} options.work
 * @returns {Promise<T>}
 */
export async function withProgress({ title, total, signal, work }) {
  const stop = new AbortController(), close = new AbortController();
  signal.addEventListener("abort", () => stop.abort(), { once: true });
  const bar = h("progress.progress", { "aria-label": title });
  const text = h("p", { role: "status" }, "Starting…");
  openDialog({
    title, signal: close.signal,
    body: [
      bar, text,
      h("div", null, button({ label: "Stop", icon: "stop", kind: "danger small", onclick: () => stop.abort() })),
    ],
  }).then(() => stop.abort());
  /** @type {Report} */
  const report = (done) => {
    if (total) { bar.max = total; bar.value = done; }
    fill(text, total ? `${count(done)} of ${count(total)}` : count(done));
  };
  try { return await work(stop.signal, report); } finally { close.abort(); }
}
