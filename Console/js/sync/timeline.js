// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { duration, time } from "../core/format.js";

/** @typedef {import("./jobs.js").HistoryEntry} HistoryEntry */

const WORDS = new Map([["added", "Added"], ["started", "Started"], ["crashed", "Failed"], ["stopped", "Stopped"]]);
/** What a replication does after an event, until the next one. */
const AFTER = new Map([["added", "queued"], ["started", "runs"], ["crashed", "waits to retry"],
  ["stopped", "queued"]]);

/**
 * The history of a job drawn over time, and as a table.
 *
 * @param {HistoryEntry[]} history The latest first.
 * @param {number} now
 * @returns {HTMLElement}
 */
export function timeline(history, now) {
  const events = history.map((entry) => ({ ...entry, at: new Date(entry.timestamp).getTime() })).reverse();
  const first = events[0].at, span = Math.max(1000, now - first);
  const percent = (/** @type {number} */ at) => `${(at - first) / span * 100}%`;
  const parts = events.map((event, index) => ({ ...event, length: (events[index + 1]?.at ?? now) - event.at }));
  // In the table, a start that failed at once and its failure are one line.
  const told = parts.filter((part, index) =>
    !(part.type === "started" && parts[index + 1]?.type === "crashed" && part.length < 1000)).reverse();
  const failures = events.filter((event) => event.type === "crashed").length;
  return h("div.column", null,
    h("div.timeline", { role: "img",
      "aria-label": `${events.length} events since ${time(first)}, of which ${failures} are failures.` },
      parts.map((part) => h("i", {
        class: part.type,
        title: `${WORDS.get(part.type) ?? part.type} ${time(part.at)}, `
          + `then ${AFTER.get(part.type) ?? ""} ${duration(part.length)}`,
        style: { "inset-inline-start": percent(part.at), "inline-size": percent(first + part.length) },
      }))),
    h("div.row.spread.tiny.faint", null, h("span", null, time(first)), h("span", null, "now")),
    h("div.row.small.soft.keys", null,
      ["started", "crashed", "added"].map((type) => h("span", null, h("i", { class: type }), ` ${AFTER.get(type)}`))),
    h("div.scroll-x", null, h("table.table", null,
      h("thead", null, h("tr", null,
        ["Time", "Event", "Then", "Reason"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, told.map((part) => h("tr", null,
        h("td.nowrap", null, time(part.at)), h("td.nowrap", null, WORDS.get(part.type) ?? part.type),
        h("td.soft.nowrap", null, `${AFTER.get(part.type) ?? ""} ${duration(Math.max(0, part.length))}`),
          h("td", null, part.reason ?? "")))))));
}
