// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { lineChart } from "../components/chart.js";
import { searchField } from "../components/field.js";
import { errorState, figure, loadingState } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { bytes, count, duration } from "../core/format.js";
import { poll } from "../core/waiting.js";

/**
 * What the server counts, asked every two seconds: charts of what matters, and a table of all.
 *
 * CouchDB and Divan tell a tree whose leaves are `{ value, type, desc }`. Which leaves there are differs, so each is
 * looked up and may be missing.
 *
 * @typedef {{ value: any, type: string, desc: string }} Leaf
 * @typedef {{ at: number, leaves: Map<string, Leaf>, system: any }} Sample
 * @typedef {[label: string, value: (now: Sample, before: Sample | null) => number | null]} Line
 */

/** Ten minutes. They are kept while other parts of the console are shown. */
const MOST = 300;
/**
 * The values of each line of each chart.
 *
 * @type {{ at: number, charts: (number | null)[][] }[]}
 */
const history = [];
/** @type {Sample | null} */
let last = null;

/**
 * @param {Sample} sample
 * @param {string} path
 * @returns {any}
 */
const value = ({ leaves }, path) => leaves.get(path)?.value ?? null;

/**
 * How fast the counters below a path have grown, a second. A server that has started anew gives a gap.
 *
 * @param {string} prefix
 * @returns {Line[1]}
 */
const rate = (prefix) => (now, before) => {
  if (!before) return null;
  let sum = 0;
  for (const [path, { value }] of now.leaves) {
    if (path.startsWith(prefix) && typeof value === "number") sum += value - (before.leaves.get(path)?.value ?? value);
  }
  return sum < 0 ? null : sum / Math.max(0.001, (now.at - before.at) / 1000);
};

/**
 * @param {number} share
 * @returns {Line[1]}
 */
const percentile = (share) => (now) => {
  const time = value(now, "couchdb.request_time");
  return time?.percentile?.find((/** @type {number[]} */ one) => one[0] === share)?.[1] ?? null;
};

/** @param {any} system */
function memory(system) {
  // CouchDB tells the parts, and of some of them how much is used, which is counted already.
  const parts = Object.entries(system?.memory ?? {})
    .filter(([name, size]) => !name.endsWith("_used") && typeof size === "number");
  return parts.length ? parts.reduce((sum, [, size]) => sum + Number(size), 0) : null;
}

const milliseconds = (/** @type {number} */ value) => value < 10 ? `${value.toFixed(1)} ms` : duration(value);
const perSecond = (/** @type {number} */ rate) => rate < 10 ? rate.toFixed(1) : count(Math.round(rate));

const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD"];
/** @type {{ label: string, lines: Line[], format: (value: number) => string }[]} */
const CHARTS = [
  { label: "Requests a second, by method", format: perSecond,
    lines: METHODS.map((name) => [name, rate(`couchdb.httpd_request_methods.${name}`)]) },
  { label: "Answers a second, by status", format: perSecond,
    lines: ["2", "3", "4", "5"].map((digit) => [`${digit}xx`, rate(`couchdb.httpd_status_codes.${digit}`)]) },
  { label: "Time until an answer begins", format: milliseconds,
    lines: [["median", percentile(50)], ["95 %", percentile(95)], ["99 %", percentile(99)]] },
  { label: "Memory", format: bytes, lines: [["memory", ({ system }) => memory(system)]] },
  { label: "Open resources", format: count,
    lines: [["databases", (now) => value(now, "couchdb.open_databases")],
      ["files and sockets", (now) => value(now, "couchdb.open_os_files")],
      ["replications", (now) => value(now, "couch_replicator.jobs.running")]] },
];

/**
 * @param {any} tree
 * @param {string} path
 * @param {Map<string, Leaf>} leaves
 * @returns {Map<string, Leaf>}
 */
function flatten(tree, path, leaves) {
  for (const [name, child] of Object.entries(tree ?? {})) {
    const at = path ? `${path}.${name}` : name;
    if (child && typeof child === "object" && "value" in child && "type" in child) leaves.set(at, child);
    else if (child && typeof child === "object") flatten(child, at, leaves);
  }
  return leaves;
}

/**
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function metricsPart(ctx) {
  const { signal } = ctx;
  const charts = CHARTS.map(({ label, format }) =>
    ({ label, chart: lineChart({ label, series: [], xKind: "time", height: 180, format }) }));
  const figures = h("div.grid.figures"), rows = h("tbody"), problem = h("div", null, loadingState());
  const filter = searchField({
    placeholder: "Filter counters", value: ctx.query.get("filter") ?? "",
    oninput: debounce(() => {
      ctx.setQuery({ part: "metrics", filter: filter.input.value });
      table();
    }),
  });
  const body = h("div.column.wide", { hidden: true }, figures,
    h("div.grid.charts", null, charts.map(({ label, chart }) =>
      h("section.panel", null, h("header", null, h("h2", null, label)), h("div.body", null, chart)))),
    h("section.panel", null, h("header", null, h("h2", null, "All counters"), filter),
      h("div.scroll-x", null, h("table.table", null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Name"), h("th.number", { scope: "col" }, "Value"),
          h("th", { scope: "col" }, "What it counts"))),
        rows))));

  const table = () => {
    const text = filter.input.value.toLowerCase();
    const found = [...last?.leaves ?? []].filter(([path, leaf]) => `${path} ${leaf.desc}`.toLowerCase().includes(text));
    fill(rows, found.map(([path, { value, desc }]) => h("tr", null,
      h("td", null, h("code", null, path)),
      h("td.number", null, typeof value === "number" ? count(value) : `median ${milliseconds(value?.median ?? 0)}`),
      h("td.soft", null, desc))),
    !found.length && h("tr", null, h("td.soft", { colspan: 3 }, "No matching counters.")));
  };

  /** @param {Sample} now */
  const draw = (now) => {
    charts.forEach(({ chart }, index) => {
      const series = CHARTS[index].lines.map(([label], line) => {
        /** @type {[number, number | null][]} */
        const points = history.map(({ at, charts }) => [at, charts[index][line]]);
        return { label, points };
      });
      // A line that was zero all the time would hide another one.
      chart.update({ series: series.filter(({ points }, at) => at === 0 || points.some(([, y]) => y)) });
    });
    const size = memory(now.system), requests = value(now, "couchdb.httpd.requests"), uptime = now.system?.uptime;
    fill(figures,
      typeof uptime === "number" && figure("since the start", duration(uptime * 1000)),
      requests !== null && figure("requests", count(requests)), size !== null && figure("memory", bytes(size)),
      figure("databases open", value(now, "couchdb.open_databases") ?? "–"),
      figure("median time", milliseconds(value(now, "couchdb.request_time")?.median ?? 0)),
      figure("running replications", value(now, "couch_replicator.jobs.running") ?? "–"));
    if (!rows.contains(document.activeElement)) table();
  };

  const ask = async () => {
    try {
      const [stats, system] = await Promise.all([api.get("/_node/_local/_stats", { signal }),
        api.get("/_node/_local/_system", { signal }).catch(() => null)]);
      const now = { at: Date.now(), leaves: flatten(stats, "", new Map()), system };
      history.push({ at: now.at, charts: CHARTS.map(({ lines }) => lines.map(([, read]) => read(now, last))) });
      if (history.length > MOST) history.shift();
      last = now;
      fill(problem);
      body.hidden = false;
      draw(now);
    } catch (error) { if (!signal.aborted) fill(problem, errorState(error, ask)); }
  };
  poll(signal, 2000, ask);
  return [problem, body];
}
