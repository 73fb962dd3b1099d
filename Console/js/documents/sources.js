// SPDX-License-Identifier: Apache-2.0

import { path, send } from "../api/client.js";
import { designDocuments, designName } from "../api/couch.js";
import { stringifyExact } from "../components/json-text.js";

/**
 * The three sources of a list: all documents by ID, those that a selector finds, those that a full-text query finds.
 *
 * @typedef {import("./pages.js").Source} Source
 * @typedef {import("./pages.js").Row} Row
 */

const SIZE = 100;
/** Rows of a request that scans everything. */
const SCAN = 1000;
/** The last of all IDs that begin with a prefix ends so. */
const LAST = "\u{10FFFF}";
const DESIGN = "_design/", AFTER_DESIGN = "_design0";

/**
 * An answer with its length, by which the cache is bounded.
 *
 * @param {string} method
 * @param {string} where
 * @param {import("../api/client.js").Options & { body?: any }} options
 * @returns {Promise<{ answer: any, bytes: number, milliseconds: number }>}
 */
async function read(method, where, options) {
  const start = performance.now();
  const text = await (await send(method, where, options)).text();
  return { answer: JSON.parse(text), bytes: text.length, milliseconds: performance.now() - start };
}

/** @param {any} row */
const asRow = (row) => ({ id: row.id, rev: row.value?.rev ?? "", doc: row.doc ?? null });
/** @param {any} doc */
const docAsRow = (doc) => ({ id: doc._id, rev: doc._rev, doc });

/**
 * Documents by ID.
 *
 * A page is read from the nearest known place: the first ID of a page read before, or an end of the list.
 * So scrolling skips nothing, and only a jump makes the server count. Hidden design documents are taken out of each
 * answer. They lie together somewhere in the list, so a page behind them is shifted by `designs`, their number.
 *
 * @param {object} options
 * @param {string} options.database
 * @param {string} [options.prefix]
 * @param {boolean} [options.withBodies]
 * @param {number} [options.designs] How many design documents are hidden: 0 shows them.
 * @returns {Source}
 */
export function allSource({ database, prefix = "", withBodies = true, designs = 0 }) {
  /** @type {Map<number, string>} */
  const firstIDs = new Map();
  /** @type {number | null | undefined} */
  let total = undefined;
  const where = path(database, "_all_docs");
  const low = prefix ? JSON.stringify(prefix) : undefined;
  const high = prefix ? JSON.stringify(prefix + LAST) : undefined;

  /**
   * Where an ID would stand among all, which not every server says.
   *
   * @param {string} key
   * @param {AbortSignal} signal
   */
  const offset = async (key, signal) => {
    const { answer } = await read("GET", where, { signal, query: { startkey: key, limit: 1 } });
    return answer.rows.length ? answer.offset ?? null : answer.total_rows;
  };

  /** @param {AbortSignal} signal */
  const countPrefix = async (signal) => {
    if (!low || !high) return null;
    const [from, to] = await Promise.all([offset(low, signal), offset(high, signal)]);
    return from === null || to === null ? null : to - from;
  };

  /**
   * The shortest way to a page.
   *
   * @param {number} page
   */
  const plan = (page) => {
    const from = page * SIZE, to = Math.min(from + SIZE, total ?? Infinity);
    let best = { key: low, skip: from, descending: false, after: "" };
    if (total !== null && total !== undefined && total - to < best.skip) {
      best = { key: high, skip: Math.max(0, total - to), descending: true, after: LAST };
    }
    for (const [known, id] of firstIDs) {
      const descending = known > page;
      const skip = descending ? known * SIZE - to + 1 : (page - known) * SIZE;
      if (skip < best.skip) best = { key: JSON.stringify(id), skip, descending, after: id };
    }
    return { ...best, length: to - from };
  };

  return {
    size: SIZE, isSequential: false,
    async load(page, signal) {
      if (prefix && total === undefined) total = await countPrefix(signal);
      const { key, skip, descending, after, length } = plan(page);
      const { answer, bytes, milliseconds } = await read("GET", where, { signal, query: {
        include_docs: withBodies, limit: length + designs, skip: skip || undefined, descending: descending || undefined,
        startkey: key, endkey: descending ? low : high,
      } });
      const found = answer.rows.filter((/** @type {any} */ row) => !designs || !row.id.startsWith(DESIGN));
      const isBehind = (/** @type {string} */ id) => descending ? id < AFTER_DESIGN : id >= DESIGN;
      // Rows were skipped from before the design documents to behind them: as many were too few.
      const passed = designs && answer.rows.length && isBehind(answer.rows[0].id) && !isBehind(after)
        ? designs - (answer.rows.length - found.length) : 0;
      const rows = found.slice(passed, passed + length).map(asRow);
      if (descending) rows.reverse();
      if (rows.length) firstIDs.set(page, rows[0].id);
      if (!prefix) total ??= answer.total_rows - designs;
      const isLast = total === null || total === undefined ? rows.length < SIZE : (page + 1) * SIZE >= total;
      return { rows, bytes, total: total ?? null, isLast, info: { milliseconds } };
    },
    async *scan(signal, bodies) {
      /** @type {string | undefined} */
      let last;
      for (;;) {
        const { answer } = await read("GET", where, { signal, query: {
          include_docs: bodies, limit: SCAN, startkey: last === undefined ? low : JSON.stringify(last), endkey: high,
        } });
        // The last one comes again, unless it has been deleted since then: skipping one row would lose another.
        const rows = answer.rows.filter((/** @type {any} */ { id }) =>
          id !== last && !(designs && id.startsWith(DESIGN)));
        yield rows.map(asRow);
        if (answer.rows.length < SCAN) return;
        last = answer.rows[answer.rows.length - 1].id;
      }
    },
  };
}

/**
 * A source whose pages are named by bookmarks, each in the answer before.
 *
 * @typedef {import("./pages.js").Page & { bookmark: string }} MarkedPage
 *
 * @param {(bookmark: string | undefined, limit: number, signal: AbortSignal) => Promise<MarkedPage>} ask
 * @param {number} most Rows of the largest answer.
 * @returns {Source}
 */
function bookmarked(ask, most) {
  /** @type {(string | undefined)[]} */
  const bookmarks = [undefined];
  return {
    size: SIZE, isSequential: true,
    async load(page, signal) {
      const result = await ask(bookmarks[page], SIZE, signal);
      bookmarks[page + 1] = result.bookmark;
      return result;
    },
    async *scan(signal) {
      /** @type {string | undefined} */
      let bookmark;
      for (;;) {
        const result = await ask(bookmark, most, signal);
        yield result.rows;
        if (result.isLast || result.bookmark === bookmark) return;
        bookmark = result.bookmark;
      }
    },
  };
}

/**
 * Documents that a selector finds.
 *
 * @param {string} database
 * @param {Record<string, any>} request A value of `parseExact`.
 * @returns {Source}
 */
export function findSource(database, request) {
  return bookmarked(async (bookmark, limit, signal) => {
    const { answer, bytes, milliseconds } = await read("POST", path(database, "_find"), {
      signal, headers: { "Content-Type": "application/json" },
      body: stringifyExact({ ...request, limit, bookmark, execution_stats: true }),
    });
    const stats = answer.execution_stats;
    return {
      rows: answer.docs.map(docAsRow), bytes, total: null,
      isLast: answer.docs.length < limit, bookmark: answer.bookmark,
      info: {
        milliseconds: stats?.execution_time_ms ?? milliseconds, examined: stats?.total_docs_examined,
        warning: answer.warning,
      },
    };
  }, SCAN);
}

/**
 * Documents that a full-text query finds, the best first.
 *
 * @param {string} database
 * @param {{ design: string, index: string }} index
 * @param {string} q
 * @returns {Source}
 */
export function searchSource(database, { design, index }, q) {
  return bookmarked(async (bookmark, limit, signal) => {
    const { answer, bytes, milliseconds } = await read("GET", path(database, "_design", design, "_search", index), {
      signal, query: { q, limit, bookmark, include_docs: true },
    });
    const rows = answer.rows.map((/** @type {any} */ row) => docAsRow(row.doc ?? { _id: row.id, _rev: "" }));
    return {
      rows, bytes, total: answer.total_rows, isLast: answer.rows.length < limit,
      bookmark: answer.bookmark, info: { milliseconds },
    };
  }, SIZE);
}

/**
 * The design documents of a database, and the full-text indexes in them.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<{ designs: number, indexes: { design: string, index: string, isFind: boolean }[] }>}
 */
export async function readDesigns(database, signal) {
  const docs = await designDocuments(database, signal);
  const indexes = docs.flatMap((doc) => Object.keys(doc.indexes ?? {}).map((index) => (
    { design: designName(doc), index, isFind: doc.language === "query" })));
  return { designs: docs.length, indexes };
}
