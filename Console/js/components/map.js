// SPDX-License-Identifier: Apache-2.0

import { apply, fill, h, svg } from "../core/dom.js";
import { plural } from "../core/format.js";
import { useStyle } from "../core/style.js";
import { button } from "./button.js";

await useStyle("chart");

/**
 * Points on a map, in Mercator's projection: land in rough outline, a graticule with its degrees, and points that lie
 * close together as one circle with their number. It loads nothing: no tiles, and no request that would tell another
 * server what one looks at.
 *
 * Drag, turn the wheel, or use the keys: arrows move, + and - zoom, 0 shows all points.
 *
 * @typedef {{ lat: number, lon: number, label: string, href?: string }} Point
 */

/** Coasts as longitude and latitude, drawn by hand to some three degrees; below that scale they are an ornament. */
const LAND = [
  "-6 36 10 37 11 34 20 31 33 31 35 28 43 12 51 12 40 -4 40 -15 35 -20 33 -27 27 -34 18 -34 12 -17 9 -1 9 4 4 6 -8 "
    + "4 -17 14 -16 21 -10 30",
  "-81 -4 -80 2 -76 9 -72 12 -62 11 -52 5 -50 0 -35 -6 -39 -14 -41 -22 -48 -26 -53 -34 -58 -38 -65 -41 -66 -47 -69 "
    + "-52 -72 -54 -75 -48 -73 -38 -71 -30 -70 -18 -76 -14",
  "-168 66 -162 59 -157 57 -150 60 -140 60 -132 55 -125 48 -124 40 -117 33 -110 23 -112 30 -106 22 -95 16 -84 10 "
    + "-80 8 -83 15 -88 16 -87 21 -91 19 -97 22 -97 28 -90 30 -84 30 -81 25 -81 31 -76 35 -70 42 -66 44 -60 46 -66 50 "
    + "-56 52 -64 60 -70 61 -78 62 -77 56 -80 51 -85 55 -94 59 -93 63 -82 68 -90 69 -110 68 -128 70 -156 71",
  "-9 37 -9 43 -2 44 -4 48 2 51 8 54 10 57 14 54 21 55 24 59 30 60 24 65 18 60 15 56 11 59 5 60 12 66 20 70 30 71 "
    + "41 67 34 65 44 66 54 69 68 69 80 73 104 77 114 74 130 71 160 70 180 68 178 62 163 60 162 55 157 51 156 57 160 "
    + "61 142 59 135 54 141 50 136 43 128 40 129 35 126 37 121 39 118 38 122 36 120 34 122 30 119 25 110 21 106 19 109 "
    + "12 105 9 100 13 104 1 98 8 97 17 90 22 80 14 78 8 73 18 72 21 66 25 57 26 50 30 52 24 57 24 59 22 54 17 45 13 "
    + "43 14 39 21 35 28 34 31 36 36 27 37 27 40 41 41 37 45 31 46 27 42 24 38 22 37 19 42 13 46 16 41 16 38 12 42 8 "
    + "44 3 42 -1 37",
  "114 -22 122 -18 130 -12 137 -12 136 -15 141 -17 142 -11 146 -19 153 -26 150 -37 146 -39 138 -35 131 -31 124 -33 "
    + "115 -34",
  "-55 60 -44 60 -40 65 -22 70 -20 75 -17 80 -35 83 -60 82 -73 78 -60 76 -53 69", "-5 50 1 51 0 53 -3 58 -5 58 -3 54",
    "-10 52 -6 52 -6 55 -10 54",
  "131 31 136 34 140 35 142 40 141 43 145 43 142 45 140 42 139 38 132 35", "44 -25 47 -25 50 -15 49 -12 44 -17",
    "109 1 117 7 119 5 116 -4 110 -3",
  "95 5 104 -2 106 -6 102 -4", "105 -6 114 -7 114 -8 106 -7", "131 -1 141 -3 150 -10 138 -8",
    "173 -35 178 -38 175 -41", "173 -41 170 -46 167 -46 171 -42", "-24 65 -18 66 -14 65 -19 63",
  "119 1 125 1 123 -5 120 -5", "120 18 122 18 126 7 122 8", "-84 22 -75 20 -77 20",
];
const CELL = 44, WIDEST = 85;

const projectX = (/** @type {number} */ lon) => (lon + 180) / 360;
const projectY = (/** @type {number} */ lat) => {
  const angle = Math.max(-WIDEST, Math.min(WIDEST, lat)) * Math.PI / 180;
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + angle / 2)) / (2 * Math.PI);
};
const latitudeAt = (/** @type {number} */ y) =>
  (2 * Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) - Math.PI / 2) * 180 / Math.PI;

/** The world as a square of one: each outline as numbers, so that a zoom only scales them. */
const OUTLINES = LAND.map((text) => {
  const numbers = text.split(" ").map(Number);
  return numbers.flatMap((value, index) => index % 2 ? [] : [[projectX(value), projectY(numbers[index + 1])]]);
});

/**
 * @param {{ label: string, points: Point[], height?: number }} options
 * @returns {HTMLElement}
 */
export function pointMap({ label, points, height = 420 }) {
  const places = project(points);
  /** What is in the middle, and how many pixels the world is wide. */
  let x = 0.5, y = 0.5, scale = 0, width = 0;
  const land = svg("path", { class: "land" }), lines = svg("g", { class: "graticule", "aria-hidden": "true" }),
    marks = svg("g");
  const drawing = svg("svg", { role: "group", tabindex: 0, height }, land, lines, marks);
  const element = h("div.chart.map", null, drawing, h("div.tools", null,
    button({ label: "+", kind: "small", props: { "aria-label": "Zoom in" }, onclick: () => zoom(2) }),
    button({ label: "−", kind: "small", props: { "aria-label": "Zoom out" }, onclick: () => zoom(0.5) }),
    button({ label: "All", kind: "small", props: { "aria-label": "Show all points" }, onclick: () => { fit(places);
      draw(); } })));

  const fit = (/** @type {{ x: number, y: number }[]} */ all) => {
    if (!all.length) { scale = width; x = y = 0.5; return; }
    let left = 1, right = 0, top = 1, bottom = 0;
    for (const one of all) { left = Math.min(left, one.x); right = Math.max(right, one.x); top = Math.min(top, one.y);
      bottom = Math.max(bottom, one.y); }
    x = (left + right) / 2;
    y = (top + bottom) / 2;
    scale = Math.max(width * 0.7, Math.min((width - 80) / Math.max(right - left, 1e-6),
      (height - 80) / Math.max(bottom - top, 1e-6), 2 ** 24));
  };
  const zoom = (/** @type {number} */ factor, atX = width / 2, atY = height / 2) => {
    const next = Math.max(width * 0.5, Math.min(2 ** 26, scale * factor));
    x += (atX - width / 2) * (1 / scale - 1 / next);
    y += (atY - height / 2) * (1 / scale - 1 / next);
    scale = next;
    draw();
  };
  const move = (/** @type {number} */ right, /** @type {number} */ down) => {
    x = Math.max(0, Math.min(1, x + right / scale));
    y = Math.max(0, Math.min(1, y + down / scale));
    draw();
  };
  const draw = () => {
    if (!width) return;
    const screenX = (/** @type {number} */ at) => (at - x) * scale + width / 2,
      screenY = (/** @type {number} */ at) => (at - y) * scale + height / 2;
    apply(drawing, { width, viewBox: `0 0 ${width} ${height}`, "aria-label":
      `${label}: a map of ${plural(points.length, "point")}. Arrow keys move it, + and - zoom, 0 shows all.` });
    // Outlines of three degrees would mislead close by.
    land.setAttribute("d", scale > 40000 ? "" : OUTLINES.map((outline) =>
      `M${outline.map(([a, b]) => `${screenX(a).toFixed(1)} ${screenY(b).toFixed(1)}`).join("L")}Z`).join(""));
    fill(lines, graticule(x - width / 2 / scale, x + width / 2 / scale, y - height / 2 / scale,
      y + height / 2 / scale, scale).map(({ lon, lat, text }) =>
      lon !== undefined
        ? [svg("line", { x1: screenX(projectX(lon)), x2: screenX(projectX(lon)), y1: 0, y2: height }),
          svg("text", { x: screenX(projectX(lon)) + 3, y: height - 4 }, text)]
        : [svg("line", { x1: 0, x2: width, y1: screenY(projectY(lat ?? 0)), y2: screenY(projectY(lat ?? 0)) }),
          svg("text", { x: 4, y: screenY(projectY(lat ?? 0)) - 3 }, text)]));
    const held = document.activeElement instanceof Element ? document.activeElement.getAttribute("data-at") : null;
    fill(marks, clusters(places, screenX, screenY, width, height).map(({ members, x: atX, y: atY }) => {
      const isOne = members.length === 1, point = points[members[0]];
      const says = isOne ? `${point.label} at ${point.lat.toFixed(4)}, ${point.lon.toFixed(4)}`
        : `${plural(members.length, "point")}: zoom in`;
      const radius = isOne ? 5 : 9 + Math.min(13, 3 * Math.log2(members.length));
      const body = [svg("title", null, says), svg("circle", { cx: atX, cy: atY, r: radius }), !isOne
        && svg("text", { x: atX, y: atY + 4, "text-anchor": "middle" }, String(members.length))];
      if (isOne && point.href) return svg("a", { class: "mark", href: point.href, "aria-label": says,
        "data-at": members[0] }, body);
      const open = () => {
        const own = members.map((index) => places[index]), before = scale;
        fit(own);
        if (scale <= before * 1.01) scale = Math.min(2 ** 26, before * 2);
        draw();
      };
      return svg("g", isOne ? { class: "mark" } : { class: "mark many", role: "button", tabindex: 0,
        "aria-label": says, "data-at": members[0], onclick: open,
        onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter"
          || event.key === " ") { event.preventDefault(); open(); } } }, body);
    }));
    if (held) /** @type {any} */ (marks.querySelector(`[data-at="${CSS.escape(held)}"]`) ?? drawing).focus();
  };

  drawing.addEventListener("keydown", (one) => {
    const event = /** @type {KeyboardEvent} */ (one), step = { ArrowLeft: [-60, 0], ArrowRight: [60, 0],
      ArrowUp: [0, -60], ArrowDown: [0, 60] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) move(step[0], step[1]);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") { fit(places); draw(); }
    else return;
    event.preventDefault();
  });
  drawing.addEventListener("wheel", (one) => {
    const event = /** @type {WheelEvent} */ (one), box = drawing.getBoundingClientRect();
    event.preventDefault();
    zoom(2 ** (-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  drawing.addEventListener("pointerdown", (one) => {
    const event = /** @type {PointerEvent} */ (one);
    if (event.target instanceof Element && event.target.closest(".mark")) return;
    drawing.setPointerCapture(event.pointerId);
    let [lastX, lastY] = [event.clientX, event.clientY];
    const drag = (/** @type {any} */ next) => { move(lastX - next.clientX, lastY - next.clientY);
      [lastX, lastY] = [next.clientX, next.clientY]; };
    drawing.addEventListener("pointermove", drag);
    for (const end of ["pointerup", "pointercancel"]) drawing.addEventListener(end, () =>
      drawing.removeEventListener("pointermove", drag), { once: true });
  });
  new ResizeObserver(() => {
    const before = width;
    width = Math.floor(element.clientWidth);
    if (width && width !== before) { if (!before) fit(places); draw(); }
  }).observe(element);
  return element;
}

/** @param {Point[]} points */
const project = (points) => points.map(({ lat, lon }) => ({ x: projectX(lon), y: projectY(lat) }));

/**
 * Points in sight by the cell of the screen that they are in. Cells begin where the world does, so that a move does not
 * change them.
 *
 * @param {{ x: number, y: number }[]} places
 * @param {(x: number) => number} screenX
 * @param {(y: number) => number} screenY
 * @param {number} width
 * @param {number} height
 * @returns {{ members: number[], x: number, y: number }[]}
 */
function clusters(places, screenX, screenY, width, height) {
  /** @type {Map<string, { members: number[], x: number, y: number }>} */
  const cells = new Map();
  const originX = screenX(0), originY = screenY(0);
  for (const [index, place] of places.entries()) {
    const x = screenX(place.x), y = screenY(place.y);
    if (x < -CELL || x > width + CELL || y < -CELL || y > height + CELL) continue;
    const name = `${Math.floor((x - originX) / CELL)} ${Math.floor((y - originY) / CELL)}`, cell = cells.get(name);
    if (!cell) { cells.set(name, { members: [index], x, y }); continue; }
    cell.members.push(index);
    cell.x += (x - cell.x) / cell.members.length;
    cell.y += (y - cell.y) / cell.members.length;
  }
  return [...cells.values()];
}

/**
 * Meridians and parallels in sight, at a round distance of some 120 pixels.
 *
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} bottom
 * @param {number} scale
 * @returns {{ lon?: number, lat?: number, text: string }[]}
 */
function graticule(left, right, top, bottom, scale) {
  const step = [30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001].reverse().find((one) =>
    one / 360 * scale > 90) ?? 30;
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const say = (/** @type {number} */ value, /** @type {string} */ plus, /** @type {string} */ minus) =>
    `${Math.abs(value).toFixed(digits)}°${value > 0 ? plus : value < 0 ? minus : ""}`;
  const between = (/** @type {number} */ low, /** @type {number} */ high) => {
    const first = Math.ceil(low / step), last = Math.floor(high / step);
    return Array.from({ length: Math.max(0, Math.min(60, last - first + 1)) }, (_, index) => (first + index) * step);
  };
  return [...between(Math.max(-180, left * 360 - 180), Math.min(180, right * 360 - 180)).map((lon) =>
    ({ lon, text: say(lon, "E", "W") })),
    ...between(Math.max(-80, latitudeAt(bottom)), Math.min(80, latitudeAt(top))).map((lat) =>
      ({ lat, text: say(lat, "N", "S") }))];
}
