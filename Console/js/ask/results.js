// SPDX-License-Identifier: Apache-2.0

import { button, segments } from "../components/button.js";
import { download } from "../core/download.js";
import {
  format, numberOf, plain, rounded, showExact, stringifyExact,
} from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { menuButton } from "../components/menu.js";
import { barChart } from "../components/chart.js";
import { emptyState, note } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { count, duration, plural } from "../core/format.js";
import { link } from "../core/router.js";
import { chartView } from "./chart-choice.js";
import { toCSV } from "./export.js";
import { positionOf } from "./places.js";
import { idOf } from "./rows.js";
import { resultTable } from "./table.js";

/**
 * @typedef {"table" | "json" | "chart" | "map"} Shape
 * @typedef {{ as: Shape, axes: Partial<import("./chart-choice.js").Axes> }} Look
 */

/**
 * An answer, as a table, as JSON, as a chart or on a map.
 *
 * @param {object} options
 * @param {string} options.database
 * @param {import("./rows.js").Result} options.result
 * @param {Look} options.look
 * @param {(look: Look) => void} options.onLook
 * @param {(() => void) | null} options.more Asks for the next page.
 * @param {(hash: string) => void} options.go
 * @returns {HTMLElement}
 */
export function resultView({ database, result, look, onLook, more, go }) {
  const { items, stats } = result, href = (/** @type {string} */ id) => link("db", database, "doc", id);
  const isPlaced = rounded(items.slice(0, 200)).some((/** @type {any} */ item) => positionOf(item));
  const shapes = /** @type {const} */ ([["table", "Table", "table"], ["json", "JSON", "document"],
    ["chart", "Chart", "chart"], ["map", "Map", "map"]]);
  const place = h("div.result-place");
  const show = async (/** @type {Shape} */ as) => {
    look = { ...look, as };
    onLook(look);
    if (as === "json") fill(place, h("div.panel.result-json", null, showExact(jsonView(items, { open: 2,
      href: (text, key) => (key === "_id" || key === "id") && numberOf(text) === undefined ? href(plain(text))
        : null }))));
    else if (as === "chart") fill(place, chartView({ ...result, items: rounded(items) }, look.axes, (axes) => {
      look = { ...look, axes };
      onLook(look);
    }));
    else if (as === "map") {
      // The map is fetched when it is first wanted.
      const { pointMap } = await import("../components/map.js");
      if (look.as === "map") fill(place, drawMap(pointMap));
    } else fill(place, resultTable({ label: "Results", result, href, go }));
  };
  /** @param {typeof import("../components/map.js").pointMap} pointMap */
  const drawMap = (pointMap) => {
    const points = rounded(items).flatMap((/** @type {any} */ item) => {
      const position = positionOf(item), id = idOf(item);
      return position ? [{ ...position, label: id ?? "A row", href: id === null ? undefined : href(id) }] : [];
    });
    return [pointMap({ label: "Results", points }), points.length < items.length && h("p.small.soft", null,
      `${plural(items.length - points.length, "row has", "rows have")} no position.`)];
  };
  const as = look.as === "map" && !isPlaced ? "table" : look.as;
  const summary = [plural(items.length, "result"), result.total !== null && result.total !== items.length
    && `of ${count(result.total)}`, `in ${duration(result.milliseconds)}`].filter(Boolean).join(" ");
  const facts = stats && `The server read ${plural(stats.total_keys_examined ?? 0,
    "index key")} and ${plural(stats.total_docs_examined ?? 0, "document")}${
    stats.execution_time_ms === undefined ? "" : ` in ${duration(stats.execution_time_ms)}`}.`;
  const element = h("div.column", null,
    h("div.row", null, h("p.strong", { role: "status" }, summary),
      items.length > 0 && h("div.row.push", null,
        segments({ label: "Show as", kind: "small", value: as, options: shapes.filter(([value]) => value !== "map"
          || isPlaced).map(([value, label, icon]) => ({ value, label, icon })), onchange: show }),
        menuButton({ label: "Export", icon: "download", kind: "small", items: () => [
          { label: "JSON", call: () => download(`${database}.json`, `${format(stringifyExact(items))}\n`) },
          { label: "CSV, exact", call: () => download(`${database}.csv`, toCSV(result, false), "text/csv") },
          { label: "CSV for spreadsheets: formulas become text", call: () => download(`${database}.csv`,
            toCSV(result, true), "text/csv") },
        ] }))),
    facts && h("p.small.soft", null, facts),
    items.length === 0 ? emptyState({ icon: "search", title: "No results",
      text: "The request is valid and matches nothing. Check the names of fields and the types of values: \"5\" "
        + "and 5 differ." }) : place,
    result.hidden > 0 && h("p.small.soft", null, `${plural(result.hidden, "more column")}: the JSON view shows all.`),
    more && h("div", null, button({ label: "Next page", icon: "next", onclick: more })),
    Object.entries(result.counts ?? {}).map(([name, values]) => facet(name, values)),
    Object.entries(result.ranges ?? {}).map(([name, values]) => facet(name, values)),
    // The server says that nothing fits by this warning, too; the explanation of the request has it in words.
    result.warning && h("details.warnings", null, h("summary", null, "Advice from the server"),
      note("warning", result.warning.split("\n").map((line) => h("p", null, line)))));
  if (items.length) show(as);
  return element;
}

/**
 * How many results have each value of a field.
 *
 * @param {string} name
 * @param {any} values
 */
function facet(name, values) {
  const bars = Object.entries(values ?? {}).map(([label, value]) => ({ label, value: Number(value) })).sort((a, b) =>
    b.value - a.value).slice(0, 20);
  return h("div.column.tight", null, h("h3", null, `Counts of ${name}`),
    bars.length ? barChart({ label: `Counts of ${name}`, bars, format: count }) : h("p.soft.small", null,
      "The index has no facets for this field. Its function must index it with {facet: true}."));
}
