// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";

/**
 * A JSON value to read, with objects and arrays that fold. What looks like the ID of another document is a link where
 * `href` says so.
 *
 * Values of a thousand items show the first hundred, and the rest when asked for.
 *
 * @param {any} value
 * @param {{ open?: number, href?: (text: string, key: string | number | null) => string | null }} options `open`: how
 *   many levels are open at first.
 * @returns {HTMLElement}
 */
export function jsonView(value, { open = 2, href } = {}) {
  return h("div.json", null, draw(value, null, open, href));
}

const AT_ONCE = 100;

/**
 * @param {any} value
 * @param {string | number | null} key
 * @param {number} open
 * @param {((text: string, key: string | number | null) => string | null) | undefined} href
 * @returns {Node}
 */
function draw(value, key, open, href) {
  const name = typeof key === "string" ? [h("span.key", null, JSON.stringify(key)), h("span.mark", null, ": ")] : [];
  if (value === null || typeof value !== "object") return h("span", null, name, scalar(value, key, href));
  const isArray = Array.isArray(value);
  const [before, after] = isArray ? ["[", "]"] : ["{", "}"];
  const keys = isArray ? null : Object.keys(value);
  const length = keys ? keys.length : value.length;
  if (length === 0) return h("span", null, name, h("span.mark", null, before + after));
  const items = h("div.items");
  let shown = 0;
  const more = (/** @type {number} */ count) => {
    const end = Math.min(length, shown + count);
    for (; shown < end; shown += 1) {
      const at = keys ? keys[shown] : shown;
      items.append(h("div.item", null, draw(value[at], keys ? at : null, open - 1, href)));
    }
    if (shown < length) {
      const rest = h("button.button.small.plain", {
        type: "button",
        onclick: () => { rest.remove(); more(AT_ONCE * 10); },
      }, `${length - shown} more`);
      items.append(rest);
    }
  };
  const details = h("details", {
    open: open > 0,
    ontoggle: () => { if (details.open && shown === 0) more(AT_ONCE); },
  },
  h("summary", null, name, h("span.mark", null, before),
    h("span.count.mark", null, `${length} ${isArray ? "items" : "properties"}${after}`)),
  items, h("span.mark", null, after));
  if (open > 0) more(AT_ONCE);
  return details;
}

/**
 * @param {any} value
 * @param {string | number | null} key
 * @param {((text: string, key: string | number | null) => string | null) | undefined} href
 * @returns {Node}
 */
function scalar(value, key, href) {
  if (typeof value === "string") {
    const target = href?.(value, key);
    const text = h("span.string", null, JSON.stringify(value));
    return target ? h("a", { href: target }, text) : text;
  }
  return h(typeof value === "number" ? "span.numeral" : "span.word", null, String(value));
}
