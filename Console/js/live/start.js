// SPDX-License-Identifier: Apache-2.0

import { followChanges, isFinal, readChanges } from "../api/changes.js";
import { rowsOf } from "../api/couch.js";
import { isDivan } from "../api/server.js";
import { sequenceNumber } from "../core/revision.js";
import { changesRequest } from "./filters.js";
import { lineOf } from "./line.js";

/**
 * @typedef {import("./line.js").Line} Line
 * @typedef {"connecting" | "live" | "waiting" | "ended"} FeedState
 *
 * @typedef {object} FeedOptions
 * @property {string} from `now`, `last` for the last hundred changes, `start`, or a sequence of the database.
 * @property {boolean} withDocuments
 * @property {import("./filters.js").Choice} choice
 */

const LAST = 100;

/**
 * Follows the changes of a database from the chosen point until the signal aborts.
 *
 * @param {string} database
 * @param {FeedOptions} options
 * @param {object} to
 * @param {AbortSignal} to.signal
 * @param {(line: Line) => void} to.onLine
 * @param {(line: Line) => void} to.onKnown The kind of a line that was given before has become known.
 * @param {(state: FeedState, error?: Error) => void} to.onState
 */
export async function startFeed(database, { from, withDocuments, choice }, { signal, onLine, onKnown, onState }) {
  const run = new AbortController();
  signal.addEventListener("abort", () => run.abort(), { once: true });
  const asked = changesRequest(choice);
  // With a filter, all leaves would be filtered, too. The documents themselves tell of conflicts where they come along.
  const leaves = withDocuments || asked.query.filter ? {} : { style: "all_docs" };
  const query = { ...asked.query, ...(withDocuments ? { include_docs: true, conflicts: true } : leaves) };
  const branches = new Branches(database, run.signal, onKnown);
  const give = (/** @type {any} */ change, /** @type {number | null} */ at) => {
    const line = lineOf(change, at);
    onLine(line);
    if (!withDocuments && line.hasBranches && !line.isDeleted) branches.add(line);
  };
  onState("connecting");
  try {
    const now = (await readChanges(database, { query: {} }, { since: "now", limit: 1 }, run.signal)).last_seq;
    /**
     * What the feed may tell again. A CouchDB may then write its sequence in another way.
     *
     * @type {Set<string>}
     */
    const given = new Set();
    const nameOf = (/** @type {any} */ { id, changes }) =>
      JSON.stringify([id, ...changes.map((/** @type {any} */ one) => one.rev)]);
    if (from === "last") {
      const { results } = await readChanges(database, { ...asked, query }, { descending: true, limit: LAST },
        run.signal);
      for (const change of results.reverse()) {
        if (!isDivan() || isAfter(change.seq, now)) given.add(nameOf(change));
        give(change, null);
      }
    }
    let isSteady = true;
    await followChanges(database, {
      signal: run.signal, query, selector: choice.selector,
      since: from === "now" || from === "last" ? now : from === "start" ? 0 : from,
      onChange: (change) => {
        isSteady = true;
        onState("live");
        if (given.delete(nameOf(change))) return;
        // The feed tells those first. Later, the same revision comes again with another leaf of the document.
        given.clear();
        give(change, isAfter(change.seq, now) ? Date.now() : null);
      },
      onState: (state, error) => {
        if (state === "live") {
          // The request has only been sent: after a failure, wait whether the next one comes at once.
          if (isSteady) onState("live");
          else { isSteady = true; setTimeout(() => { if (isSteady && !run.signal.aborted) onState("live"); }, 600); }
          return;
        }
        isSteady = false;
        if (!error || !isFinal(error)) { onState("waiting", error); return; }
        onState("ended", error);
        run.abort();
      },
    });
  } catch (error) {
    if (!run.signal.aborted) onState("ended", /** @type {Error} */ (error));
  }
}

/**
 * Whether a sequence stands behind another one. That of a cluster grows with each change on the whole, so this may
 * err for a moment.
 *
 * @param {any} sequence
 * @param {any} other
 * @returns {boolean}
 */
const isAfter = (sequence, other) => sequenceNumber(sequence) > sequenceNumber(other);

/** Asks which documents of several leaves are in conflict, for many lines at a time: other leaves may be deleted. */
class Branches {
  /**
   * @param {string} database
   * @param {AbortSignal} signal
   * @param {(line: Line) => void} onKnown
   */
  constructor(database, signal, onKnown) {
    this.database = database;
    this.signal = signal;
    this.onKnown = onKnown;
    /** @type {Line[]} */
    this.lines = [];
  }

  /** @param {Line} line */
  add(line) {
    if (this.lines.push(line) === 1) setTimeout(() => this.#ask(), 300);
  }

  async #ask() {
    const lines = this.lines.splice(0, 200), keys = [...new Set(lines.map((line) => line.id))];
    if (this.lines.length) setTimeout(() => this.#ask(), 300);
    try {
      const options = { query: { include_docs: true, conflicts: true }, signal: this.signal };
      const rows = await rowsOf(this.database, keys, options);
      const inConflict = new Set(rows.filter((row) => row.doc?._conflicts?.length).map((row) => row.id));
      for (const line of lines) if (inConflict.has(line.id)) { line.kind = "conflict"; this.onKnown(line); }
    } catch { /* The lines keep the kind that they have. */ }
  }
}
