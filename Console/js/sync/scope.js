// SPDX-License-Identifier: Apache-2.0

import { databaseInfo, find } from "../api/couch.js";
import { readChanges } from "../api/changes.js";
import { api, path } from "../api/client.js";
import { readExact } from "../api/exact.js";
import { plain } from "../components/json-text.js";
import { changesRequest } from "../live/filters.js";

/**
 * Which documents of its source a replication sends.
 *
 * @typedef {import("../live/filters.js").Choice & { docIDs?: string[] }} Scope
 */

/** So many changes or documents are asked for at once, and so many are counted at most. */
const PAGE = 2000, MOST = 50_000, SAMPLE = 5;
/** A function is slow, perhaps milliseconds for each document: small pages show sooner how far it is. */
const FUNCTION_PAGE = 100;

/**
 * @param {any} document Of `_replicator`, a value of `parseExact`; null for one that is not known.
 * @returns {Scope}
 */
export const scopeOfDocument = (document) => ({
  docIDs: Array.isArray(document?.doc_ids)
    ? document.doc_ids.map((/** @type {any} */ one) => plain(String(one))) : undefined,
  filter: document?.filter, parameters: document?.query_params, selector: document?.selector,
});

/**
 * Changes of a database within a scope, a page of them.
 *
 * @param {string} database
 * @param {Scope} scope
 * @param {Record<string, any>} query
 * @param {AbortSignal} signal
 * @returns {Promise<{ results: any[], last_seq: any }>}
 */
export function changesWithin(database, scope, query, signal) {
  const asked = scope.docIDs ? { query: { filter: "_doc_ids" }, body: { doc_ids: scope.docIDs } }
    : changesRequest(scope);
  return readChanges(database, asked, query, signal);
}

/**
 * All changes within a scope, page by page.
 *
 * @param {string} database
 * @param {Scope} scope
 * @param {Record<string, any>} query
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<any[]>}
 */
export async function* allChanges(database, scope, query, signal) {
  const limit = scope.filter ? FUNCTION_PAGE : PAGE;
  for (let since = /** @type {any} */ (query.since ?? 0); ;) {
    const { results, last_seq } = await changesWithin(database, scope, { ...query, since, limit }, signal);
    if (results.length) yield results;
    if (results.length < limit) return;
    since = last_seq;
  }
}

/**
 * What a replication would send: how many documents, and the first of them.
 *
 * @typedef {{ count: number, isMore: boolean, deleted: number, missing: number, sample: any[] }} Preview
 *
 * @param {string} database
 * @param {Scope} scope
 * @param {AbortSignal} signal
 * @param {(count: number) => void} onCount
 * @returns {Promise<Preview>}
 */
export async function preview(database, scope, signal, onCount) {
  const result = { count: 0, isMore: false, deleted: 0, missing: 0, sample: /** @type {any[]} */ ([]) };
  if (scope.selector) {
    const { selector } = scope;
    result.sample = (await find(database, { selector, limit: SAMPLE }, { signal })).docs;
    for (let bookmark = /** @type {string | undefined} */ (undefined); result.count < MOST;) {
      const page = await find(database, { selector, fields: ["_id"], limit: PAGE, bookmark }, { signal });
      onCount(result.count += page.docs.length);
      if (page.docs.length < PAGE) return result;
      bookmark = page.bookmark;
    }
    return { ...result, isMore: true };
  }
  /** @type {string[]} */
  let ids = [];
  if (scope.docIDs || scope.filter) {
    for await (const results of allChanges(database, scope, {}, signal)) {
      const live = results.filter((change) => !change.deleted);
      result.deleted += results.length - live.length;
      onCount(result.count += live.length);
      if (ids.length < SAMPLE) ids = [...ids, ...live.map((change) => change.id)].slice(0, SAMPLE);
      if (result.count >= MOST) { result.isMore = true; break; }
    }
    result.missing = scope.docIDs ? scope.docIDs.length - result.count - result.deleted : 0;
  } else {
    const info = await databaseInfo(database, { signal });
    result.count = info.doc_count;
    result.deleted = info.doc_del_count;
  }
  const body = ids.length ? { keys: ids } : { limit: scope.docIDs || scope.filter ? 0 : SAMPLE };
  const { rows } = await readExact("POST", path(database, "_all_docs"), { body: { ...body, include_docs: true },
    signal });
  result.sample = rows.map((/** @type {any} */ row) => row.doc).filter(Boolean);
  return result;
}

/**
 * The documents that a target lacks of what a source has within a scope, by their revisions. Nothing is written.
 *
 * @typedef {{ id: string, revs: string[], isDeleted: boolean }} Missing
 *
 * @param {string} source
 * @param {string} target
 * @param {Scope} scope
 * @param {{
 *   signal: AbortSignal, winnersOnly: boolean, onProgress: (compared: number, missing: number) => void,
 * }} options
 * @returns {Promise<{ compared: number, missing: Missing[] }>}
 */
export async function compare(source, target, scope, { signal, winnersOnly, onProgress }) {
  let compared = 0;
  /** @type {Missing[]} */
  const missing = [];
  for await (const results of allChanges(source, scope, { style: winnersOnly ? "main_only" : "all_docs" }, signal)) {
    const asked = Object.fromEntries(results.map((change) =>
      [change.id, change.changes.map((/** @type {any} */ one) => one.rev)]));
    const lacking = await api.post(path(target, "_revs_diff"), asked, { signal });
    for (const change of results) {
      if (lacking[change.id]) missing.push({ id: change.id, revs: lacking[change.id].missing,
        isDeleted: change.deleted === true });
    }
    onProgress(compared += results.length, missing.length);
  }
  return { compared, missing };
}
