// SPDX-License-Identifier: Apache-2.0

import { fill, h } from "../core/dom.js";
import { ago, count, shortCount } from "../core/format.js";
import { link } from "../core/router.js";
import { sparkline } from "../components/chart.js";
import { icon } from "../components/icon.js";
import { menuButton } from "../components/menu.js";
import { tag } from "../components/states.js";
import { actions } from "./actions.js";
import { KEPT } from "./rates.js";
import { scopeOf, stateSentence, stateTag } from "./words.js";

/**
 * @typedef {import("./jobs.js").Job} Job
 * @typedef {{ element: HTMLElement, update: (job: Job, rates: import("./rates.js").Rates) => void }} Row
 */

/**
 * The address of a replication's page.
 *
 * @param {Job} job
 * @returns {string}
 */
const jobLink = (job) =>
  link("sync", "job", job.key, { in: job.database === "_replicator" ? "" : job.database });

/**
 * Source and target, with links to those that are here.
 *
 * @param {Job} job
 * @returns {HTMLElement}
 */
export function endsOf(job) {
  const end = (/** @type {string} */ label, /** @type {string | null} */ name) => name !== null
    ? h("a", { href: link("db", name, "docs"), title: label }, name) : h("span", { title: label }, label);
  return h("span.sync-ends", { dir: "auto" }, end(job.source, job.localSource),
    h("span.faint", { "aria-label": "to" }, "→"), end(job.target, job.localTarget));
}

/**
 * A replication as a line of the list. What can have the focus stays while the rest is drawn anew.
 *
 * @param {Job} job
 * @param {import("../shell.js").Context} ctx
 * @param {() => any} reload
 * @returns {Row}
 */
export function syncRow(job, ctx, reload) {
  let latest = job;
  const state = h("span"), sentence = h("p.small.soft"), error = h("p.small.wrong"), numbers = h("div.sync-numbers");
  const spark = sparkline({ label: "Documents written a second", values: [], room: KEPT, width: 90 });
  const element = h("li.sync-row", null,
    h("div.column.tight", null,
      h("div.row", null, h("a.strong", { href: jobLink(job), dir: "auto" }, job.key), state),
      endsOf(job),
      h("span.tiny.faint", null,
        [scopeOf(job.document), job.continuous ? "continuous" : "once"].filter(Boolean).join(" · "))),
    h("div.column.tight", null, sentence, error),
    h("div.column.tight.sync-pace", null, spark, numbers),
    menuButton({ title: `Actions for ${job.key}`, kind: "plain small", items: () => [
      { label: "Details", icon: "info", call: () => ctx.go(jobLink(latest)) }, ...actions(latest, ctx, reload)] }));
  return {
    element,
    update: (now, rates) => {
      latest = now;
      fill(state, tag(...stateTag(now)));
      fill(sentence, stateSentence(now, Date.now()), now.state === "completed" && now.updated ? ` ${ago(now.updated)}.`
        : "");
      fill(error, now.error);
      error.hidden = !now.error;
      const series = rates.series(now.key), pace = rates.latest(now.key);
      const isActive = now.state === "running";
      spark.hidden = !isActive || series.length < 2;
      if (isActive) spark.update({ values: series.map((one) => one.written) });
      fill(numbers, h("span", { title: "Documents written a second" }, icon("download"),
        ` ${isActive && pace ? count(Math.round(pace.written)) : "–"}/s`),
        h("span", { title: "Changes pending" }, icon("history"),
          ` ${now.info.pending === null ? "–" : shortCount(now.info.pending)}`),
        now.info.refused > 0 && tag(`${count(now.info.refused)} refused`, "danger"));
    },
  };
}
