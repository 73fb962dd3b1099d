// SPDX-License-Identifier: Apache-2.0

import { fill, freshID, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { barChart } from "../components/chart.js";
import { input } from "../components/field.js";

/** Properties that usually say who or what has written a document, the likeliest first. */
const LIKELY = ["by", "owner", "author", "user", "writer", "created_by", "type", "kind"];
const MOST_BARS = 6;
const percent = (/** @type {number} */ value) => `${value && value < 1 ? "<1" : Math.round(value)} %`;
const ABSENT = "(none)";

/**
 * Shares of the changes by the values of a property: who writes how much.
 *
 * @param {object} options
 * @param {string} options.by The property's path; empty to take a likely one.
 * @param {(by: string) => void} options.onBy
 * @returns {HTMLElement & { update: (lines: import("./line.js").Line[], withDocuments: boolean) => void }}
 */
export function sharesPanel({ by, onBy }) {
  const listID = freshID(), listed = h("datalist", { id: listID });
  const box = input({ value: by, placeholder: "type", list: listID, "aria-label": "Property to share by" });
  const says = h("p.small.soft"), chart = barChart({ label: "Changes by value", bars: [], format: percent });
  let chosen = by;
  /** @type {[import("./line.js").Line[], boolean]} */
  let last = [[], true];
  const update = (/** @type {import("./line.js").Line[]} */ lines, /** @type {boolean} */ withDocuments) => {
    last = [lines, withDocuments];
    const known = lines.filter((line) => line.values);
    const names = countBy(known.flatMap((line) => [...(line.values?.keys() ?? [])]));
    // Replacing the options while the list is open would close it.
    if (document.activeElement !== box) fill(listed,
      [...names.keys()].slice(0, 40).map((value) => h("option", { value })));
    if (!chosen) box.placeholder = LIKELY.find((name) => names.has(name)) ?? "type";
    const name = chosen || box.placeholder;
    chart.hidden = known.length === 0;
    if (!withDocuments) { says.textContent = "Turn on “Documents” to see who writes how much."; return; }
    if (!known.length) { says.textContent = "The shares appear with the first changes."; return; }
    const all = [...countBy(known.map((line) => line.values?.get(name) ?? ABSENT))].sort((a, b) => b[1] - a[1]);
    const rest = all.slice(MOST_BARS).reduce((sum, [, value]) => sum + value, 0);
    const share = (/** @type {number} */ value) => value / known.length * 100;
    const bars = all.slice(0, MOST_BARS).map(([label, value]) => ({ label, value: share(value) }));
    if (rest) bars.push({ label: `${all.length - MOST_BARS} others`, value: share(rest) });
    says.textContent = `Shares of the latest ${plural(known.length, "change")}, `
      + `by ${plural(all.length, "value")} of “${name}”.`;
    chart.update({ label: `Changes by ${name}`, bars });
  };
  box.addEventListener("change", () => { chosen = box.value.trim(); onBy(chosen); update(...last); });
  const element = h("section.panel.shares", { "aria-label": "Who writes how much" },
    h("header", null, h("h2", null, "Who writes how much"),
      h("div.push.row.nowrap", null, h("span.small.soft", null, "by"), box, listed)),
    h("div.body.column.tight", null, says, chart));
  return Object.assign(element, { update });
}

/**
 * @param {string[]} values
 * @returns {Map<string, number>}
 */
function countBy(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
