// SPDX-License-Identifier: Apache-2.0

import { plural } from "../core/format.js";

/**
 * The selected rows of a list, kept with the revisions that the user saw, also when their page leaves the cache.
 *
 * @typedef {import("./pages.js").Row} Row
 * @typedef {import("./pages.js").Pages} Pages
 */
export class Selection {
  /** @param {Pages} pages */
  constructor(pages) {
    this.pages = pages;
    /** Everything that the filter finds is selected, also what has not been read yet. */
    this.isAll = false;
    /** @type {Map<number, Row | undefined>} */
    this.rows = new Map();
  }

  /** @param {Set<number>} selected */
  take(selected) {
    const known = selected.size > 0 && selected.size === this.pages.count ? new Map(this.pages.cached()) : null;
    // Rows that the user has seen are selected by themselves, also when they are all: a document that a client saves
    // meanwhile is not among them.
    this.isAll = known !== null && known.size < selected.size;
    if (this.isAll && known) { this.rows = known; return; }
    for (const index of this.rows.keys()) if (!selected.has(index)) this.rows.delete(index);
    for (const index of selected) if (!this.rows.get(index)) this.rows.set(index, this.pages.row(index));
  }

  get isEmpty() { return !this.isAll && this.rows.size === 0; }

  /** The IDs that are known already, in the order of the list. */
  get ids() {
    if (this.isAll) return [...this.pages.cached()].sort(([one], [other]) => one - other).map(([, { id }]) => id);
    return [...this.rows].sort(([one], [other]) => one - other).flatMap(([, row]) => row ? [row.id] : []);
  }

  /**
   * What is selected, as dialogs and work take it. It stays the same when the list goes on.
   *
   * @returns {import("./bulk.js").Selected}
   */
  snapshot() {
    const { isAll, pages } = this;
    /** @type {Map<string, string>} */
    const seen = new Map();
    for (const row of this.rows.values()) if (row) seen.set(row.id, row.rev);
    const total = isAll ? pages.total : this.rows.size;
    const rows = [...this.rows].sort(([one], [other]) => one - other);
    const known = rows.map(([index, row]) => ({ index, target: row && { id: row.id, rev: row.rev } }));
    return {
      total, words: total === null ? "all matching documents" : plural(total, "document"), some: this.ids.slice(0, 100),
      async *targets(signal) {
        if (isAll) {
          const all = [];
          for await (const rows of pages.source.scan(signal, false)) {
            const some = rows.map(({ id, rev }) => ({ id, rev: seen.get(id) || rev || undefined }));
            if (pages.source.isSequential) all.push(...some); else yield some;
          }
          // A change can move documents out of what a selector finds: all are read before the first is changed.
          if (all.length) yield all;
          return;
        }
        // Pages shift once documents of them are deleted: all are read before the first is changed.
        const all = known.flatMap(({ target }) => target ?? []);
        const { size } = pages.source;
        const missing = byPage(known.flatMap(({ index, target }) => target ? [] : [index]), size);
        for (const [page, indexes] of missing) {
          const loaded = (await pages.source.load(page, signal)).rows;
          all.push(...indexes.flatMap((index) => loaded[index % size] ?? []).map(({ id, rev }) => ({ id, rev })));
        }
        yield all;
      },
    };
  }
}

/**
 * @param {number[]} indexes
 * @param {number} size
 */
function byPage(indexes, size) {
  /** @type {Map<number, number[]>} */
  const pages = new Map();
  for (const index of indexes) {
    const page = Math.floor(index / size);
    const own = pages.get(page);
    if (own) own.push(index); else pages.set(page, [index]);
  }
  return pages;
}
