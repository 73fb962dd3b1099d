// SPDX-License-Identifier: Apache-2.0

import { allDocuments, readDocument } from "../api/couch.js";
import { ApiError, api, nullIfMissing, path } from "../api/client.js";
import { endLabel, localName } from "./ends.js";

/**
 * A replication, of what the scheduler, the running tasks and the documents of `_replicator` say of it.
 *
 * @typedef {object} Job
 * @property {string} key The ID of its document, or of its job where it has none.
 * @property {string | null} docID
 * @property {string} database The database of its document.
 * @property {string | null} jobID
 * @property {string} source Without credentials.
 * @property {string} target
 * @property {string | null} localSource The name of the source, when it is a database here.
 * @property {string | null} localTarget
 * @property {boolean} continuous
 * @property {string} state As the scheduler says it.
 * @property {Info} info
 * @property {string | null} error
 * @property {number} errorCount
 * @property {string | null} started
 * @property {string | null} updated
 * @property {HistoryEntry[]} history The latest first.
 * @property {any} document Null where it has none or it was not asked for. One that was asked for alone is a value of
 *   `parseExact`.
 *
 * @typedef {{ type: string, timestamp: string, reason?: string }} HistoryEntry
 * @typedef {{
 *   checked: number, found: number, read: number, written: number, refused: number, pending: number | null,
 *   sourceSeq: any, throughSeq: any, checkpoint: any,
 * }} Info
 */

export const REPLICATOR = "_replicator";
const MOST = 2000;

/**
 * All replications that the server knows, those with documents and those without.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<Job[]>}
 */
export async function loadJobs(signal) {
  const [docs, jobs, tasks, documents] = await Promise.all([
    // A server of which `_replicator` was never made has no documents of it.
    pages("/_scheduler/docs", "docs", signal).catch(emptyIfMissing),
    pages("/_scheduler/jobs", "jobs", signal),
    api.get("/_active_tasks", { signal }).catch(() => []),
    allDocuments(REPLICATOR, { include_docs: true, limit: MOST }, { signal }).then((answer) => answer.rows,
      emptyIfMissing),
  ]);
  const byID = new Map(documents.filter((/** @type {any} */ row) => row.doc).map((/** @type {any} */ row) =>
    [row.id, row.doc]));
  const running = new Map(jobs.map((job) => [job.id, job]));
  const taskOf = new Map(tasks.filter((/** @type {any} */ task) => task.type === "replication")
    .map((/** @type {any} */ task) => [task.replication_id, task]));
  const known = docs.map((doc) => jobOf(doc, running.get(doc.id), taskOf.get(doc.id), byID.get(doc.doc_id)));
  const listed = new Set(known.map((job) => job.jobID));
  const others = jobs.filter((job) => !job.doc_id && !listed.has(job.id)).map((job) =>
    jobOf(null, job, taskOf.get(job.id), null));
  return [...known, ...others];
}

/**
 * One replication, by the ID of its document or of its job.
 *
 * @param {string} id
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<Job>}
 */
export async function loadJob(id, database, signal) {
  const doc = await api.get(path("_scheduler", "docs", database, id), { signal }).catch(nullIfMissing);
  const jobID = doc?.id ?? (doc ? null : id);
  const job = jobID && await api.get(path("_scheduler", "jobs", jobID), { signal }).catch(nullIfMissing);
  const docID = doc?.doc_id ?? job?.doc_id ?? (job ? null : id);
  const document = docID && await readDocument(job?.database ?? database, docID, { signal }).catch(nullIfMissing);
  if (!doc && !job && !document) throw new ApiError(404, "not_found",
    `The server has no replication “${id}”. It may have been deleted, or it was one without a document and has ended.`,
    "");
  return jobOf(doc ?? (document && !job ? { doc_id: docID, database } : null), job, null, document);
}

/**
 * @param {any} doc Of `_scheduler/docs`.
 * @param {any} job Of `_scheduler/jobs`.
 * @param {any} task Of `_active_tasks`.
 * @param {any} document
 * @returns {Job}
 */
function jobOf(doc, job, task, document) {
  const info = { ...document?._replication_stats, ...task, ...job?.info, ...doc?.info };
  const source = endLabel(doc?.source ?? job?.source ?? document?.source),
    target = endLabel(doc?.target ?? job?.target ?? document?.target);
  const docID = doc?.doc_id ?? job?.doc_id ?? null, jobID = doc?.id ?? job?.id ?? null;
  /** @type {HistoryEntry[]} */
  const history = job?.history ?? [];
  const crash = history[0]?.type === "crashed" ? history[0].reason : null;
  return {
    key: docID ?? jobID ?? "", docID, database: doc?.database ?? job?.database ?? REPLICATOR, jobID, source, target,
    // The document says it more exactly where the server has been called by another name.
    localSource: localName(source) ?? localName(document?.source),
    localTarget: localName(target) ?? localName(document?.target),
    continuous: document?.continuous ?? task?.continuous ?? String(jobID).endsWith("+continuous"),
    state: doc?.state ?? (document?._replication_state
      || (crash ? "crashing" : history[0]?.type === "added" || !job ? "pending" : "running")),
    info: {
      checked: info.revisions_checked ?? 0, found: info.missing_revisions_found ?? 0, read: info.docs_read ?? 0,
      written: info.docs_written ?? 0,
      refused: info.doc_write_failures ?? 0, pending: info.changes_pending ?? null, sourceSeq: info.source_seq ?? null,
      throughSeq: info.through_seq ?? null, checkpoint: info.checkpointed_source_seq ?? null,
    },
    error: textOf(doc?.info?.error) ?? textOf(document?._replication_state_reason) ?? crash ?? null,
    errorCount: doc?.error_count ?? 0,
    started: doc?.start_time ?? job?.start_time ?? null,
    updated: doc?.last_updated ?? document?._replication_state_time ?? null,
    history, document,
  };
}

/**
 * The reason within an error, which is a text, or an object in some versions of CouchDB.
 *
 * @param {any} error
 * @returns {string | null}
 */
const textOf = (error) => error === undefined || error === null ? null : typeof error === "string" ? error
  : String(error.reason ?? JSON.stringify(error));

/**
 * @param {string} place
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
async function pages(place, name, signal) {
  /** @type {any[]} */
  const all = [];
  for (;;) {
    const answer = await api.get(place, { query: { skip: all.length, limit: 500 }, signal });
    all.push(...answer[name]);
    if (answer[name].length === 0 || all.length >= Math.min(answer.total_rows, MOST)) return all;
  }
}

/** @param {any} error */
function emptyIfMissing(error) { if (error.status === 404) return []; throw error; }
