// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { fill, h } from "../core/dom.js";
import { ago, count, time } from "../core/format.js";
import { useStyle } from "../core/style.js";
import { poll } from "../core/waiting.js";
import { button } from "../components/button.js";
import { lineChart } from "../components/chart.js";
import { menuButton } from "../components/menu.js";
import { showExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { errorState, figure, loadingState, note, tag } from "../components/states.js";
import { sequenceNumber } from "../core/revision.js";
import { actions } from "../sync/actions.js";
import { askPanel } from "../sync/ask-panel.js";
import { withoutSecrets } from "../sync/ends.js";
import { REPLICATOR, loadJob } from "../sync/jobs.js";
import { Rates } from "../sync/rates.js";
import { endsOf } from "../sync/row.js";
import { timeline } from "../sync/timeline.js";
import { advice, scopeOf, stateSentence, stateTag } from "../sync/words.js";

await useStyle("sync");

/** @typedef {import("../sync/jobs.js").Job} Job */

export default {
  /** @param {import("../shell.js").Context} ctx */
  title: (ctx) => `Replication ${ctx.params.id}`,
  /** @param {import("../shell.js").Context} ctx */
  crumbs: (ctx) => [{ label: "Sync", href: "#/sync" }, { label: ctx.params.id }],
  render,
};

/**
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
function render(ctx) {
  const rates = new Rates(), database = ctx.query.get("in") ?? REPLICATOR;
  const tags = h("span", { role: "status" }), tools = h("div.actions"),
    body = h("div.column.wide", null, loadingState());
  /** @type {Job | null} */
  let job = null;
  let wasGone = false;
  const parts = { ends: h("div.row"), top: h("div.column"), figures: h("div"), history: h("div"), document: h("div") };
  const chart = lineChart({ label: "Documents a second", series: [{ label: "Documents a second", points: [] }],
    height: 140, format: (value) => count(Math.round(value * 10) / 10) });
  const pace = h("section.panel", { "aria-label": "Documents a second" },
    h("header", null, h("h2", null, "Documents a second")), h("div.body", null, chart));

  /** Makes the parts once; those that a person uses are not drawn anew. */
  const begin = (/** @type {Job} */ first) => {
    fill(tools,
      actions(first, ctx, reload).filter((item) => item && item !== "line" && !item.danger
        && item.label !== "Duplicate").map((item) =>
        item && item !== "line" && button({ label: item.label, icon: item.icon, onclick: () => item.call() })),
      mayWrite() && menuButton({ title: "More actions",
        items: () => actions(/** @type {Job} */ (job), ctx, reload).filter((item) => item && item !== "line"
        && (item.danger || item.label === "Duplicate")) }));
    fill(body, h("div.column", null, parts.ends, parts.top), parts.figures,
      h("div.sync-columns", null, askPanel(() => /** @type {Job} */ (job), ctx), pace), parts.history, parts.document);
  };
  const reload = async () => {
    try {
      const next = await loadJob(ctx.params.id, database, ctx.signal);
      rates.note(next, Date.now());
      const isFirst = !job || wasGone, hasChanged = job?.document?._rev !== next.document?._rev;
      const newest = JSON.stringify(next.history[0]);
      const isNews = isFirst || newest !== JSON.stringify(job?.history[0]);
      job = next;
      wasGone = false;
      if (isFirst) begin(job);
      draw(job, isFirst || hasChanged, isNews);
    } catch (error) {
      if (ctx.signal.aborted) return;
      const isGone = /** @type {any} */ (error).status === 404;
      if (job && !isGone) {
        fill(parts.top, note("warning", `What you see may be old: ${/** @type {Error} */ (error).message}`));
        return;
      }
      wasGone = true;
      fill(tags);
      fill(tools);
      fill(body, errorState(error, reload));
    }
  };
  /**
   * @param {Job} now
   * @param {boolean} isNewDocument
   * @param {boolean} isNewHistory
   */
  const draw = (now, isNewDocument, isNewHistory) => {
    fill(tags, tag(...stateTag(now)));
    const help = now.error && advice(now.error);
    // What can have the focus is drawn anew only when it has changed.
    if (isNewDocument) fill(parts.ends, endsOf(now));
    fill(parts.top,
      h("p", null, stateSentence(now, Date.now()), " ",
        h("span.soft", null, [scopeOf(now.document), now.continuous ? "Continuous" : "Once",
        now.started && `started ${ago(now.started)}`].filter(Boolean).join(" · "))),
      now.error && now.state !== "completed" && note(now.state === "failed" ? "danger" : "warning",
        h("p", null, now.error), help && h("p.strong", null, help)),
      now.info.refused > 0 && note("warning",
        `The target refused ${count(now.info.refused)} of the documents in this run. `
        + "The server counts them and does not name them: "
        + (now.localSource && now.localTarget ? "compare source and target below to find them."
          : "enter an ID below to ask about one.")));
    fill(parts.figures, figures(now, rates));
    pace.hidden = now.state !== "running";
    const series = rates.series(now.key);
    chart.update({ series: [
      { label: "Read", points: series.map((one) => [one.at, one.read]) },
        { label: "Written", points: series.map((one) => [one.at, one.written]) }] });
    if (isNewHistory) fill(parts.history, now.history.length > 0 && h("section.panel", { "aria-label": "Run history" },
      h("header", null, h("h2", null, "Run history"),
        h("span.small.soft.push", null, "The server keeps the latest events.")),
        h("div.body", null, timeline(now.history, Date.now()))));
    if (isNewDocument) fill(parts.document, now.document && h("section.panel", { "aria-label": "Document" },
      h("header", null, h("h2", null, "Document"), h("span.small.soft", null, `${now.database} / ${now.docID}`)),
        h("div.body.scroll-x", null, showExact(jsonView(withoutSecrets(now.document), { open: 4 })))));
  };
  poll(ctx.signal, 2000, reload);
  return h("div.view.sync-job", null, h("div.head", null, h("h1", { dir: "auto" }, ctx.params.id), tags, tools), body);
}

/**
 * What it has done, and how far it is behind.
 *
 * @param {Job} job
 * @param {Rates} rates
 * @returns {HTMLElement}
 */
function figures(job, rates) {
  const { checked, found, read, written, refused, pending, sourceSeq, throughSeq } = job.info,
    latest = job.state === "running" ? rates.latest(job.key) : null;
  const source = sequenceNumber(sourceSeq), through = sequenceNumber(throughSeq);
  const lag = job.state === "running" && source && through
    ? `The source was read up to change ${count(source)}. The target has what came up to change ${count(through)}.`
      : "";
  const left = latest?.written && pending
    ? ` At this rate the rest takes about ${count(Math.ceil(pending / latest.written))} s.` : "";
  return h("section.panel", { "aria-label": "What it has done" },
    h("div.body.column", null, h("div.grid.sync-figures", null,
    figure("revisions examined", count(checked)), figure("missing at the target", count(found)),
    figure("documents read", count(read)),
    figure("documents written", count(written)), figure("refused", count(refused)),
    figure("changes pending", pending === null ? "–" : count(pending)),
    figure("read a second", latest ? count(Math.round(latest.read)) : "–"),
    figure("written a second", latest ? count(Math.round(latest.written)) : "–")),
  h("p.small.soft", null, lag, left, job.updated && job.state !== "running" ? ` Last changed ${time(job.updated)}.`
    : "")));
}
