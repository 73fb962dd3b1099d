// SPDX-License-Identifier: Apache-2.0

import { api, documentPath, path } from "../api/client.js";
import { explain, find } from "../api/couch.js";
import { isDivan } from "../api/server.js";
import { sizeOf } from "./designs.js";

/**
 * The indexes of a database in one list, whatever API they were made by.
 *
 * @typedef {object} Index
 * @property {"json" | "text" | "view" | "search"} kind
 * @property {string} design The ID of its design document.
 * @property {string} name
 * @property {{ name: string, order?: string }[]} fields Of JSON and text indexes.
 * @property {any} filter Its partial filter, if it has one.
 * @property {string} map The function of a view or a search index.
 * @property {string} reduce
 * @property {number | null} size
 * @property {number | null} pending How many changes it lacks; null when the server does not say.
 * @property {boolean} isUpdating
 * @property {number} group How many indexes share its size and state, as those of a design document do.
 */

/** @type {Record<Index["kind"], string>} */
export const KINDS = { json: "JSON", text: "Text", view: "View", search: "Search" };

/**
 * @param {any[]} listed What `_index` lists.
 * @param {import("./designs.js").Design[]} designs
 * @returns {Index[]}
 */
export function indexesOf(listed, designs) {
  return designs.flatMap((design) => {
    const { doc, info, searches } = design;
    const declared = listed.filter((one) => one.ddoc === design.id);
    const names = { view: Object.keys(doc.views ?? {}).filter((name) => name !== "lib"),
      search: Object.keys(doc.indexes ?? {}) };
    // A Divan counts the JSON indexes elsewhere: what it says of their design document is of no view.
    const isTold = doc.language !== "query" || !isDivan();
    const views = names.view.map((name) => make(declared.find((one) => one.type === "json" && one.name === name), {
      kind: "view", design: design.id, name, map: text(doc.views[name].map), reduce: text(doc.views[name].reduce),
      size: isTold ? info?.sizes?.file ?? null : null, pending: isTold ? pendingOf(info) : null,
      isUpdating: Boolean(info?.updater_running), group: names.view.length,
    }));
    const texts = names.search.map((name) => make(declared.find((one) => one.type === "text" && one.name === name), {
      kind: "search", design: design.id, name, map: text(doc.indexes[name].index), reduce: "", group: 1,
      size: searches[name] ? sizeOf({ ...design, info: null, searches: { [name]: searches[name] } }) : null,
      pending: searches[name] ? Math.max(0, (searches[name].pending_seq ?? 0) - (searches[name].committed_seq ?? 0))
        : null, isUpdating: false,
    }));
    return [...views, ...texts];
  }).sort((a, b) => KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind)
    || (a.design + a.name < b.design + b.name ? -1 : 1));
}

const KIND_ORDER = Object.keys(KINDS);

/**
 * An index of a design document, which `_index` may list, too: then it has fields in place of functions.
 *
 * @param {any} declared
 * @param {Omit<Index, "fields" | "filter">} base
 * @returns {Index}
 */
function make(declared, base) {
  const { fields, partial_filter_selector, selector } = declared?.def ?? {};
  const filter = partial_filter_selector ?? selector ?? {};
  return {
    ...base, kind: declared ? declared.type : base.kind, filter: Object.keys(filter).length ? filter : null,
    fields: (Array.isArray(fields) ? fields : []).map((/** @type {any} */ field) => {
      const [name, order] = typeof field === "string" ? [field, "asc"] : Object.entries(field)[0];
      return { name, order: String(order) };
    }),
  };
}

/** @param {any} value */
function text(value) { return typeof value === "string" ? value : ""; }

/** @param {any} info */
function pendingOf(info) {
  const pending = info?.updates_pending;
  return pending?.total ?? pending?.minimum ?? null;
}

/**
 * Has the server bring an index up to date, by asking it for next to nothing. Answers when that is done.
 *
 * @param {string} database
 * @param {Index} index
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export function update(database, index, signal) {
  const base = documentPath(database, index.design);
  if (index.kind === "view") return api.get(base + path("_view", index.name),
    { query: { limit: 0, reduce: false, update: "true" }, signal });
  if (index.kind === "search") return api.get(base + path("_search", index.name),
    { query: { q: "*:*", limit: 1 }, signal });
  return find(database, { selector: selectorFor(index), use_index: [index.design, index.name], fields: ["_id"],
    limit: 1 }, { signal });
}

/**
 * A query that the index could serve: of all documents that have its fields.
 *
 * @param {Index} index
 * @returns {any}
 */
function selectorFor(index) {
  if (index.kind === "text") return { $text: "divan" };
  return { ...index.filter, ...Object.fromEntries(index.fields.map((field) => [field.name, { $gt: null }])) };
}

/**
 * Whether `_find` would choose a JSON index for a query of exactly its fields, and what it chooses otherwise. No
 * server counts the uses of an
 * index, so this is what can be known.
 *
 * @param {string} database
 * @param {Index} index
 * @param {AbortSignal} signal
 * @returns {Promise<{ isChosen: boolean, other: string }>}
 */
export async function choice(database, index, signal) {
  const { index: chosen } = await explain(database, { selector: selectorFor(index) }, { signal });
  return { isChosen: chosen.ddoc === index.design && chosen.name === index.name, other: chosen.name };
}

/**
 * @param {Index} index
 * @param {any[]} now What the index is made of now.
 * @param {any[]} shown What it was made of when it was listed.
 */
function check({ name }, now, shown) {
  if (JSON.stringify(now) === JSON.stringify(shown)) return;
  throw new Error(`${name} was changed meanwhile, so it is not deleted. Refresh the list, then look at it.`);
}

/**
 * Deletes an index; throws when it is no longer the one that the list shows.
 *
 * @param {string} database
 * @param {Index} index
 * @returns {Promise<any>}
 */
export async function remove(database, index) {
  if (index.kind === "json" || index.kind === "text") {
    const { indexes } = await api.get(path(database, "_index"));
    const { fields, filter } = make(indexes.find((/** @type {any} */ one) => one.ddoc === index.design
      && one.type === index.kind && one.name === index.name), index);
    check(index, [fields, filter], [index.fields, index.filter]);
    return api.delete(path(database, "_index", index.design.replace("_design/", ""), index.kind, index.name));
  }
  // A view or a search index is a member of its design document, which goes with the last one unless it does something
  // else.
  const address = documentPath(database, index.design);
  const doc = await api.get(address);
  const member = index.kind === "view" ? "views" : "indexes";
  const { map, index: search, reduce } = doc[member]?.[index.name] ?? {};
  check(index, [text(map ?? search), text(reduce)], [index.map, index.reduce]);
  delete doc[member]?.[index.name];
  if (doc[member] && !Object.keys(doc[member]).length) delete doc[member];
  const isEmpty = Object.keys(doc).every((key) => ["_id", "_rev", "language", "options", "autoupdate"].includes(key));
  return isEmpty ? api.delete(address, { query: { rev: doc._rev } }) : api.put(address, doc);
}
