// SPDX-License-Identifier: Apache-2.0

import { followChanges } from "../api/changes.js";
import { rowsOf } from "../api/couch.js";

/** How often the list hears of changes, in milliseconds, and of how many documents at most. */
const PAUSE = 1000;
const MOST = 500;

/**
 * Counts the changes of a database since now, and reads those documents again that the list shows.
 *
 * @param {object} options
 * @param {string} options.database
 * @param {AbortSignal} options.signal
 * @param {() => Set<string>} options.shown The IDs that the list has.
 * @param {(count: number) => void} options.onCount
 * @param {(rows: { id: string, rev: string, doc: any }[]) => void} options.onRows `doc` is null for a deleted one.
 * @returns {{ ignore: (revs: string[]) => void, reset: () => void }} `ignore`: changes that the page itself made.
 */
export function watch({ database, signal, shown, onCount, onRows }) {
  let total = 0;
  /** @type {Set<string>} */
  const ids = new Set();
  /** @type {Set<string>} */
  const own = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const tell = async () => {
    timer = undefined;
    onCount(total);
    const inList = shown();
    const stale = [...ids].filter((id) => inList.has(id)).slice(0, MOST);
    ids.clear();
    if (!stale.length) return;
    try {
      const rows = await rowsOf(database, stale, { signal, query: { include_docs: true } });
      if (signal.aborted) return;
      onRows(rows.map(({ value, doc }, at) =>
        ({ id: stale[at], rev: value?.rev ?? "", doc: doc ?? null })));
    } catch { /* The count stays, and the next change tries again. */ }
  };
  followChanges(database, {
    signal,
    onChange: ({ id, changes }) => {
      ids.add(id);
      if (!own.delete(changes[0]?.rev)) total += 1;
      timer ??= setTimeout(tell, PAUSE);
    },
  });
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return {
    ignore: (revs) => { for (const rev of revs) own.add(rev); },
    reset: () => { total = 0; onCount(0); },
  };
}
