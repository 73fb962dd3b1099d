// SPDX-License-Identifier: Apache-2.0

import { path } from "../api/client.js";
import { parseExact, stringifyExact, writeExact } from "../components/json-text.js";
import { isObject, parseObject } from "../core/json.js";

/**
 * What is asked, in each of the modes, and the request that asks it.
 *
 * A question is in the address: `mode`, and `q` with the JSON of that mode's part. The selector and the builder share
 * `find`, the text of the request to `_find`, so that each shows what the other has made.
 *
 * @typedef {"selector" | "builder" | "view" | "text"} Mode
 * @typedef {object} ViewPart
 * @property {string} view `design/view`; empty for all documents.
 * @property {string} [key] JSON, as are the next three.
 * @property {string} [keys]
 * @property {string} [start]
 * @property {string} [end]
 * @property {string} [reduce] Empty as the view has it, `rows` for the rows themselves.
 * @property {string} [level] A number of items, or `exact`.
 * @property {string} [limit]
 * @property {string} [skip]
 * @property {boolean} [descending]
 * @property {boolean} [docs]
 *
 * @typedef {{ index: string, text: string, limit?: string, bookmark?: string, counts?: string, docs?: boolean }}
 *   TextPart
 *   `index` is `_search/design/name` or `_nouveau/design/name`.
 * @typedef {{ mode: Mode, find: string, view: ViewPart, text: TextPart, partition: string }} Question
 * @typedef {{ method: "GET" | "POST", path: string, query?: Record<string, string>, body?: any }} Request
 *   `body` is a value of `parseExact`.
 */

const EXAMPLE = { selector: {}, limit: 50 };

/**
 * The question of an address.
 *
 * @param {URLSearchParams} query
 * @returns {Question}
 */
export function readQuestion(query) {
  const mode = /** @type {Mode} */ (["selector", "builder", "view", "text"].find((one) =>
    one === query.get("mode")) ?? "selector");
  /** @type {Question} */
  const question = {
    mode, find: writeExact(EXAMPLE), view: { view: "", limit: "100" }, text: { index: "", text: "", limit: "25" },
    partition: query.get("partition") ?? "",
  };
  const text = query.get("q");
  if (!text) return question;
  try {
    const part = (mode === "view" || mode === "text" ? JSON.parse : parseExact)(text);
    if (!isObject(part)) return question;
    if (mode === "view") question.view = { ...part, view: String(part.view ?? "") };
    else if (mode === "text") question.text = { ...part, index: String(part.index ?? ""),
      text: String(part.text ?? "") };
    else question.find = writeExact(part);
  } catch { question.find = text; }
  return question;
}

/**
 * @param {Question} question
 * @returns {Record<string, string>}
 */
export function writeQuestion({ mode, find, view, text, partition }) {
  let q = find;
  if (mode === "view" || mode === "text") q = JSON.stringify(mode === "view" ? view : text);
  else try { q = stringifyExact(parseExact(find)); } catch { /* The text goes into the address as it stands. */ }
  return { mode, q, partition };
}

/**
 * What was typed as JSON, as a value of `parseExact`; a text that is not JSON is that text.
 *
 * @param {string} text
 * @returns {any}
 */
export function looseJSON(text) { try { return parseExact(text); } catch { return parseExact(JSON.stringify(text)); } }

/**
 * The request of a question; throws an `Error` that says what is missing.
 *
 * @param {string} database
 * @param {Question} question
 * @returns {Request}
 */
export function requestOf(database, question) {
  const inside = question.partition ? [database, "_partition", question.partition] : [database];
  if (question.mode === "view") return viewRequest(inside, question.view);
  if (question.mode === "text") return textRequest(inside, question.text);
  const body = parseObject(question.find, "The request", parseExact);
  if (!isObject(body.selector)) throw new Error("The request needs a \"selector\", an object. {} finds everything.");
  return { method: "POST", path: path(...inside, "_find"), body: { ...body, execution_stats: true } };
}

/**
 * @param {string[]} inside
 * @param {ViewPart} part
 * @returns {Request}
 */
function viewRequest(inside, part) {
  const mark = part.view.lastIndexOf("/");
  const words = mark < 0 ? ["_all_docs"] : ["_design", part.view.slice(0, mark), "_view", part.view.slice(mark + 1)];
  /** @type {Record<string, string>} */
  const query = {};
  const set = (/** @type {string} */ name,
    /** @type {string | undefined} */ text) => { if (text) query[name] = stringifyExact(looseJSON(text)); };
  set("key", part.key);
  set("start_key", part.start);
  set("end_key", part.end);
  set("limit", part.limit);
  set("skip", part.skip);
  if (part.descending) query.descending = "true";
  if (part.keys && (part.key || part.start || part.end)) {
    throw new Error("Use either Keys, or Key, From key and To key: they cannot be combined.");
  }
  if (part.reduce === "rows") query.reduce = "false";
  // Groups of several keys that are asked for by themselves have no other level.
  else if (part.level === "exact" || part.level && part.keys) query.group = "true";
  else set("group_level", part.level);
  if (part.docs) query.include_docs = "true";
  if (!part.keys) return { method: "GET", path: path(...inside, ...words), query };
  const keys = looseJSON(part.keys);
  return { method: "POST", path: path(...inside, ...words), query, body: { keys: Array.isArray(keys) ? keys
    : [keys] } };
}

/**
 * @param {string[]} inside
 * @param {TextPart} part
 * @returns {Request}
 */
function textRequest(inside, part) {
  const [kind, design, name] = part.index.split("/");
  if (!name) throw new Error("Choose a text index.");
  if (!part.text) throw new Error("Type what to search for, such as lamp, \"a phrase\" or field:word.");
  const counts = (part.counts ?? "").split(",").map((one) => one.trim()).filter(Boolean);
  /** @type {Record<string, string>} */
  const query = { q: part.text };
  if (part.limit) query.limit = part.limit;
  if (part.bookmark) query.bookmark = part.bookmark;
  if (counts.length) query.counts = JSON.stringify(counts);
  if (part.docs) query.include_docs = "true";
  return { method: "GET", path: path(...inside, "_design", decodeURIComponent(design), kind,
    decodeURIComponent(name)), query };
}
