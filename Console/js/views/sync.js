// SPDX-License-Identifier: Apache-2.0

import { isDivan, mayWrite } from "../api/server.js";
import { debounce, fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { keys } from "../core/keys.js";
import { poll } from "../core/waiting.js";
import { useStyle } from "../core/style.js";
import { button, linkButton } from "../components/button.js";
import { searchField, select } from "../components/field.js";
import { emptyState, errorState, figure, loadingState, note } from "../components/states.js";
import { edgePanel } from "../sync/edge.js";
import { loadJobs } from "../sync/jobs.js";
import { peersPanel } from "../sync/peers.js";
import { Rates } from "../sync/rates.js";
import { syncRow } from "../sync/row.js";

await useStyle("sync");

/** @typedef {import("../sync/jobs.js").Job} Job */

const AT_ONCE = 200;
const KINDS = /** @type {Record<string, [label: string, states: string[]]>} */ ({
  running: ["Running", ["running", "initializing", "pending"]], waiting: ["Waiting to retry", ["crashing", "error"]],
  failed: ["Failed", ["failed"]], completed: ["Completed", ["completed"]],
});

export default { title: () => "Sync", crumbs: () => [{ label: "Sync" }], render };

/**
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
function render(ctx) {
  const rates = new Rates(), body = h("div", null, loadingState()), figures = h("div"),
    shownCount = h("p.small.soft", { role: "status" });
  const wrong = h("div"), edge = edgePanel(ctx.signal), peers = isDivan() && peersPanel(ctx.signal);
  /** @type {Map<string, import("../sync/row.js").Row>} */
  const rows = new Map();
  /** @type {Job[] | null} */
  let jobs = null;
  let limit = AT_ONCE, order = "";
  const search = searchField({ placeholder: "Filter by name, source or target", value: ctx.query.get("q") ?? "" });
  const kind = select([{ value: "", label: "All states" },
    ...Object.entries(KINDS).map(([value, [label]]) => ({ value, label }))],
    ctx.query.get("state") ?? "", { "aria-label": "State" });
  const list = h("ul.sync-list");

  const show = () => {
    if (!jobs) return;
    const text = search.input.value.toLowerCase(), states = KINDS[kind.value]?.[1];
    const fitting = jobs.filter((job) => (!states || states.includes(job.state))
      && `${job.key} ${job.source} ${job.target}`.toLowerCase().includes(text));
    fill(figures, jobs.length > 0 && summary(jobs, rates));
    shownCount.textContent = fitting.length === jobs.length ? ""
      : `${count(fitting.length)} of ${count(jobs.length)} replications`;
    if (!fitting.length) { order = "";
      fill(body, jobs.length ? emptyState({ icon: "filter", title: "No replication fits",
      text: "Change the filter to see others." }) : none()); return; }
    const shown = fitting.slice(0, limit);
    for (const job of shown) {
      let row = rows.get(job.key);
      if (!row) rows.set(job.key, row = syncRow(job, ctx, reload));
      row.update(job, rates);
    }
    // The lines are only arranged anew when others are shown: the focus in them stays.
    const now = JSON.stringify([shown.map((job) => job.key), fitting.length]);
    if (now === order) return;
    order = now;
    fill(list, shown.map((job) => rows.get(job.key)?.element));
    fill(body, h("div.panel", null, list), fitting.length > limit
      && button({ label: `Show ${count(Math.min(AT_ONCE, fitting.length - limit))} more`,
        onclick: () => { limit += AT_ONCE; show(); } }));
  };
  const reload = async () => {
    try {
      jobs = await loadJobs(ctx.signal);
      fill(wrong);
      for (const job of jobs) rates.note(job, Date.now());
      show();
    } catch (error) {
      if (ctx.signal.aborted) return;
      if (jobs) fill(wrong, note("warning", `What you see may be old: ${/** @type {Error} */ (error).message}`));
      else fill(body, errorState(error, reload));
    }
  };
  const filtered = () => { ctx.setQuery({ q: search.input.value, state: kind.value }); limit = AT_ONCE; show(); };
  search.input.addEventListener("input", debounce(filtered, 150));
  kind.addEventListener("change", filtered);
  keys(ctx.signal, { "/": ["Filter replications", () => search.input.focus()],
    ...(mayWrite() ? { n: ["New replication", () => ctx.go("#/sync/new")] } : {}) });
  poll(ctx.signal, 2000, async () => { await Promise.all([reload(), edge.reload(), peers && peers.reload()]); });

  return h("div.view", null,
    h("div.head", null, h("h1", null, "Sync"), h("div.actions", null,
      mayWrite() && linkButton({ label: "New replication", icon: "add", kind: "primary", href: "#/sync/new" }))),
    wrong, figures, h("div.row.sync-tools", null, search, kind, shownCount), body, edge, peers);
}

/** @returns {HTMLElement} */
function none() {
  return emptyState({
    icon: "sync", title: "No replications",
    text: "A replication copies the documents of one database to another: "
      + "here or on another server, once or continuously.",
    action: mayWrite() && linkButton({ label: "New replication", icon: "add", kind: "primary", href: "#/sync/new" }),
  });
}

/**
 * @param {Job[]} jobs
 * @param {Rates} rates
 * @returns {HTMLElement}
 */
function summary(jobs, rates) {
  const sum = (/** @type {(job: Job) => number} */ of) => jobs.reduce((total, job) => total + of(job), 0);
  const pace = sum((job) => job.state === "running" ? rates.latest(job.key)?.written ?? 0 : 0);
  return h("div.panel.sync-summary", null, h("div.body.grid.sync-figures", null,
    Object.values(KINDS).map(([label, states]) =>
      figure(label.toLowerCase(), count(jobs.filter((job) => states.includes(job.state)).length))),
    figure("changes pending", count(sum((job) => job.info.pending ?? 0))),
      figure("documents a second", count(Math.round(pace)))));
}
