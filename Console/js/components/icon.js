// SPDX-License-Identifier: Apache-2.0

import { svg } from "../core/dom.js";

/** Icons of 24 by 24, drawn as lines: each is the `d` of a path. */
const PATHS = {
  add: "M12 5v14M5 12h14",
  alert: "M12 8v5M12 16.500v.5"
    + "M10.300 3.900 2.500 17.500A2 2 0 0 0 4.200 20.500h15.600a2 2 0 0 0 1.700-3L13.700 3.900a2 2 0 0 0-3.400 0Z",
  ask: "M4 5h16M4 10h9M4 15h6M15.500 17.500 20 22M17 14.500a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z",
  attach: "m20 11-8.500 8.500a5 5 0 0 1-7-7L13 4a3.300 3.300 0 0 1 4.700 4.700l-8.500 8.500"
    + "a1.700 1.700 0 0 1-2.400-2.400L14.500 7",
  back: "M15 5l-7 7 7 7",
  chart: "M4 20h16M7 16v-5M12 16V5M17 16v-8",
  check: "m5 12.500 4.500 4.500L19 7",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  database: "M4 6c0-1.700 3.600-3 8-3s8 1.300 8 3-3.600 3-8 3-8-1.300-8-3Z"
    + "M4 6v12c0 1.700 3.600 3 8 3s8-1.300 8-3V6M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3",
  delete: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  document: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  down: "m6 9 6 6 6-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  filter: "M4 5h16l-6 8v6l-4-2v-4z",
  fork: "M7 4v16M7 14c0-4 10-2 10-7M7 6.500a2.500 2.500 0 1 0 0-5M17 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  history: "M4 12a8 8 0 1 0 2.500-5.800L4 8.500M4 4v4.500h4.500M12 8v4.500l3 2",
  index: "M4 6h10M4 12h7M4 18h10M17 5v14M14 16l3 3 3-3",
  info: "M12 11v6M12 7.500v.5M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z",
  key: "M15 9a1 1 0 1 0 0-.01M10.500 13.500 4 20v1h4v-2h2v-2h2l1.500-1.500a5.500 5.500 0 1 0-3-2Z",
  link: "M10 14a4 4 0 0 0 6 .500l3-3a4 4 0 0 0-5.700-5.700L12 7"
    + "M14 10a4 4 0 0 0-6-.500l-3 3a4 4 0 0 0 5.700 5.700L12 17",
  live: "M3 12h4l3-8 4 16 3-8h4",
  lock: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3",
  map: "M9 4 3 6.500V20l6-2.500 6 2.500 6-2.500V4l-6 2.500zM9 4v13.500M15 6.500V20",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12v.01M12 12v.01M19 12v.01",
  next: "m9 5 7 7-7 7",
  pause: "M8 5v14M16 5v14",
  play: "M7 4.500v15l12-7.500z",
  qr: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM18 14h2M14 20v-2",
  refresh: "M20 12a8 8 0 1 1-2.500-5.800L20 8.500M20 4v4.500h-4.500",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  scheme: "M12 3a9 9 0 1 0 9 9 6.500 6.500 0 0 1-9-9Z",
  search: "M16.500 16.500 21 21M18.500 11a7.500 7.500 0 1 1-15 0 7.500 7.500 0 0 1 15 0Z",
  server: "M4 4h16v7H4zM4 13h16v7H4zM8 7.500v.01M8 16.500v.01",
  signOut: "M14 4H5v16h9M10 12h11M17 8l4 4-4 4",
  stop: "M6 6h12v12H6z",
  sync: "M4 9h13l-3-4M20 15H7l3 4",
  table: "M4 5h16v14H4zM4 10h16M10 10v9",
  undo: "M8 5 4 9l4 4M4 9h10a6 6 0 0 1 0 12h-3",
  up: "m6 15 6-6 6 6",
  upload: "M12 16V5M7 9l5-5 5 5M5 20h14",
  user: "M16 8a4 4 0 1 1-8 0 4 4 0 0 1 8 0ZM4 21c.500-4 4-6 8-6s7.500 2 8 6",
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * An icon, hidden from screen readers: the text or the label of what it stands in says the same.
 *
 * @param {IconName} name
 * @returns {SVGElement}
 */
export function icon(name) {
  return svg("svg", {
    class: "icon", viewBox: "0 0 24 24", fill: "none",
    stroke: "currentColor", "stroke-width": name === "more" ? 3 : 1.8,
    "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true",
  }, svg("path", { d: PATHS[name] }));
}
