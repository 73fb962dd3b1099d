// SPDX-License-Identifier: Apache-2.0

import { ApiError, api, documentPath, path, send } from "../api/client.js";
import { check, format, membersOf, readable, without } from "../components/json-text.js";
import { bytes, plural } from "../core/format.js";
import { isEqual } from "../core/merge.js";

/**
 * Documents as text. What the server keeps beside a document's own properties (`_id`, `_rev`, `_attachments` …) is
 * taken out of the text to edit and put back when it is saved, each as it was written.
 *
 * @typedef {object} Stored
 * @property {string} id
 * @property {string} rev Empty for a document that is not saved yet.
 * @property {string} text The document's own properties.
 * @property {string} attachments The text of `_attachments`, or empty.
 * @property {Record<string, any>} meta The server's properties as values.
 * @property {boolean} isDeleted
 * @property {number} size Bytes of the text as the server writes it.
 */

/** What the console writes by itself. Others, such as `_exp`, are the user's. */
const OWN = new Set([
  "_id", "_rev", "_attachments", "_revisions", "_revs_info", "_conflicts", "_deleted_conflicts", "_local_seq",
]);

/**
 * @param {string} text
 * @returns {Stored}
 */
function stored(text) {
  /** @type {Record<string, any>} */
  const meta = {};
  let attachments = "";
  const kept = [];
  for (const { name, from, valueFrom, to } of membersOf(text)) {
    if (!name.startsWith("_") || name === "__proto__") { kept.push(text.slice(from, to)); continue; }
    const value = text.slice(valueFrom, to);
    meta[name] = JSON.parse(value);
    if (name === "_attachments") attachments = value;
  }
  const body = `{${kept.join(",")}}`;
  return {
    id: meta._id, rev: meta._rev, attachments, meta, isDeleted: meta._deleted === true,
    text: readable(format(body)), size: new Blob([body]).size,
  };
}

/**
 * A document, or one of its revisions.
 *
 * @param {string} database
 * @param {string} id
 * @param {{ rev?: string, attachments?: boolean, signal?: AbortSignal }} options
 * @returns {Promise<Stored>}
 */
export async function load(database, id, { rev, attachments, signal } = {}) {
  const query = { rev, attachments, conflicts: true, revs: true, local_seq: true, show_exp: true };
  return stored(await (await send("GET", documentPath(database, id), { query, signal })).text());
}

/** Attachments of more bytes than these are not carried through the browser. */
const MOST_CARRIED = 16_000_000;

/**
 * A document, or one of its revisions, with the data of its attachments: another document is saved with them, or this
 * one once it is deleted. What is too large is left out.
 *
 * @typedef {Stored & { leftOut: number }} Whole `leftOut`: how many attachments the text is without.
 *
 * @param {string} database
 * @param {string} id
 * @param {{ rev?: string, signal?: AbortSignal }} options
 * @returns {Promise<Whole>}
 */
export async function loadWhole(database, id, { rev, signal } = {}) {
  const lean = await load(database, id, { rev, signal });
  const stubs = Object.values(lean.meta._attachments ?? {});
  if (!stubs.length) return { ...lean, leftOut: 0 };
  const size = stubs.reduce((sum, { length }) => sum + (Number(length) || 0), 0);
  if (size > MOST_CARRIED) return { ...lean, attachments: "", leftOut: stubs.length };
  return { ...await load(database, id, { rev: lean.rev, attachments: true, signal }), leftOut: 0 };
}

/**
 * What is said of attachments that `loadWhole` left out; empty when there are none.
 *
 * @param {number} leftOut
 * @returns {string}
 */
export function leftOutText(leftOut) {
  return leftOut ? `${plural(leftOut, "attachment")} of together more than ${bytes(MOST_CARRIED)} `
    + `${leftOut === 1 ? "is" : "are"} left out: this is too much to copy in the console.` : "";
}

/**
 * The tombstone of a deleted document, with the last body that is still there: its own or its parent's.
 *
 * @param {string} database
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Whole | null>} Null when there is no such document.
 */
export async function loadDeleted(database, id, signal) {
  /** @type {{ ok?: { _rev: string, _deleted?: boolean } }[]} */
  const leaves = await api.get(documentPath(database, id), { query: { open_revs: "all" }, signal });
  const revs = leaves.flatMap(({ ok }) => ok?._deleted ? [ok._rev] : []).sort((a, b) => parseInt(b) - parseInt(a));
  if (!revs.length) return null;
  const tombstone = await loadWhole(database, id, { rev: revs[0], signal });
  const { start, ids } = tombstone.meta._revisions ?? {};
  if (tombstone.text !== "{}" || !ids?.[1]) return tombstone;
  const rev = `${start - 1}-${ids[1]}`;
  const parent = await loadWhole(database, id, { rev, signal }).catch(() => null);
  if (!parent) return tombstone;
  return { ...tombstone, text: parent.text, attachments: parent.attachments, leftOut: parent.leftOut };
}

/**
 * Saves a text as a document and gives its ID and new revision. The server chooses the ID when there is none.
 *
 * @param {string} database
 * @param {{ id: string, rev: string, attachments: string, text: string }} document
 * @returns {Promise<{ id: string, rev: string }>}
 */
export async function save(database, { id, rev, attachments, text }) {
  const own = [
    id && `"_id":${JSON.stringify(id)}`,
    rev && `"_rev":${JSON.stringify(rev)}`,
    attachments && `"_attachments":${attachments}`,
    without(text, (name) => OWN.has(name)).slice(1, -1),
  ].filter(Boolean);
  const body = `{${own.join(",")}}`;
  const target = id ? documentPath(database, id) : path(database);
  const answer = await send(id ? "PUT" : "POST", target, { body, headers: { "Content-Type": "application/json" } });
  return answer.json();
}

/**
 * The ID that the text of a new document names.
 *
 * @param {string} text
 * @returns {string}
 */
export function idIn(text) {
  const member = check(text).members.find(({ name }) => name === "_id");
  const value = member ? JSON.parse(text.slice(member.valueFrom, member.to)) : "";
  return typeof value === "string" ? value : "";
}

/**
 * The properties in a text that the console writes by itself, where they are not what it writes.
 *
 * @param {string} text
 * @param {Record<string, any>} written
 * @returns {string[]}
 */
export function notSavedOf(text, written) {
  return check(text).members.filter(({ name, valueFrom, to }) =>
    OWN.has(name) && !isEqual(JSON.parse(text.slice(valueFrom, to)), written[name])).map(({ name }) => name);
}

/**
 * A text without the properties that the console writes by itself.
 *
 * @param {string} text
 * @returns {string}
 */
export function withoutOwn(text) { return format(without(text, (name) => OWN.has(name))); }

/**
 * What an error of saving means for the user.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function saveMessage(error) {
  const { status, reason, message } = /** @type {ApiError} */ (error);
  if (status === 403) return `The server rejected the document: ${reason || message}`;
  if (status === 401) return `You are not allowed to write to this database: ${reason || message}`;
  if (status === 413) return `The document is too large for the server: ${reason || message}`;
  if (status === 0) {
    return "The document is not saved, because the server does not answer. Your work stays here. "
      + "Save again when the server is back.";
  }
  return `The document is not saved: ${message}`;
}

/**
 * A document that is not saved yet.
 *
 * @param {string} id
 * @returns {Stored}
 */
export function empty(id) { return { id, rev: "", text: "{}", attachments: "", meta: {}, isDeleted: false, size: 0 }; }
