// SPDX-License-Identifier: Apache-2.0

import { followChanges } from "../api/changes.js";
import { api, path } from "../api/client.js";
import { rowsOf } from "../api/couch.js";
import { has } from "../api/server.js";
import { debounce } from "../core/dom.js";

/** @typedef {import("./load.js").Row} Row */

const PAGE = 100, SCAN = 2000;

/**
 * All conflicts of a database. A Divan lists them by pages; for another server the queue reads the changes feed once
 * and asks which documents with more than one leaf have more than one live leaf. In both cases it follows the feed.
 */
export class ConflictQueue {
  /** @type {(Row | undefined)[]} */ rows = [];
  /** @type {unknown} */ error = null;
  /** True until the queue knows how many conflicts there are. */
  isSearching = true;
  searched = 0;

  /**
   * @param {string} database
   * @param {AbortSignal} signal
   * @param {(changed: Set<string>) => void} onChange Called when rows changed, with the IDs that the feed named.
   */
  constructor(database, signal, onChange) {
    this.database = database;
    this.signal = signal;
    this.onChange = onChange;
    this.isListed = has("divan-database");
    this.firstShown = 0;
    /** @type {Set<number>} */
    this.asked = new Set();
    /** @type {Set<string>} */
    let changed = new Set();
    const take = debounce(async () => {
      const ids = changed;
      changed = new Set();
      await this.attempt(() => this.isListed ? this.page(this.firstShown, true) : this.check([...ids]));
      this.onChange(ids);
    }, 500);
    followChanges(database, {
      signal, query: { style: "all_docs" }, onChange: ({ id }) => { changed.add(id); take(); },
    });
    this.start();
  }

  start() { return this.attempt(() => this.isListed ? this.page(0, true) : this.scan()); }

  /** @param {() => Promise<void>} work */
  async attempt(work) {
    try { this.error = null; await work(); } catch (error) {
      if (this.signal.aborted) return;
      this.error = error;
      this.isSearching = false;
    }
    this.onChange(new Set());
  }

  /**
   * Asks for the rows in sight that are not there yet.
   *
   * @param {number} from
   * @param {number} to
   */
  need(from, to) {
    this.firstShown = from - from % PAGE;
    for (let at = this.firstShown; this.isListed && at < to; at += PAGE) {
      if (this.rows.length > at && !this.rows[at] && !this.asked.has(at)) this.attempt(() => this.page(at, false));
    }
  }

  /**
   * The rows of a range, for work on many.
   *
   * @param {number} from
   * @param {number} limit
   * @returns {Promise<Row[]>}
   */
  async range(from, limit) {
    const to = Math.min(from + limit, this.rows.length);
    for (let at = from - from % PAGE; this.isListed && at < to; at += PAGE) await this.page(at, false);
    return this.rows.slice(from, from + limit).flatMap((row) => row ?? []);
  }

  /**
   * @param {number} skip
   * @param {boolean} isFresh Whether all other rows are forgotten.
   */
  async page(skip, isFresh) {
    this.asked.add(skip);
    try {
      const [answer, details] = await Promise.all([
        api.get(path(this.database, "_all_docs"),
          { query: { only_conflicts: true, limit: PAGE, skip }, signal: this.signal }),
        // For administrators of the database; others see as many as were asked for.
        api.get(path(this.database, "_divan"), { signal: this.signal }).catch(() => ({ conflicts: 0 })),
      ]);
      if (isFresh) this.rows = [];
      const isLast = answer.rows.length < PAGE;
      this.rows.length = isLast ? skip + answer.rows.length : Math.max(details.conflicts, skip + PAGE);
      for (const [index, { id, value: { rev, _conflicts } }] of answer.rows.entries()) {
        // The first one is the winner.
        this.rows[skip + index] = { id, rev, conflicts: _conflicts.slice(1) };
      }
      this.isSearching = false;
    } finally { this.asked.delete(skip); }
  }

  async scan() {
    this.isSearching = true;
    for (let since = "0", isMore = true; isMore;) {
      const { results, last_seq, pending } = await api.get(path(this.database, "_changes"),
        { query: { style: "all_docs", limit: SCAN, since }, signal: this.signal });
      await this.check(results.flatMap((/** @type {any} */ { id, changes }) => changes.length > 1 ? [id] : []));
      this.searched += results.length;
      since = last_seq;
      isMore = results.length > 0 && pending !== 0;
      this.onChange(new Set());
    }
    this.isSearching = false;
  }

  /** @param {string[]} keys */
  async check(keys) {
    if (!keys.length) return;
    const rows = await rowsOf(this.database, keys,
      { query: { include_docs: true, conflicts: true }, signal: this.signal });
    /** @type {Map<string, Row>} */
    const found = new Map(rows.flatMap(({ id, doc }) =>
      doc?._conflicts?.length ? [[id, { id, rev: doc._rev, conflicts: doc._conflicts }]] : []));
    const asked = new Set(keys);
    this.rows = this.rows.flatMap((row) => {
      if (!row || !asked.has(row.id)) return row ?? [];
      const now = found.get(row.id);
      found.delete(row.id);
      return now ?? [];
    }).concat([...found.values()]);
  }
}
