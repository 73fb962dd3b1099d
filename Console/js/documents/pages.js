// SPDX-License-Identifier: Apache-2.0

/**
 * The rows of a long list, fetched in pages as they come into sight.
 *
 * `want(from, to)` says which rows are in sight. Requests for pages that were scrolled past are cancelled, and a fling
 * over a thousand pages asks for those where it ends only. The cache is bounded.
 *
 * @typedef {{ id: string, rev: string, doc: any, isGone?: boolean }} Row
 * @typedef {{ rows: Row[], bytes: number, total: number | null, isLast: boolean, info?: Info }} Page
 * @typedef {{ warning?: string, examined?: number, milliseconds: number }} Info
 *
 * A source reads pages from the server. `isSequential`: a page can be read only after the one before it.
 * `scan` reads everything from the start, without bodies if they are not wanted.
 *
 * @typedef {object} Source
 * @property {number} size Rows of a page.
 * @property {boolean} isSequential
 * @property {(page: number, signal: AbortSignal) => Promise<Page>} load
 * @property {(signal: AbortSignal, withBodies: boolean) => AsyncGenerator<Row[]>} scan
 */

const MOST_PAGES = 40;
const MOST_BYTES = 32e6;
/** How long requests wait for the scrolling to slow down, in milliseconds. */
const PAUSE = 60;
/** Lines that wait below the last known row of a list whose length is unknown. */
const AHEAD = 20;

export class Pages {
  /**
   * @param {Source} source
   * @param {object} options
   * @param {AbortSignal} options.signal
   * @param {(from: number, to: number) => void} options.onRows Rows have come.
   * @param {() => void} options.onCount `count` or `total` has changed.
   */
  constructor(source, { signal, onRows, onCount }) {
    this.source = source;
    this.signal = signal;
    this.onRows = onRows;
    this.onCount = onCount;
    /** How many lines the list has: `total`, or more than are known yet. */
    this.count = 0;
    /** @type {number | null} */
    this.total = null;
    /** @type {unknown} */
    this.error = null;
    /** @type {Info | null} */
    this.info = null;
    this.isLoaded = false;
    /** @type {Map<number, Page>} */
    this.pages = new Map();
    /** @type {Map<number, AbortController>} */
    this.loading = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.from = 0;
    this.to = 1;
    signal.addEventListener("abort", () => this.stop(), { once: true });
    this.want(0, 1);
  }

  /**
   * @param {number} index
   * @returns {Row | undefined}
   */
  row(index) {
    return this.pages.get(Math.floor(index / this.source.size))?.rows[index % this.source.size];
  }

  /**
   * The rows in sight that have come.
   *
   * @returns {Row[]}
   */
  inSight() {
    const rows = [];
    for (let index = this.from; index < this.to; index += 1) {
      const row = this.row(index);
      if (row) rows.push(row);
    }
    return rows;
  }

  /** @returns {IterableIterator<[number, Row]>} */
  *cached() {
    for (const [page, { rows }] of this.pages) {
      for (const [at, row] of rows.entries()) yield [page * this.source.size + at, row];
    }
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  want(from, to) {
    this.from = from;
    this.to = Math.max(to, from + 1);
    const [first, last] = this.#span();
    for (const [page, request] of this.loading) {
      if (page >= first - 1 && page <= last + 1) continue;
      request.abort();
      this.loading.delete(page);
    }
    this.timer ??= setTimeout(() => { this.timer = undefined; this.#load(); }, this.isLoaded ? PAUSE : 0);
  }

  /** How many rows there are if any page can be read at once, else null. */
  get jumpable() { return this.source.isSequential ? null : this.total; }

  /** How many rows there are at least. */
  get known() { return this.total ?? Math.max(0, this.count - AHEAD); }

  /** Tries again what failed. */
  retry() {
    this.error = null;
    this.#load();
  }

  stop() {
    clearTimeout(this.timer);
    for (const request of this.loading.values()) request.abort();
  }

  /** The first and the last page in sight. */
  #span() {
    const { size } = this.source;
    return [Math.floor(this.from / size), Math.floor((this.to - 1) / size)];
  }

  #load() {
    if (this.signal.aborted || this.error) return;
    const [first, last] = this.#span();
    const end = Math.max(1, Math.ceil(this.count / this.source.size));
    for (let page = first; page <= Math.min(last + 1, end - 1); page += 1) {
      // The page after those in sight is read ahead, but only if nothing else is on its way.
      if (this.pages.has(page) || this.loading.has(page) || (page > last && this.loading.size)) continue;
      if (this.source.isSequential && page > 0 && this.loading.size) continue;
      this.#fetch(page);
    }
  }

  /** @param {number} page */
  async #fetch(page) {
    const request = new AbortController();
    this.loading.set(page, request);
    try {
      const result = await this.source.load(page, request.signal);
      if (request.signal.aborted) return;
      this.loading.delete(page);
      this.#take(page, result);
      this.#load();
    } catch (error) {
      if (request.signal.aborted || this.signal.aborted) return;
      this.loading.delete(page);
      this.error = error;
      this.onCount();
    }
  }

  /**
   * @param {number} page
   * @param {Page} result
   */
  #take(page, result) {
    const { size } = this.source;
    const end = page * size + result.rows.length;
    const before = this.count;
    this.pages.set(page, result);
    this.isLoaded = true;
    this.info = result.info ?? this.info;
    if (result.total !== null) this.total = result.total;
    if (result.isLast) {
      this.total = end;
      this.count = end;
    } else if (!this.source.isSequential && result.total !== null) this.count = result.total;
    else this.count = Math.max(this.count, end + AHEAD);
    this.#evict();
    if (before !== this.count || page === 0) this.onCount();
    this.onRows(page * size, end);
  }

  #evict() {
    const [first, last] = this.#span();
    let bytes = 0;
    for (const page of this.pages.values()) bytes += page.bytes;
    for (const [page, { bytes: own }] of this.pages) {
      if (this.pages.size <= MOST_PAGES && bytes <= MOST_BYTES) return;
      if (page >= first - 1 && page <= last + 1) continue;
      this.pages.delete(page);
      bytes -= own;
    }
  }
}
