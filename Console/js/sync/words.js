// SPDX-License-Identifier: Apache-2.0

import { isDivan } from "../api/server.js";
import { count, duration, plural } from "../core/format.js";

/**
 * @typedef {import("./jobs.js").Job} Job
 * @typedef {"" | "accent" | "danger" | "warning" | "success" | "info"} Tone
 */

/** @type {Record<string, [string, Tone]>} */
const STATES = {
  initializing: ["Starting", "info"], pending: ["Queued", "info"], running: ["Running", "success"],
  crashing: ["Waiting to retry", "warning"], error: ["Waiting to retry", "warning"], completed: ["Completed", ""],
  failed: ["Failed", "danger"],
};

/**
 * The state of a replication as a tag says it.
 *
 * @param {Job} job
 * @returns {[string, Tone]}
 */
export function stateTag(job) {
  if (job.state === "running" && job.continuous && job.info.pending === 0) return ["Up to date", "success"];
  return Object.hasOwn(STATES, job.state) ? STATES[job.state] : [String(job.state), ""];
}

/**
 * The state in a sentence.
 *
 * @param {Job} job
 * @param {number} now
 * @returns {string}
 */
export function stateSentence(job, now) {
  const { pending, written, refused } = job.info;
  const done = `${plural(written, "document")} written${refused ? `, ${count(refused)} refused` : ""}`;
  switch (job.state) {
    case "running":
      if (pending === 0) return job.continuous
        ? `${refused ? "All changes were sent" : "The target has everything"}; the replication waits for more. ${done}.`
        : `Finishing. ${done}.`;
      return pending === null ? `Running. ${done}.` : `Running: ${plural(pending, "change")} to go. ${done}.`;
    case "crashing": case "error": return `The last attempt failed; ${nextAttempt(job, now)}.`;
    case "completed": return `Completed: ${done}.`;
    case "failed":
      return "The server stopped retrying. Fix the cause, then choose “Restart”.";
    case "pending": return "The replication is queued. The server starts it when a slot is free.";
    case "initializing": return "The server has read the document and starts the replication.";
    default: return `The server says “${job.state}”.`;
  }
}

/**
 * When the next attempt is due. Servers do not say it, so this reckons as they do: the pause doubles with each failure
 * in a row.
 *
 * @param {Job} job
 * @param {number} now
 * @returns {string}
 */
function nextAttempt(job, now) {
  const next = nextAttemptAt(job);
  if (next === null) return "the server tries again by itself";
  const left = next - now;
  return left > 500 ? `the next attempt comes in about ${duration(left)}` : "the next attempt is due";
}

/**
 * @param {Job} job
 * @returns {number | null}
 */
function nextAttemptAt(job) {
  const last = job.history.find((entry) => entry.type === "crashed");
  if (!last) return null;
  const failures = Math.max(job.errorCount, failuresInARow(job.history), 1);
  const [first, longest] = isDivan() ? [2e3, 600e3] : [30e3, 8 * 3600e3];
  const pause = Math.min(longest, first * 2 ** Math.min(failures - 1, 20));
  // A Divan waits for a random part of the second half.
  return new Date(last.timestamp).getTime() + (isDivan() ? pause * 0.75 : pause);
}

/**
 * How often the replication has failed since it last ran for a minute.
 *
 * @param {import("./jobs.js").HistoryEntry[]} history The latest first.
 * @returns {number}
 */
function failuresInARow(history) {
  const times = history.map((entry) => new Date(entry.timestamp).getTime());
  const end = history.findIndex((entry, index) => entry.type === "started" && history[index - 1]
    && times[index - 1] - times[index] > 60e3);
  return history.slice(0, end < 0 ? undefined : end).filter((entry) => entry.type === "crashed").length;
}

/** What errors mean, and what to do; the first that fits counts. */
const ADVICE = /** @type {[RegExp, string][]} */ ([
  [/econnrefused|connection refused|couldn.t connect|cannot be reached/i,
    "The other server does not answer at this address. "
      + "Check that it runs, its port, and whether a firewall is between the two."],
  [/nxdomain|resolve|no such host|unknown host/i,
    "The name of the other server is not known. Check its spelling and the DNS."],
  [/certificate|tls|ssl/i,
    "The other server's certificate is not trusted. "
      + "Give it one that this server trusts, or trust its authority here."],
  [/timeout|timed out/i,
    "The other server takes too long to answer. "
      + "Check the network and its load; connection_timeout raises the limit."],
  [/unauthori[sz]ed|\b401\b|password|credential/i,
    "The database is not open without a user, or the name or the password is wrong. "
      + "Edit the replication to enter them."],
  [/forbidden|\b403\b|not a db or server admin|not allowed/i,
    "The user may not do this. Give it access to the database, or use another user."],
  [/db_not_found|could not open|not_found|no such database|\b404\b/i,
    "A database is missing. Create it, correct the name, or turn on “Create the target”."],
  [/started already|duplicate|same replication/i,
    "Another document asks for the same replication. Delete one of the two."],
  [/filter|selector/i, "The filter or the selector does not work. Edit the replication and use its preview."],
  [/paused/i, "The server paused this replication after it had crashed. Choose “Restart” to start it."],
]);

/**
 * What to do about an error; null when its text says all that is known.
 *
 * @param {string} error
 * @returns {string | null}
 */
export const advice = (error) => ADVICE.find(([pattern]) => pattern.test(error))?.[1] ?? null;

/**
 * What a replication sends, in words.
 *
 * @param {any} document
 * @returns {string}
 */
export function scopeOf(document) {
  if (!document) return "";
  if (Array.isArray(document.doc_ids)) return plural(document.doc_ids.length, "document by ID", "documents by ID");
  if (document.selector) return "Documents that a selector finds";
  if (document.filter) return `Documents that pass ${document.filter}`;
  return "All documents";
}
