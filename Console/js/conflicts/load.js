// SPDX-License-Identifier: Apache-2.0

import { getDocument } from "../api/couch.js";
import { path } from "../api/client.js";
import { readExact } from "../api/exact.js";
import { plain } from "../components/json-text.js";
import { get, isEqual, keysOf, merge3, set } from "../core/merge.js";
import { pathOf } from "../core/revision.js";

/**
 * @typedef {{ id: string, rev: string, conflicts: string[] }} Row A document, its winner, and its other live leaves.
 *
 * @typedef {object} Conflict
 * @property {string} id
 * @property {any[]} sides The bodies of the live leaves with `_rev` and `_revisions`; the winner is the first.
 * @property {any} base The body of their latest common ancestor; undefined if the server does not have it.
 *
 * @typedef {object} Property One that the sides do not agree on.
 * @property {string} key
 * @property {any[]} values
 * @property {any} base
 * @property {any} merged
 * @property {boolean} isDisputed
 */

/**
 * The row of one document; null if it has no conflict.
 *
 * @param {string} database
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Row | null>}
 */
export async function rowOf(database, id, signal) {
  const { _rev, _conflicts } = await getDocument(database, id, { conflicts: true }, { signal });
  return _conflicts?.length ? { id, rev: _rev, conflicts: _conflicts } : null;
}

/**
 * Reads all sides of conflicts and their ancestors, by two requests, as values of `parseExact`. A conflict of which
 * the server does not give every side is left out: what was not read must not be deleted.
 *
 * @param {string} database
 * @param {Row[]} rows
 * @param {AbortSignal} [signal]
 * @returns {Promise<Conflict[]>}
 */
export async function loadConflicts(database, rows, signal) {
  const wanted = rows.flatMap(({ id, rev, conflicts }) => [rev, ...conflicts].map((one) => ({ id, rev: one })));
  const leaves = await bodies(database, wanted, signal);
  const found = rows.flatMap(({ id, rev, conflicts }) => {
    const sides = [rev, ...conflicts].flatMap((one) => leaves.get(id + one) ?? []);
    return conflicts.length && sides.length === conflicts.length + 1 ? [{ id, sides, rev: ancestor(sides) }] : [];
  });
  const bases = await bodies(database, found.flatMap(({ id, rev }) => rev ? [{ id, rev }] : []), signal);
  return found.map(({ id, sides, rev }) => ({ id, sides, base: bases.get(id + rev) }));
}

/**
 * @param {string} database
 * @param {{ id: string, rev: string }[]} docs
 * @param {AbortSignal} [signal]
 * @returns {Promise<Map<string, any>>} By ID and revision.
 */
async function bodies(database, docs, signal) {
  if (!docs.length) return new Map();
  const { results } = await readExact("POST", path(database, "_bulk_get"),
    { body: { docs }, query: { revs: true }, signal });
  return new Map(results.flatMap((/** @type {any} */ result) => result.docs)
    .flatMap((/** @type {any} */ { ok }) => ok ? [[plain(ok._id) + ok._rev, ok]] : []));
}

/**
 * The latest revision in the histories of all sides.
 *
 * @param {any[]} sides
 * @returns {string | undefined}
 */
function ancestor(sides) {
  const [first, ...others] = sides.map(pathOf);
  return first.find((rev) => others.every((one) => one.includes(rev)));
}

/**
 * What a user wrote of a document: its own properties, and the attachments without what a server adds.
 *
 * @param {any} doc
 * @returns {any}
 */
export function contentOf(doc) {
  if (doc === undefined) return undefined;
  const content = {};
  for (const key of Object.keys(doc)) {
    if (!key.startsWith("_")) set(content, key, doc[key]);
    else if (key === "_attachments") {
      const stubs = structuredClone(doc[key]);
      for (const name of Object.keys(stubs)) delete stubs[name].revpos;
      set(content, key, stubs);
    }
  }
  return content;
}

/**
 * Merges all sides. Without the ancestor each property that differs is disputed, since it is unknown which side
 * changed it.
 *
 * @param {Conflict} conflict
 * @returns {{ merged: any, properties: Property[], equal: number }}
 */
export function mergeSides({ sides, base }) {
  const contents = sides.map(contentOf), root = contentOf(base);
  /** @type {Set<any>} */
  const disputed = new Set();
  let merged = contents[0];
  for (const content of contents.slice(1)) {
    const result = merge3(root, merged, content);
    for (const one of result.conflicts) disputed.add(one.path[0]);
    merged = result.merged;
  }
  const keys = keysOf(...contents);
  const differs = (/** @type {string} */ key) => contents.some((one) => !isEqual(get(one, key), get(contents[0], key)));
  const properties = keys.filter(differs).map((key) => ({
    key, values: contents.map((one) => get(one, key)), base: get(root, key), merged: get(merged, key),
    isDisputed: base === undefined || disputed.has(key),
  }));
  return { merged, properties, equal: keys.length - properties.length };
}
