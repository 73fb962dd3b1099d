// SPDX-License-Identifier: Apache-2.0

import { address } from "../api/client.js";
import { numberOf, plain, stringifyExact } from "../components/json-text.js";
import { shellWord } from "../core/format.js";
import { directed } from "../core/json.js";
import { looseJSON } from "./question.js";

/**
 * A question as code, to paste. Every text of the question is escaped for its language: it may hold quotes, line ends,
 * `$(…)` or characters that turn the direction of writing.
 */

/** What cannot be seen, or hides what stands beside it: controls, direction marks, line separators. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g;

/**
 * A string literal of Swift. With every backslash doubled, `\(` interpolates nothing.
 *
 * @param {string} text
 */
const swiftString = (text) => `"${text.replace(/["\\]/g, "\\$&")
  .replace(UNSEEN, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`)}"`;

/**
 * JSON as a literal of Divan's `JSONValue`.
 *
 * @param {any} value Of `parseExact`.
 * @returns {string}
 */
function swiftValue(value) {
  if (value === null) return "nil";
  if (typeof value === "string") return (numberOf(value) === undefined ? swiftString : swiftNumber)(plain(value));
  if (Array.isArray(value)) return `[${value.map(swiftValue).join(", ")}]`;
  if (typeof value !== "object") return String(value);
  const items = Object.entries(value).map(([key, one]) => `${swiftString(plain(key))}: ${swiftValue(one)}`);
  return `[${items.join(", ") || ":"}]`;
}

/**
 * A number as a literal of Swift, which are of 64 bits; another one is parsed from its text.
 *
 * @param {string} text
 */
function swiftNumber(text) {
  const fits = /^-?\d+$/.test(text) ? BigInt.asIntN(64, BigInt(text)) === BigInt(text)
    : Number.isFinite(Number(text)) && (Number(text) !== 0 || /^-?0\.?0*(e|$)/i.test(text));
  return fits ? text : `try JSONParser.parse("${text}")`;
}

/**
 * JSON as a literal of JavaScript. The key `__proto__` is computed there, as it sets a prototype otherwise.
 *
 * @param {any} value
 */
const scriptValue = (value) => visible(JSON.stringify(value, null, 2).replace(/^(\s*)"__proto__":/gm,
  '$1["__proto__"]:'));

/**
 * JSON in which nothing is unseen.
 *
 * @param {string} json
 */
const visible = (json) => json.replace(UNSEEN, (one) => one === "\n" ? one
  : `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * @param {import("./question.js").Request} request
 * @returns {string}
 */
export function curl({ path, query, body }) {
  const lines = [`curl ${shellWord(address(path, query).href)}`];
  // An @ at its beginning would have curl read a file; JSON of an object begins with a brace.
  if (body) lines.push("-H 'Content-Type: application/json'", `--data-raw ${shellWord(visible(stringifyExact(body)))}`);
  return lines.join(" \\\n  ");
}

/**
 * @param {import("./question.js").Request} request
 * @returns {string}
 */
export function javaScript({ path, query, body }) {
  const text = body && stringifyExact(body), value = body && JSON.parse(text);
  // A number that JavaScript would change stays in a text.
  const code = body && (JSON.stringify(value) === text ? `JSON.stringify(${scriptValue(value)})` : scriptValue(text));
  const options = body ? `, {\n  method: "POST",\n  headers: { "Content-Type": "application/json" },\n  body: ${
    code.replaceAll("\n", "\n  ")},\n}` : "";
  return `const response = await fetch(${scriptValue(address(path, query).href)}${options});
if (!response.ok) throw new Error(await response.text());
const result = await response.json();
`;
}

/**
 * Swift with Divan, in an app that has the same database open as `database`.
 *
 * @param {import("./question.js").Question} question
 * @param {import("./question.js").Request} request
 * @returns {string}
 */
export function swift(question, request) {
  const from = question.partition ? `database.partition(${swiftString(question.partition)})` : "database";
  if (question.mode === "view") return swiftView(question, from);
  if (question.mode === "text") {
    const [, , name = ""] = question.text.index.split("/").map(decodeURIComponent);
    return `// The app's own full-text index of that name; Swift does not read the search indexes of design documents.
let texts = database.fullTextIndex(named: ${swiftString(name)}, on: ["text"])  // its properties
for row in try texts.search(${swiftString(question.text.text)}).run() { print(row.documentID, row.score) }
`;
  }
  const { selector, sort, fields, limit, skip, use_index: index } = request.body;
  const keys = directed(sort).map(([path, direction]) =>
    `.${direction === "desc" ? "descending" : "ascending"}(${swiftString(plain(path))})`);
  const settings = [
    keys.length && `query.sort = [${keys.join(", ")}]`,
    fields?.length && `query.fields = ${swiftValue(fields)}`,
    `query.limit = ${limit ?? 25}`,
    skip && `query.skip = ${skip}`,
    index?.length && `query.useIndex = ${swiftString(plain(indexName(index)))}`,
  ].filter(Boolean);
  return `var query = try ${from}.find(selector: ${swiftValue(selector)})
${settings.join("\n")}
for row in try query.run() { print(row.id, row.properties) }
`;
}

/**
 * The name that an index of a design document has in Swift: `design/name`.
 *
 * @param {string | string[]} index
 */
const indexName = (index) => [index].flat().join("/").replace(/^_design\//, "");

/**
 * @param {import("./question.js").Question} question
 * @param {string} from
 * @returns {string}
 */
function swiftView({ view: part, partition }, from) {
  const given = (/** @type {string} */ name, /** @type {string | undefined} */ text) => text
    && `query.${name} = ${swiftValue(looseJSON(text))}`;
  const keys = part.keys ? [looseJSON(part.keys)].flat() : part.key ? [looseJSON(part.key)] : null;
  const mark = part.view.lastIndexOf("/");
  // A slash in the name of the design document is written %2F there, as in `DesignDocuments.view(_:)`.
  const design = part.view.slice(0, mark).replaceAll("%", "%25").replaceAll("/", "%2F");
  const name = swiftString(`${design}/${part.view.slice(mark + 1)}`);
  const start = mark < 0 ? `var query = ${from}.allDocumentsQuery()`
    : `import DivanJavaScript

database.designDocuments.enable(JavaScriptRuntime())
let view = try database.designDocuments.view(${name})
var query = ${
      partition ? `${from}.query(view)` : "view.query()"}`;
  const lines = [
    start, keys && `query.keys = ${swiftValue(keys)}`, given("startKey", part.start), given("endKey", part.end),
    part.limit && `query.limit = ${Number(part.limit)}`, part.skip && `query.skip = ${Number(part.skip)}`,
    part.descending && "query.descending = true", part.docs && "query.includeDocuments = true",
    part.reduce === "rows" ? "query.mapOnly = true"
      : part.level && `query.grouping = ${part.level === "exact" ? ".exact" : `.level(${Number(part.level)})`}`,
  ];
  return `${lines.filter(Boolean).join("\n")}\nfor row in try query.run() { print(row.key, row.value) }\n`;
}
