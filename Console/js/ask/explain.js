// SPDX-License-Identifier: Apache-2.0

import { ApiError, api, path } from "../api/client.js";
import { databaseInfo } from "../api/couch.js";
import { askExactly, writeExactly } from "../api/exact.js";
import { mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { barChart } from "../components/chart.js";
import { rounded, stringifyExact } from "../components/json-text.js";
import { workRegion } from "../components/progress.js";
import { loading, note, tag } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { count, duration, plural } from "../core/format.js";
import { directed } from "../core/json.js";
import { followIndexers, progressOf } from "../maintenance/tasks.js";
import { adviseIndex, isSame } from "./advice.js";

/** CouchDB's reasons why an index was not used, in words. */
/** @type {Record<string, string>} */
const REASONS = {
  alphabetically_comes_after: "Another index serves equally well, and its name comes first in the alphabet.",
  empty_selector: "A text index cannot serve an empty selector.",
  excluded_by_user: "The request names another index with use_index.",
  field_mismatch: "It has a field that the selector does not require, so it may lack matching documents.",
  is_partial: "It covers only documents that match its partial filter. Name it in use_index to use it.",
  is_partitioned: "It serves one partition at a time, and the request names none.",
  less_overlap: "Another index has more of the selector's fields.",
  needs_text_search: "The selector has $text, which needs a text index.",
  scope_mismatch: "It is partitioned and the request is not, or vice versa.",
  sort_order_mismatch: "Its fields are not in the order that the request sorts by.",
  too_many_fields: "Another index serves with fewer fields.",
  unfavored_type: "Another kind of index is preferred.",
};

/** @param {any} index */
const fieldsOf = (index) => directed(index?.def?.fields)
  .map(([name, order]) => `${name} ${order === "desc" ? "↓" : "↑"}`).join(", ");

/** @param {any} index */
const nameOf = (index) => index.type === "special" ? "all documents, by ID" : index.name;

/**
 * How a selector is answered: in words, as bars, and what would make it faster.
 *
 * @param {object} options
 * @param {string} options.database
 * @param {string} options.partition
 * @param {any} options.request The body of the `_find`.
 * @param {AbortSignal} options.signal
 * @returns {HTMLElement}
 */
export function explainView({ database, partition, request, signal }) {
  const base = partition ? path(database, "_partition", partition) : path(database);
  const ask = async (/** @type {AbortSignal} */ until) => {
    const { execution_stats: _, ...body } = request;
    const answer = await askExactly("POST", `${base}/_explain`, body, { signal: until });
    const plan = { ...rounded(answer), mrargs: answer.mrargs };
    const before = await measure(base, request, until).catch((error) => {
      if (error instanceof ApiError && error.status === 400) return null;
      throw error;
    });
    return { plan, before };
  };
  return loading({ signal, load: ask, render: ({ plan, before }) => h("div.panel", null, h("div.body.column.wide",
    null, words(plan), before && picture(before.stats),
    advice({ database, base, request, plan, before, signal }), candidates(plan))) });
}

/**
 * Runs a request and tells what it took.
 *
 * @param {string} base
 * @param {any} request
 * @param {AbortSignal} signal
 */
async function measure(base, request, signal) {
  const start = performance.now();
  const answer = await writeExactly("POST", `${base}/_find`, { ...request, execution_stats: true }, { signal });
  const stats = answer.execution_stats ?? { results_returned: answer.docs.length };
  return { stats, milliseconds: stats.execution_time_ms ?? performance.now() - start };
}

/** @param {any} plan */
function words(plan) {
  const { index, mrargs = {} } = plan, isScan = !index || index.type === "special";
  const range = !isScan && mrargs.start_key !== undefined
    && `The server reads it from ${stringifyExact(mrargs.start_key)} to ${
    stringifyExact(mrargs.end_key)}${mrargs.direction === "rev" ? ", backwards" : ""}.`;
  return h("div.column.tight", null,
    h("h3", null, !index ? "No index can answer this" : isScan ? "No index fits this request"
      : ["The server uses the index ", h("bdi", null, index.name)]),
    !index ? h("p", null, "The request asks for an order that no index has.")
      : isScan ? h("p", null, "The server goes through the documents by ID and tests each against the selector.")
        : h("p", null, "Its fields are ", h("code", null, fieldsOf(index)), ". ", range),
    plan.access && h("p", null, "This server reads ", h("span", { dir: "auto" }, plan.access),
      plan.estimated_rows !== undefined && `; it expected ${plural(plan.estimated_rows, "row")}`, "."),
    index && !isScan && h("p", null, plan.covering
      ? "The index has every field that the request wants, so no document is read."
      : "The server then reads each document that the index points to."));
}

/** @param {any} stats */
function picture(stats) {
  const keys = stats.total_keys_examined ?? 0, docs = stats.total_docs_examined ?? 0,
    found = stats.results_returned ?? 0;
  const isExact = Math.max(keys, docs) <= found;
  return h("div.column.tight", null, h("h3", null, "What was read and returned"),
    barChart({ label: "Read and returned", format: count, bars: [{ label: "Index keys read", value: keys },
      { label: "Documents read", value: docs }, { label: "Results returned", value: found }] }),
    h("p.soft", null, isExact ? "Everything that the server read is in the result."
      : `The server read ${plural(Math.max(keys, docs), "entry", "entries")} for ${plural(found, "result")}.`));
}

/** @param {any} plan */
function candidates(plan) {
  const list = (plan.index_candidates ?? []).filter((/** @type {any} */ one) => one.index);
  if (!list.length) return h("p.soft", null, "There is no other index in this database.");
  return h("details", { open: true },
    h("summary", null, `Why ${plural(list.length, "other index was", "other indexes were")} not used`),
    h("div.scroll-x", null, h("table.table.why", null,
    h("thead", null, h("tr", null, ["Index", "Fields", "Why not"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, list.map((/** @type {any} */ { index, analysis }) =>
      h("tr", null, h("td", null, h("bdi", null, nameOf(index))), h("td", null, h("code", null, fieldsOf(index))),
      h("td", null, (analysis?.reasons ?? []).map((/** @type {any} */ one) => h("div", null, index.type === "special"
        ? "It is sorted by ID only." : Object.hasOwn(REASONS, one.name) ? REASONS[one.name]
        : String(one.name))))))))));
}

/**
 * @param {object} options
 * @param {string} options.database
 * @param {string} options.base
 * @param {any} options.request
 * @param {any} options.plan
 * @param {{ stats: any, milliseconds: number } | null} options.before
 * @param {AbortSignal} options.signal
 * @returns {HTMLElement | null}
 */
function advice({ database, base, request, plan, before, signal }) {
  const advised = adviseIndex(request);
  if (!advised) {
    const directions = new Set(directed(request.sort).map(([, direction]) => direction));
    return directions.size > 1 ? note("info",
      "An index is read in one direction: it cannot sort one field ascending and another descending. "
        + "Sort all fields the same way.") : null;
  }
  if (isSame(plan.index, advised)) return note("success",
    "The index fits this request. No other order of fields would narrow it down more.");
  const place = workRegion(signal);
  const why = [advised.equal.length
    && `${advised.equal.join(", ")} ${advised.equal.length > 1 ? "are" : "is"} compared with given values`,
    advised.sorted.length && `the result is sorted by ${advised.sorted.join(", ")}`,
    advised.ranges.length && `${advised.ranges.join(", ")} ${advised.ranges.length > 1 ? "have" : "has"} a range`]
    .filter(Boolean).join(", and ");
  const exists = (plan.index_candidates ?? []).some((/** @type {any} */ one) => isSame(one.index, advised));
  fill(place, h("h3", null, "What would help"),
    h("p", null, "An index on ", advised.names.map((name, index) => [index > 0 && ", ", h("code", null, name)]),
      `, since ${why}.`),
    exists ? h("p.soft", null, "There is such an index already, but the server did not choose it. The table "
      + "below says why.")
      : mayWrite() && h("div", null, button({ label: "Create the index and compare", icon: "add", kind: "primary",
        onclick: () => place.run(make) })));
  const make = async (/** @type {AbortSignal} */ until,
    /** @type {import("../components/progress.js").ProgressLine} */ line) => {
    line.show(null, "Creating the index…");
    // In a partitioned database an index serves one partition unless it is made for all.
    const isForAll = base === path(database)
      && (await databaseInfo(database, { signal: until })).props?.partitioned;
    const fresh = await api.post(path(database, "_index"), { index: { fields: advised.fields },
      name: advised.names.join("-").slice(0, 80), ...(isForAll && { partitioned: false }) }, { signal: until });
    line.show(null, "Building the index…");
    const ends = followIndexers(database, until, (tasks) => {
      if (tasks.length) line.show(progressOf(tasks), "Building the index…");
    });
    try {
      // The first request waits until the index is built; the second shows what it gains.
      await measure(base, request, until);
      return gain(before, await measure(base, request, until), fresh.name);
    } finally { ends(); }
  };
  return place;
}

/**
 * @param {{ stats: any, milliseconds: number } | null} before
 * @param {{ stats: any, milliseconds: number }} after
 * @param {string} name
 * @returns {HTMLElement}
 */
function gain(before, after, name) {
  const read = (/** @type {any} */ stats) => Math.max(stats.total_docs_examined ?? 0, stats.total_keys_examined ?? 0);
  const factor = before && read(after.stats) ? read(before.stats) / read(after.stats) : 0;
  return h("div.column", null, h("div.row", null, h("h3", null, "The index is built"), tag(name, "success")),
    h("table.table.gain", null, h("thead", null, h("tr", null, ["", "Before", "After"].map((text) =>
      h("th.number", { scope: "col" }, text)))), h("tbody", null,
      /** @type {[string, (one: { stats: any, milliseconds: number }) => string][]} */ ([
        ["Time", (one) => duration(one.milliseconds)],
        ["Index keys read", (one) => count(one.stats.total_keys_examined ?? 0)], ["Documents read", (one) =>
          count(one.stats.total_docs_examined ?? 0)],
        ["Results", (one) => count(one.stats.results_returned ?? 0)],
      ]).map(([label, show]) => h("tr", null, h("td", null, label), h("td.number", null, before ? show(before)
        : "refused"), h("td.number", null, show(after)))))),
    h("p", null, !before ? "The server refused the request without it." : factor > 1.1
      ? `The server now reads ${count(Math.round(factor * 10) / 10)} times less.`
      : "The index changes little here: most of what is read matches anyway, or the limit ends the reading early."));
}
