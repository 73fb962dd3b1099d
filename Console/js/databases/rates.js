// SPDX-License-Identifier: Apache-2.0

import { lines } from "../api/client.js";
import { allDatabases, databaseInfos } from "../api/couch.js";
import { sequenceNumber } from "../core/revision.js";
import { pause, poll, whileShown } from "../core/waiting.js";

/**
 * Keeps the rows of databases up to date, and measures how many changes a second each has.
 *
 * The rate is the difference of a database's sequence numbers. Where `_db_updates` may be read, it tells which
 * databases have changed, and only these are asked for; otherwise those in sight are, and some others in turn, and the
 * list of databases is read again now and then.
 *
 * @typedef {import("./row.js").Row} Row
 */

const EVERY = 2000;
/** How many rates a row keeps. */
export const REMEMBERED = 30;
const IN_TURN = 50;
/** How long a list of databases is good for, in milliseconds: at least, and for each of them. */
const LISTED = { least: 10_000, each: 2 };

/**
 * Follows until the signal aborts.
 *
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {() => Map<string, Row>} options.rows
 * @param {() => string[]} options.inSight
 * @param {(rows: Row[]) => void} options.onUpdate
 * @param {() => void} options.onList Databases have come or gone.
 */
export function followRates({ signal, rows, inSight, onUpdate, onList }) {
  /** @type {Set<string>} */
  const changed = new Set();
  const feed = { isLive: false };
  const look = () => lookAgain(rows, onList, signal);
  followUpdates(feed, changed, { signal, onList, look });
  poll(signal, Math.max(LISTED.least, rows().size * LISTED.each), () => feed.isLive ? null : look());
  measure(feed, changed, { signal, rows, inSight, onUpdate, onList });
}

/**
 * Reads the list of databases, and tells if it is another one.
 *
 * @param {() => Map<string, Row>} rows
 * @param {() => void} onList
 * @param {AbortSignal} signal
 */
async function lookAgain(rows, onList, signal) {
  try {
    const names = await allDatabases({ signal }), known = rows();
    if (names.length !== known.size || names.some((name) => !known.has(name))) onList();
  } catch { /* The next look may tell. */ }
}

/**
 * @param {{ isLive: boolean }} feed
 * @param {Set<string>} changed
 * @param {{ signal: AbortSignal, onList: () => void, look: () => void }} options
 */
async function followUpdates(feed, changed, { signal, onList, look }) {
  while (!signal.aborted) {
    try {
      await whileShown(signal, async (round) => {
        const query = { feed: "continuous", since: "now", heartbeat: 10000 };
        // What came and went before the feed was open is not in it.
        const onOpen = () => { feed.isLive = true; look(); };
        const updates = lines("/_db_updates", { signal: round, query, onOpen });
        for await (const update of updates) {
          if (update.type === "created" || update.type === "deleted") onList();
          else if (update.db_name) changed.add(update.db_name);
        }
      });
    } catch (error) {
      // A CouchDB without `_global_changes`, or a user who may not read it: asking again would not help.
      const { status } = /** @type {any} */ (error);
      if (status >= 400 && status < 500) { feed.isLive = false; return; }
    }
    feed.isLive = false;
    await pause(3000, signal);
  }
}

/**
 * @param {{ isLive: boolean }} feed
 * @param {Set<string>} changed
 * @param {Parameters<typeof followRates>[0]} options
 */
async function measure(feed, changed, { signal, rows, inSight, onUpdate, onList }) {
  let turn = 0, wasLive = false;
  for (;;) {
    await pause(EVERY, signal);
    if (signal.aborted) return;
    if (document.hidden) continue;
    const all = [...rows().values()];
    /** @type {string[]} */
    let names;
    if (feed.isLive && wasLive) {
      names = [...changed];
    } else {
      names = [...new Set([...inSight(), ...all.slice(turn, turn + IN_TURN).map((row) => row.name)])];
      turn = turn + IN_TURN < all.length ? turn + IN_TURN : 0;
    }
    const isWhole = feed.isLive && wasLive;
    wasLive = feed.isLive;
    changed.clear();
    names = names.filter((name) => rows().has(name));
    try {
      const infos = names.length ? await databaseInfos(names, { signal }) : [];
      if (infos.includes(null)) onList();
      const asked = new Map(names.map((name, index) => [name, infos[index]]));
      onUpdate(all.filter((row) => (asked.has(row.name) || isWhole) && note(row, asked.get(row.name) ?? row.info)));
    } catch { if (signal.aborted) return; }
  }
}

/**
 * Takes what is new about a database into its row.
 *
 * @param {Row} row
 * @param {Row["info"]} info
 * @returns {boolean} Whether the row looks different.
 */
export function note(row, info) {
  const now = performance.now();
  const before = row.info, isFirst = !before;
  row.info = info;
  if (!info) return true;
  if (before && row.askedAt) {
    const changes = Math.max(0, sequenceNumber(info.update_seq) - sequenceNumber(before.update_seq));
    row.rate = changes / Math.max(0.001, (now - row.askedAt) / 1000);
    row.history.push(row.rate);
    if (row.history.length > REMEMBERED) row.history.shift();
  }
  row.askedAt = now;
  return isFirst || row.rate > 0 || row.history.some((rate) => rate > 0) || before?.sizes.file !== info.sizes.file;
}
