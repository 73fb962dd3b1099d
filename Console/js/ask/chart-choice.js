// SPDX-License-Identifier: Apache-2.0

import { barChart, lineChart } from "../components/chart.js";
import { plainNumber } from "../components/scale.js";
import { field, select } from "../components/field.js";
import { note } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { asText, compare, valueAt } from "./rows.js";

/**
 * Rows as a chart: groups along x, and a number of each. Moments make lines, all else bars.
 *
 * @typedef {{ x: string, y: string, how: string }} Axes `y` is empty to count rows.
 */

const BARS = 50, DAY = 86400e3;
const KINDS = [["sum", "Sum"], ["average", "Average"], ["min", "Minimum"], ["max", "Maximum"]];

/**
 * The moment that a value stands for: ISO text, milliseconds, or `[year, month, day, …]` as keys of views have it.
 *
 * @param {any} value
 * @returns {number | null}
 */
function momentOf(value) {
  if (typeof value === "string" && /^\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?$/.test(value)) {
    const moment = new Date(value.length === 10 ? `${value}T00:00` : value.length === 7 ? `${value}-01T00:00`
      : value).getTime();
    return Number.isNaN(moment) ? null : moment;
  }
  if (typeof value === "number") return value > 1e11 && value < 1e13 ? value : null;
  if (!Array.isArray(value) || value.length < 2 || value.length > 6 || !value.every(Number.isInteger)) return null;
  const [year, month, day = 1, hour = 0, minute = 0, second = 0] = value;
  return year > 1900 && year < 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31
    ? new Date(year, month - 1, day, hour, minute, second).getTime() : null;
}

/**
 * @param {import("./rows.js").Result} result
 * @returns {Axes}
 */
function firstChoice({ items, columns }) {
  const sample = items.slice(0, 200), some = (/** @type {string} */ column) =>
    sample.map((item) => valueAt(item, column));
  const isRows = sample.some((item) => item.key !== undefined);
  const y = ["value", "value.sum", "value.count"].find((column) => some(column).some((value) =>
    typeof value === "number")) ?? "";
  if (isRows) return { x: "key", y, how: "sum" };
  const moment = columns.find((column) => { const all = some(column).filter((value) => value !== undefined);
    return all.length > 1 && all.every((value) => momentOf(value) !== null); });
  // Otherwise the column with the fewest values above one, which makes groups.
  const groups = columns.map((column) =>
    ({ column, size: new Set(some(column).map(asText)).size })).filter(({ size }) => size > 1).sort((a, b) =>
    a.size - b.size);
  return { x: moment ?? groups.find(({ size }) => size > 2)?.column ?? groups[0]?.column ?? columns[0], y: "",
    how: "sum" };
}

/**
 * Moments by the hour, the day or the month, so that a line has some hundred points at most.
 *
 * @param {number[]} moments
 * @returns {(moment: number) => number}
 */
function bucketOf(moments) {
  let low = Infinity, high = -Infinity;
  for (const one of moments) { low = Math.min(low, one); high = Math.max(high, one); }
  const span = high - low;
  if (moments.length < 100 || span === 0) return (moment) => moment;
  return (moment) => {
    const date = new Date(moment);
    if (span > 400 * DAY) return new Date(date.getFullYear(), date.getMonth()).getTime();
    if (span > 4 * DAY) return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
    return Math.floor(moment / 3600e3) * 3600e3;
  };
}

/**
 * @param {import("./rows.js").Result} result
 * @param {Axes} axes
 * @returns {HTMLElement}
 */
function draw({ items }, { x, y, how }) {
  const pairs = items.map((item) => ({ at: valueAt(item, x), value: y ? valueAt(item, y) : 1 }))
    .filter(({ at, value }) => at !== undefined && typeof value === "number");
  if (!pairs.length) return note("info", "These columns have no values to draw. Choose others.");
  const moments = pairs.map(({ at }) => momentOf(at)), isTime = moments.every((one) => one !== null);
  const bucket = isTime ? bucketOf(/** @type {number[]} */ (moments)) : null;
  /** @type {Map<string, { at: any, count: number, sum: number, min: number, max: number }>} */
  const groups = new Map();
  for (const [index, { at, value }] of pairs.entries()) {
    const place = bucket ? bucket(/** @type {number} */ (moments[index])) : at, name = asText(place);
    const group = groups.get(name) ?? { at: place, count: 0, sum: 0, min: Infinity, max: -Infinity };
    groups.set(name, Object.assign(group, {
      count: group.count + 1, sum: group.sum + value, min: Math.min(group.min, value), max: Math.max(group.max, value),
    }));
  }
  const valueOf = (/** @type {any} */ group) => y && how === "average" ? group.sum / group.count : y ? group[how]
    : group.count;
  const label = y ? `${KINDS.find(([kind]) => kind === how)?.[1]} of ${y} by ${x}` : `Count by ${x}`;
  const all = [...groups.values()], isNumber = all.every(({ at }) => typeof at === "number");
  if (all.length > 1 && (isTime || (isNumber && all.length > 30))) {
    return lineChart({ label, xKind: isTime ? "time" : "number", height: 320,
      series: [{ label, points: all.map((group) => [group.at, valueOf(group)]) }] });
  }
  const bars = all.sort((a, b) => isNumber ? compare(a.at, b.at) : valueOf(b) - valueOf(a));
  return h("div.column", null, barChart({ label, bars: bars.slice(0, BARS).map((group) =>
    ({ label: Array.isArray(group.at) ? group.at.map(asText).join(" / ") : asText(group.at),
    value: valueOf(group) })) }),
    bars.length > BARS && h("p.small.soft", null, `The first ${BARS} of ${plainNumber(bars.length)} groups.`));
}

/**
 * @param {import("./rows.js").Result} result
 * @param {Partial<Axes>} chosen What was chosen before; it stays where the columns are still there.
 * @param {(axes: Axes) => void} onChange
 * @returns {HTMLElement}
 */
export function chartView(result, chosen, onChange) {
  const first = firstChoice(result), hasKey = result.items.some((item) => item.key !== undefined);
  const columns = [...new Set([...(hasKey ? ["key"] : []), ...result.columns])];
  const axes = chosen.x !== undefined && columns.includes(chosen.x) ? { ...first, ...chosen } : first;
  const numeric = result.columns.filter((column) => result.items.slice(0, 200).some((item) =>
    typeof valueAt(item, column) === "number"));
  if (axes.y && !numeric.includes(axes.y)) axes.y = "";
  const place = h("div");
  const show = () => { how.disabled = !axes.y; fill(place, draw(result, axes)); onChange(axes); };
  const x = select(columns.map((value) => ({ value, label: value })), axes.x,
    { onchange: () => { axes.x = x.value; show(); } });
  const y = select([{ value: "", label: "Number of rows" }, ...numeric.map((value) => ({ value, label: value }))],
    axes.y, { onchange: () => { axes.y = y.value; show(); } });
  const how = select(KINDS.map(([value, label]) => ({ value, label })), axes.how,
    { onchange: () => { axes.how = how.value; show(); } });
  show();
  return h("div.column", null, h("div.triple", null, field({ label: "Groups (x)", input: x }),
    field({ label: "Number (y)", input: y }), field({ label: "Combined by", input: how })), place);
}
