// SPDX-License-Identifier: Apache-2.0

import { svg } from "../core/dom.js";

/** Readers want a light border of four modules around a code. */
const BORDER = 4;

/**
 * A QR code, black on white in every scheme: most readers refuse an inverted one.
 *
 * @param {string[]} modules A row each, such as "0110"; 1 is dark.
 * @param {string} label
 * @returns {SVGElement}
 */
export function qrPicture(modules, label) {
  const side = modules.length + 2 * BORDER, start = -BORDER;
  const runs = modules.flatMap((row, y) =>
    [...row.matchAll(/1+/g)].map(({ 0: { length }, index }) => `M${index} ${y}h${length}v1h-${length}z`));
  return svg("svg", { role: "img", "aria-label": label, viewBox: `${start} ${start} ${side} ${side}`,
    "shape-rendering": "crispEdges" },
  svg("rect", { x: start, y: start, width: side, height: side, fill: "#fff" }),
  svg("path", { d: runs.join(""), fill: "#000" }));
}
