// SPDX-License-Identifier: Apache-2.0

import { api, documentPath, path } from "../api/client.js";
import { allDocuments, designName } from "../api/couch.js";
import { readExact, writeExactly } from "../api/exact.js";
import { isDivan } from "../api/server.js";
import { directed } from "../core/json.js";
import { sequenceNumber } from "../core/revision.js";

/**
 * The indexes of a database in one list, whatever API they were made by.
 *
 * @typedef {object} Index
 * @property {"json" | "text" | "view" | "search" | "nouveau"} kind
 * @property {boolean} isFunction Whether it is made by a function of its design document rather than by `_index`.
 * @property {boolean} isPartitioned Whether only queries of one partition use it.
 * @property {string} design The ID of its design document.
 * @property {string} name
 * @property {{ name: string, order: string }[]} fields Of those made by `_index`.
 * @property {any} filter Its partial filter, if it has one.
 * @property {string} map The function of a view or a search index.
 * @property {string} reduce
 * @property {number | null} size
 * @property {number | null} pending How many changes it lacks; null when the server does not say.
 * @property {boolean} isUpdating
 * @property {number} group How many indexes share its size and state, as those of a design document do.
 */

/** @type {Record<Index["kind"], string>} */
export const KINDS = { json: "JSON", text: "Text", view: "View", search: "Search", nouveau: "Nouveau" };

/** Where a design document has indexes of a kind. */
const MEMBERS = { view: "views", search: "indexes", nouveau: "nouveau" };

/**
 * @param {any[]} listed What `_index` lists.
 * @param {import("./designs.js").Design[]} designs
 * @param {import("../api/couch.js").DatabaseInfo} database
 * @returns {Index[]}
 */
export function indexesOf(listed, designs, database) {
  return designs.flatMap(({ id, doc, info, searches }) => {
    const declared = listed.filter((one) => one.ddoc === id);
    const views = Object.keys(doc.views ?? {}).filter((name) => name !== "lib");
    // A Divan counts the JSON indexes elsewhere: what it says of their design document is of no view.
    const isTold = doc.language !== "query" || !isDivan();
    const isPartitioned = Boolean(database.props?.partitioned) && doc.options?.partitioned !== false;
    const base = { design: id, isPartitioned };
    return [...views.map((name) => make(declared.find((one) => one.type === "json" && one.name === name), {
      ...base, kind: "view", name, map: text(doc.views[name].map), reduce: text(doc.views[name].reduce),
      size: isTold ? info?.sizes?.file ?? null : null, pending: isTold ? pendingOf(info) : null,
      isUpdating: Boolean(info?.updater_running), group: views.length,
    })), .../** @type {const} */ (["search", "nouveau"]).flatMap((kind) =>
      Object.entries(doc[MEMBERS[kind]] ?? {}).map(([name, index]) => {
        const told = searches[`${MEMBERS[kind]}/${name}`];
        return make(declared.find((one) => one.type !== "json" && one.name === name), {
          ...base, kind, name, map: text(index.index), reduce: "", group: 1, isUpdating: false,
          size: told ? told.disk_size ?? 0 : null,
          pending: told ? Math.max(0, kind === "nouveau" ? sequenceNumber(database.update_seq) - told.update_seq
            : (told.pending_seq ?? 0) - (told.committed_seq ?? 0)) : null,
        });
      }))];
  }).sort((a, b) => KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind)
    || (a.design + a.name < b.design + b.name ? -1 : 1));
}

const KIND_ORDER = Object.keys(KINDS);

/**
 * An index of a design document, which `_index` may list, too: then it has fields in place of functions.
 *
 * @param {any} declared
 * @param {Omit<Index, "fields" | "filter" | "isFunction">} base
 * @returns {Index}
 */
function make(declared, base) {
  const { fields, partial_filter_selector, selector } = declared?.def ?? {};
  const filter = partial_filter_selector ?? selector ?? {};
  return {
    ...base, kind: declared?.type ?? base.kind, isFunction: !declared,
    filter: Object.keys(filter).length ? filter : null,
    fields: directed(fields).map(([name, order]) => ({ name, order })),
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
 * The name of a partition of a database, the one that its first document is in; "" if it has no documents.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function somePartition(database, signal) {
  // The design documents lie together, so that one end of the list is of another document.
  const ends = await Promise.all([false, true].map((descending) =>
    allDocuments(database, { limit: 1, descending }, { signal })));
  const row = ends.flatMap(({ rows }) => rows).find(({ id }) => !id.startsWith("_design/"));
  return row ? row.id.slice(0, row.id.indexOf(":")) : "";
}

/**
 * Has the server bring an index up to date, by asking it for next to nothing. Answers when that is done.
 *
 * @param {string} database
 * @param {Index} index
 * @param {string} partition The one that is asked where queries must name one.
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function update(database, index, partition, signal) {
  if (index.isPartitioned && !partition) {
    throw new Error("Queries of this index name a partition, and the database has no document in one yet.");
  }
  const base = placeOf(database, index, partition), design = path("_design", designName({ _id: index.design }));
  if (!index.isFunction) return api.post(`${base}/_find`, { selector: selectorFor(index),
    use_index: [index.design, index.name], fields: ["_id"], limit: 1 }, { signal });
  return api.get(base + design + path(`_${index.kind}`, index.name), { signal, query: index.kind === "view"
    ? { limit: 0, reduce: false, update: "true" } : { q: "*:*", limit: 1 } });
}

/**
 * @param {string} database
 * @param {Index} index
 * @param {string} partition
 */
const placeOf = (database, { isPartitioned }, partition) =>
  isPartitioned ? path(database, "_partition", partition) : path(database);

/**
 * A query that the index could serve: of all documents that have its fields.
 *
 * @param {Index} index
 * @returns {any}
 */
function selectorFor(index) {
  if (index.kind !== "json") return { $text: "divan" };
  return { ...index.filter, ...Object.fromEntries(index.fields.map((field) => [field.name, { $gt: null }])) };
}

/**
 * Whether `_find` would choose a JSON index for a query of exactly its fields, and what it chooses otherwise. No
 * server counts the uses of an index, so this is what can be known.
 *
 * @param {string} database
 * @param {Index} index
 * @param {string} partition
 * @param {AbortSignal} signal
 * @returns {Promise<{ isChosen: boolean, other: string }>}
 */
export async function choice(database, index, partition, signal) {
  const { index: chosen } = await api.post(`${placeOf(database, index, partition)}/_explain`,
    { selector: selectorFor(index) }, { signal });
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
  if (!index.isFunction) {
    const { indexes } = await api.get(path(database, "_index"));
    const { fields, filter } = make(indexes.find((/** @type {any} */ one) => one.ddoc === index.design
      && one.type === index.kind && one.name === index.name), index);
    check(index, [fields, filter], [index.fields, index.filter]);
    return api.delete(path(database, "_index", designName({ _id: index.design }), index.kind, index.name));
  }
  // A view or a search index is a member of its design document, which goes with the last one unless it does something
  // else.
  const address = documentPath(database, index.design);
  const doc = await readExact("GET", address), member = MEMBERS[/** @type {keyof MEMBERS} */ (index.kind)];
  const { map, index: search, reduce } = doc[member]?.[index.name] ?? {};
  check(index, [text(map ?? search), text(reduce)], [index.map, index.reduce]);
  delete doc[member]?.[index.name];
  if (doc[member] && !Object.keys(doc[member]).length) delete doc[member];
  const isEmpty = Object.keys(doc).every((key) => ["_id", "_rev", "language", "options", "autoupdate"].includes(key));
  return isEmpty ? api.delete(address, { query: { rev: doc._rev } }) : writeExactly("PUT", address, doc);
}
