// SPDX-License-Identifier: Apache-2.0

import { allDocuments } from "../api/couch.js";

/**
 * A sample of a database's documents, and what kinds of them there are in it.
 *
 * @typedef {{ doc: any, size: number, attachments: number }} Sampled
 * @typedef {{ label: string, count: number, size: number, attachments: number }} Kind
 */

const SLICES = 20, EACH = 50;
/** A server counts what it skips: beyond this it would take long. */
const FARTHEST = 500_000;
export const BY_ID = "_id";
const USUAL = ["type", "kind", "doc_type", "docType", "_type", "collection", "table", "schema", "category"];

/**
 * Reads all of a small database, and some documents each from twenty places of a large one. Design documents are left
 * out.
 *
 * @param {string} database
 * @param {number} total
 * @param {AbortSignal} signal
 * @returns {Promise<Sampled[]>}
 */
export async function takeSample(database, total, signal) {
  const step = Math.min(total, FARTHEST) / SLICES;
  const slices = total <= SLICES * EACH ? [{ skip: 0, limit: SLICES * EACH }]
    : Array.from({ length: SLICES }, (_, at) => ({ skip: Math.floor((at + 0.5) * step - EACH / 2), limit: EACH }));
  /** @type {Sampled[]} */
  const sample = [];
  for (const slice of slices) {
    const { rows } = await allDocuments(database, { include_docs: true, ...slice }, { signal });
    for (const { doc } of rows) {
      if (!doc || doc._id.startsWith("_design/")) continue;
      const attachments = Object.values(doc._attachments ?? {}).reduce((sum, /** @type {any} */ one) => sum
        + (one.length ?? 0), 0);
      sample.push({ doc, attachments, size: new TextEncoder().encode(JSON.stringify(doc)).length });
    }
  }
  return sample;
}

/**
 * The properties that tell kinds of documents apart, the best first: few different texts in many documents.
 *
 * @param {Sampled[]} sample
 * @returns {string[]}
 */
export function kindProperties(sample) {
  /** @type {Map<string, { count: number, values: Set<any> }>} */
  const found = new Map();
  for (const { doc } of sample) {
    for (const [key, value] of Object.entries(doc)) {
      if (key === "_id" || key === "_rev" || (typeof value !== "string" && typeof value !== "boolean")) continue;
      const one = found.get(key) ?? { count: 0, values: new Set() };
      one.count += 1;
      one.values.add(value);
      found.set(key, one);
    }
  }
  const rank = (/** @type {string} */ key) => (USUAL.includes(key) ? USUAL.indexOf(key) : USUAL.length);
  const useful = [...found].filter(([key, { count, values }]) => count >= sample.length / 10
    && values.size <= 40 && (USUAL.includes(key) || (values.size > 1 && values.size <= count / 3)));
  useful.sort(([a, one], [b, other]) => rank(a) - rank(b) || other.count - one.count || (a < b ? -1 : 1));
  return [...useful.slice(0, 12).map(([key]) => key), BY_ID];
}

/**
 * @param {Sampled[]} sample
 * @param {string} property
 * @param {number} most More kinds than these are put together.
 * @returns {Kind[]} The largest first.
 */
export function kindsOf(sample, property, most = 8) {
  /** @type {Map<string, Kind>} */
  const kinds = new Map();
  for (const { doc, size, attachments } of sample) {
    const label = labelOf(doc, property);
    const kind = kinds.get(label) ?? { label, count: 0, size: 0, attachments: 0 };
    kinds.set(label, { label, count: kind.count + 1, size: kind.size + size, attachments: kind.attachments
      + attachments });
  }
  const sorted = [...kinds.values()].sort((a, b) => b.size + b.attachments - a.size - a.attachments);
  const rest = sorted.splice(most);
  if (rest.length) {
    sorted.push(rest.reduce((sum, kind) => ({ label: sum.label, count: sum.count + kind.count, size: sum.size
      + kind.size, attachments: sum.attachments + kind.attachments }),
      { label: `${rest.length} other kinds`, count: 0, size: 0, attachments: 0 }));
  }
  return sorted;
}

/**
 * @param {any} doc
 * @param {string} property
 * @returns {string}
 */
function labelOf(doc, property) {
  if (property === BY_ID) return /^[^\d:/_.-]+[:/_.-]/.exec(doc._id)?.[0] ?? "Other IDs";
  const value = doc[property];
  return value === undefined ? `Without ${property}` : typeof value === "string" ? value || "(empty)"
    : JSON.stringify(value);
}
