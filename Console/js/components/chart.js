// SPDX-License-Identifier: Apache-2.0

import { apply, fill, h, svg } from "../core/dom.js";
import { plural, time } from "../core/format.js";
import { useStyle } from "../core/style.js";
import { numberAxis, plainNumber, timeAxis } from "./scale.js";

await useStyle("chart");

/**
 * Charts that fit their container. Each is drawn anew in one go when its data or its width changes, so a live one does
 * not flicker.
 *
 * A chart is an image with a summary for screen readers, and a table of its values follows it unseen. A line chart
 * takes the focus: the arrow keys go from point to point and the values are told.
 *
 * @typedef {{ label: string, points: [x: any, y: number | null][] }} Series A moment `x` is milliseconds, a Date or
 *   ISO text.
 * @typedef {{ label: string, series: Series[], xKind?: "time" | "number", height?: number, format?: (y: number) =>
 *   string }} Lines
 * @typedef {{ label: string, value: number }} Bar
 * @typedef {{ label: string, bars: Bar[], format?: (value: number) => string }} Bars
 * @typedef {{ label: string, values: (number | null)[], room?: number, width?: number, height?: number,
 *   format?: (value: number) => string }} Spark The width is for `room` values, of which the latest stand at the right.
 */

/** How wide a character of an axis is, at most on the average. */
const LETTER = 6.8;
/** The hidden table of a chart has at most so many rows. */
const TOLD = 200;

/** @param {number} index */
const colour = (index) => `var(--series-${index % 6 + 1})`;

/**
 * Calls a function when an element has a width, and when its width changes.
 *
 * @param {HTMLElement} element
 * @param {(width: number) => void} draw
 */
function onWidth(element, draw) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width && width !== last) draw(last = width);
  }).observe(element);
}

/**
 * @param {string} label
 * @param {string[]} head
 * @param {string[][]} rows
 * @returns {HTMLElement}
 */
function unseenTable(label, head, rows) {
  const step = Math.ceil(rows.length / TOLD);
  return h("div.unseen", null, h("table", null, h("caption", null, step > 1
    ? `${label}: one in ${step} of ${rows.length} values` : label),
    h("thead", null, h("tr", null, head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, rows.filter((_, index) => index % step === 0).map((row) =>
      h("tr", null, row.map((text, index) => index ? h("td", null, text) : h("th", { scope: "row" }, text)))))));
}

/**
 * Lines over time or numbers. A `y` of null is a gap.
 *
 * @param {Lines} options
 * @returns {HTMLElement & { update: (options: Partial<Lines>) => void }}
 */
export function lineChart(options) {
  let data = { xKind: "time", height: 220, format: plainNumber, ...options };
  const drawing = svg("svg", { role: "img", tabindex: 0 }), legend = h("div.legend"), rest = h("div");
  const tip = h("div.tip", { role: "status", hidden: true });
  const plot = h("div.plot", null, drawing, tip), element = h("div.chart", null, legend, plot, rest);
  const cursor = svg("g", { class: "cursor", "aria-hidden": "true" });
  /**
   * @type {{ series: [number, number | null][][], xs: number[], x: (at: number) => number, y: (value: number) => number
   * } | null}
   */
  let shown = null;
  let current = /** @type {number | null} */ (null), width = 0;

  const draw = () => {
    if (!width) return;
    const { format, height } = data;
    const series = data.series.map((one) => one.points.map(([x, y]) =>
      /** @type {[number, number | null]} */ ([numberOf(x), y])).sort((a, b) => a[0] - b[0]));
    const xs = xsOf(data.series).sort((a, b) => a - b);
    let low = 0, high = 0;
    for (const points of series) for (const [, y] of points) if (y !== null) { low = Math.min(low, y);
      high = Math.max(high, y); }
    const yAxis = numberAxis(low, high, Math.max(2, Math.floor(height / 50)), format);
    const left = Math.max(...yAxis.ticks.map(({ label }) => label.length)) * LETTER + 12, right = 16, top = 10,
      bottom = 24;
    const make = data.xKind === "time" ? timeAxis : numberAxis;
    const xAxis = make(xs[0] ?? 0, xs[xs.length - 1] ?? 1, Math.max(1, Math.floor((width - left) / 90)));
    const x = (/** @type {number} */ at) => left + (at - xAxis.low) / (xAxis.high - xAxis.low) * (width - left - right);
    const y = (/** @type {number} */ value) =>
      height - bottom - (value - yAxis.low) / (yAxis.high - yAxis.low) * (height - top - bottom);
    shown = { series, xs, x, y };
    apply(drawing, { width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": summary(data, series, xs) });
    fill(drawing,
      yAxis.ticks.map(({ at, label }) => [
        svg("line", { class: at === 0 ? "base" : "rule", x1: left, x2: width - right, y1: y(at), y2: y(at) }),
        svg("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, label)]),
      xAxis.ticks.map(({ at, label }) => svg("text", { x: Math.min(x(at), width - label.length * LETTER / 2),
        y: height - 6, "text-anchor": "middle" }, label)),
      series.map((points, index) => svg("path", { class: "line", style: { stroke: colour(index) },
        d: route(points, x, y, width) })),
      // A single point has no line.
      series.map((points, index) => points.length < 40 && points.map(([at, value]) => value !== null
        && svg("circle", { cx: x(at), cy: y(value), r: 2.5, style: { fill: colour(index) } }))),
      xs.length === 0 && svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "No values yet"),
      cursor);
    point();
  };

  /** Shows the values at the current x. */
  const point = () => {
    fill(cursor);
    tip.hidden = current === null || !shown?.xs.length;
    if (tip.hidden || !shown || current === null) return;
    const { series, xs, x, y } = shown, at = xs[Math.min(current, xs.length - 1)];
    const values = series.map((points) => points.find((one) => one[0] === at)?.[1] ?? null);
    cursor.append(svg("line", { x1: x(at), x2: x(at), y1: 10, y2: data.height - 24 }),
      ...values.flatMap((value, index) => value === null ? []
        : [svg("circle", { cx: x(at), cy: y(value), r: 4, style: { fill: colour(index) } })]));
    fill(tip, h("div.strong", null, sayX(at, data.xKind)), values.map((value, index) => value !== null
      && h("div", null, h("i", { style: { background: colour(index) } }),
        `${data.series[index].label}: ${data.format(value)}`)));
    tip.style.setProperty("left", `${x(at) > width / 2 ? Math.max(0, x(at) - tip.offsetWidth - 10) : x(at) + 10}px`);
  };

  drawing.addEventListener("pointermove", (event) => {
    if (!shown) return;
    const at = /** @type {PointerEvent} */ (event).clientX - drawing.getBoundingClientRect().left;
    current = nearest(shown.xs, shown.x, at);
    point();
  });
  const leave = () => { current = null; point(); };
  drawing.addEventListener("pointerleave", leave);
  drawing.addEventListener("blur", leave);
  drawing.addEventListener("keydown", (one) => {
    const event = /** @type {KeyboardEvent} */ (one), last = (shown?.xs.length ?? 0) - 1, now = current ?? last + 1;
    const to = { ArrowRight: current === null ? 0 : now + 1, ArrowLeft: now - 1, Home: 0, End: last, PageUp: now - 10,
      PageDown: now + 10 }[event.key];
    if (event.key === "Escape") leave();
    if (to === undefined) return;
    current = Math.max(0, Math.min(last, to));
    point();
    event.preventDefault();
  });
  const update = (/** @type {Partial<Lines>} */ more) => {
    data = { ...data, ...more };
    fill(legend, data.series.length > 1 && data.series.map((one, index) =>
      h("span", null, h("i", { style: { background: colour(index) } }), one.label)));
    draw();
    const xs = shown?.xs ?? xsOf(data.series);
    const maps = data.series.map((one) => new Map(one.points.map(([x, y]) => [numberOf(x), y])));
    fill(rest, unseenTable(data.label, [data.xKind === "time" ? "Time" : "x", ...data.series.map((one) => one.label)],
      xs.map((x) => [sayX(x, data.xKind), ...maps.map((map) => { const y = map.get(x); return y === null
        || y === undefined ? "" : data.format(y); })])));
  };
  update({});
  onWidth(plot, (now) => { width = now; draw(); });
  return Object.assign(element, { update });
}

/** @param {any} x */
const numberOf = (x) => typeof x === "number" ? x : new Date(x).getTime();

/** @param {Series[]} series */
const xsOf = (series) => [...new Set(series.flatMap((one) => one.points.map(([x]) => numberOf(x))))];

/**
 * @param {number} x
 * @param {string} kind
 */
const sayX = (x, kind) => kind === "time" ? time(x) : plainNumber(x);

/**
 * @param {{ label: string, series: Series[], xKind: string, format: (y: number) => string }} data
 * @param {[number, number | null][][]} series
 * @param {number[]} xs
 * @returns {string}
 */
function summary(data, series, xs) {
  const parts = series.map((points, index) => {
    const last = points.filter(([, y]) => y !== null).pop();
    return last ? `${data.series[index].label} is ${data.format(/** @type {number} */ (last[1]))} at the end`
      : `${data.series[index].label} has no values`;
  });
  const span = xs.length ? `, from ${sayX(xs[0], data.xKind)} to ${sayX(xs[xs.length - 1], data.xKind)}` : "";
  return `${data.label}${span}. ${parts.join("; ")}. The arrow keys go through the values.`;
}

/**
 * The path through points. Of more than two a pixel, the lowest and the highest of each pixel are drawn.
 *
 * @param {[number, number | null][]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 * @param {number} width
 * @returns {string}
 */
function route(points, x, y, width) {
  let text = "", pen = "M", used = points;
  if (points.length > 2 * width) {
    used = [];
    for (let start = 0; start < points.length;) {
      const pixel = Math.round(x(points[start][0]));
      let low = points[start], high = low;
      for (; start < points.length && Math.round(x(points[start][0])) === pixel; start += 1) {
        const value = points[start][1];
        if (value === null) continue;
        if (low[1] === null || value < low[1]) low = points[start];
        if (high[1] === null || value > high[1]) high = points[start];
      }
      used.push(...(low === high ? [low] : low[0] <= high[0] ? [low, high] : [high, low]));
    }
  }
  for (const [at, value] of used) {
    if (value === null) { pen = "M"; continue; }
    text += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  }
  return text;
}

/**
 * @param {number[]} xs
 * @param {(at: number) => number} x
 * @param {number} at
 * @returns {number | null}
 */
function nearest(xs, x, at) {
  if (!xs.length) return null;
  let low = 0, high = xs.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (x(xs[middle]) < at) low = middle; else high = middle; }
  return Math.abs(x(xs[low]) - at) <= Math.abs(x(xs[high]) - at) ? low : high;
}

/**
 * Bars from left to right, each with its label and its value.
 *
 * @param {Bars} options
 * @returns {HTMLElement & { update: (options: Partial<Bars>) => void }}
 */
export function barChart(options) {
  let data = { format: plainNumber, ...options };
  const drawing = svg("svg", { role: "img" }), rest = h("div");
  const plot = h("div.plot", null, drawing), element = h("div.chart", null, plot, rest);
  let width = 0;
  const draw = () => {
    if (!width) return;
    const { bars, format } = data, step = 26, top = 4, bottom = 22,
      height = Math.max(1, bars.length) * step + top + bottom;
    const longest = (/** @type {string[]} */ texts) => Math.max(1, ...texts.map((text) => text.length)) * LETTER + 10;
    const left = Math.min(width * 0.35, longest(bars.map((bar) => bar.label))),
      right = longest(bars.map((bar) => format(bar.value)));
    const values = bars.map((bar) => bar.value).filter(Number.isFinite);
    const axis = numberAxis(Math.min(0, ...values), Math.max(0, ...values),
      Math.max(1, Math.floor((width - left - right) / 80)), format);
    const x = (/** @type {number} */ at) => left + (at - axis.low) / (axis.high - axis.low) * Math.max(1,
      width - left - right);
    const letters = Math.max(1, Math.floor((left - 10) / LETTER));
    apply(drawing, { width, height, viewBox: `0 0 ${width} ${height}`,
      "aria-label": `${data.label}, ${plural(bars.length, "bar")}` });
    fill(drawing,
      axis.ticks.map(({ at, label }) => [
        svg("line", { class: at === 0 ? "base" : "rule", x1: x(at), x2: x(at), y1: top, y2: height - bottom }),
        svg("text", { x: x(at), y: height - 6, "text-anchor": "middle", "aria-hidden": "true" }, label)]),
      bars.map((bar, index) => {
        const y = top + index * step, from = x(Math.min(0, bar.value)), to = x(Math.max(0, bar.value)),
          text = `${bar.label}: ${format(bar.value)}`;
        return svg("g", { class: "bar" },
        svg("title", null, text), svg("rect", { class: "hit", x: 0, y, width, height: step }),
        svg("text", { class: "name", x: left - 8, y: y + 17, "text-anchor": "end", direction: "ltr" },
          bar.label.length > letters ? `${bar.label.slice(0, letters - 1)}…` : bar.label),
        svg("rect", { class: "fill", x: from, y: y + 4, width: Math.max(1, to - from), height: step - 8, rx: 3 }),
        svg("text", { x: to + 6, y: y + 17 }, format(bar.value)));
      }),
      bars.length === 0 && svg("text", { x: width / 2, y: 18, "text-anchor": "middle" }, "No values yet"));
  };
  const update = (/** @type {Partial<Bars>} */ more) => {
    data = { ...data, ...more };
    draw();
    fill(rest, unseenTable(data.label, ["Name", "Value"], data.bars.map((bar) => [bar.label, data.format(bar.value)])));
  };
  update({});
  onWidth(plot, (now) => { width = now; draw(); });
  return Object.assign(element, { update });
}

/**
 * A line as small as a word.
 *
 * @param {Spark} options
 * @returns {HTMLElement & { update: (options: Partial<Spark>) => void }}
 */
export function sparkline(options) {
  let data = { width: 120, height: 28, format: plainNumber, ...options };
  const drawing = svg("svg", { role: "img" }), element = h("span.sparkline", null, drawing);
  const update = (/** @type {Partial<Spark>} */ more) => {
    data = { ...data, ...more };
    const { values, room = 0, width, height, format } = data, known = /** @type {number[]} */ (values.filter((value) =>
      value !== null));
    const low = Math.min(0, ...known), high = Math.max(0, ...known) || (low < 0 ? 0 : 1),
      last = known[known.length - 1];
    const step = (width - 6) / Math.max(1, room - 1, values.length - 1);
    const x = (/** @type {number} */ at) => room ? width - 4 - (values.length - 1 - at) * step : 2 + at * step;
    const y = (/** @type {number} */ value) => height - 3 - (value - low) / (high - low) * (height - 6);
    const line = route(values.map((value, index) => [index, value]), x, y, width);
    const says = known.length
      ? `${data.label}: ${format(last)} now, from ${format(Math.min(...known))} to ${format(Math.max(...known))}`
      : `${data.label}: no values yet`;
    apply(drawing, { width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": says });
    fill(drawing, svg("title", null, says), svg("path", { class: "line", d: line }),
      known.length > 0 && svg("circle", { cx: x(values.lastIndexOf(last)), cy: y(last), r: 2.5 }));
  };
  update({});
  return Object.assign(element, { update });
}
