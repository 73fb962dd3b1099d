// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { isDivan } from "../api/server.js";
import { fill, h } from "../core/dom.js";
import { ago, count, duration } from "../core/format.js";
import { link } from "../core/router.js";
import { button } from "../components/button.js";
import { figure, note, tag } from "../components/states.js";
import { endLabel } from "./ends.js";

const REACH = /** @type {Record<string, [string, "" | "success" | "danger" | "warning"]>} */ ({
  unknown: ["Not asked yet", ""], reached: ["Reached", "success"], unreachable: ["Unreachable", "danger"],
  refused: ["Refuses this edge", "danger"],
});
const PAGE = 100;

/**
 * The report of an edge about its hub, once `reload` was called; stays empty where the server is no edge.
 *
 * @param {AbortSignal} signal
 * @returns {HTMLElement & { reload: () => Promise<void> }}
 */
export function edgePanel(signal) {
  const element = h("div", { hidden: true });
  let limit = PAGE, isEdge = isDivan();
  const reload = async () => {
    if (!isEdge) return;
    try {
      const report = await api.get("/_edge", { query: { limit }, signal });
      if (signal.aborted || element.contains(document.activeElement)) return;
      element.hidden = false;
      fill(element, draw(report, () => {
        limit += PAGE;
        /** @type {HTMLElement} */ (document.activeElement).blur();
        return reload();
      }));
    } catch (error) {
      // 404: no hub. 401 and 403: the user may not ask. Else the report stays as it was.
      if ([400, 401, 403, 404].includes(/** @type {any} */ (error).status)) isEdge = false;
    }
  };
  return Object.assign(element, { reload });
}

/**
 * @param {any} report
 * @param {() => any} more
 * @returns {HTMLElement}
 */
function draw(report, more) {
  const [reach, tone] = Object.hasOwn(REACH, report.state) ? REACH[report.state]
    : /** @type {const} */ ([String(report.state), ""]);
  const rest = report.total_rows - report.databases.length;
  return h("section.panel", { "aria-label": "The hub of this edge" },
    h("header", null, h("h2", null, "Hub of this edge"), h("span.soft", null, endLabel(report.hub)), tag(reach, tone),
      h("span.small.soft.push", null, report.reached ? `reached ${ago(report.reached)}` : "never reached")),
    h("div.body.column", null,
      report.reason && note("warning", report.reason),
      h("div.grid.sync-figures", null, figure("databases", count(report.total_rows)),
        figure("changes pending", count(report.pending)),
        figure("refused", count(report.refused)), figure("directions waiting", count(report.waiting)),
        figure("directions ended", count(report.ended)),
        figure("longest lag", duration(report.lag * 1000)))),
    h("div.scroll-x", null, h("table.table", null,
      h("thead", null, h("tr", null,
        ["Database", "Down from the hub", "Up to the hub", "State"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, report.databases.map((/** @type {any} */ row) => h("tr", null,
        h("td", null, h("a", { href: link("db", row.name, "docs") }, row.name)),
        h("td", null, direction(row.pull, `hub-pull-${row.name}`)),
        h("td", null, direction(row.push, `hub-push-${row.name}`)),
        h("td", null, row.state !== "followed" && tag(row.state, row.state === "refused" ? "danger" : "warning"), " ",
          row.reason ?? (row.state === "followed" ? "followed" : ""))))))),
    rest > 0 && h("div.body", null, button({ label: `Show more of ${count(rest)} others`, onclick: more })));
}

/**
 * @param {any} progress
 * @param {string} docID
 * @returns {import("../core/dom.js").Children}
 */
function direction(progress, docID) {
  if (!progress) return "—";
  const tone = progress.state === "running" ? "success" : progress.state === "waiting" ? "warning" : "danger";
  const facts = [progress.pending && `${count(progress.pending)} pending`,
    progress.refused && `${count(progress.refused)} refused`,
    progress.lag && `${duration(progress.lag * 1000)} behind`, progress.edited && "edited by hand"].filter(Boolean);
  return [h("a", { href: link("sync", "job", docID) }, tag(progress.state, tone)), " ",
    h("span.small.soft", null, facts.join(", ")),
    progress.reason && h("div.small", null, progress.reason)];
}
