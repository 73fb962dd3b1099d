// SPDX-License-Identifier: Apache-2.0

import { rowsOf } from "../api/couch.js";
import { debounce, h } from "../core/dom.js";
import { link } from "../core/router.js";

const AT_ONCE = 100;
const LONGEST = 200;

/**
 * Makes links of the strings in a tree of JSON that are IDs of documents of the same database. Those that come into
 * sight are asked for, many at once.
 *
 * @param {HTMLElement} element
 * @param {string} database
 * @param {string} own The ID of the document itself.
 * @param {AbortSignal} signal
 */
export function linkDocuments(element, database, own, signal) {
  /** @type {Map<string, HTMLElement[]>} */
  const waiting = new Map();
  const seen = new WeakSet();
  const ask = debounce(async () => {
    const keys = [...waiting.keys()].slice(0, AT_ONCE);
    if (!keys.length || signal.aborted) return;
    const places = keys.map((key) => waiting.get(key) ?? []);
    for (const key of keys) waiting.delete(key);
    try {
      const rows = await rowsOf(database, keys, { signal });
      keys.forEach((id, index) => {
        if (!rows[index]?.id || rows[index].value?.deleted || rows[index].error) return;
        for (const place of places[index]) {
          const target = h("a", { href: link("db", database, "doc", id), title: `Open the document ${id}` });
          place.replaceWith(target);
          target.append(place);
        }
      });
    } catch { /* Without an answer the strings stay as they are. */ }
    if (waiting.size) ask();
  }, 100);
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      sight.unobserve(entry.target);
      const id = stringIn(entry.target);
      if (id === null || id === own) continue;
      waiting.set(id, [...waiting.get(id) ?? [], /** @type {HTMLElement} */ (entry.target)]);
      ask();
    }
  });
  const look = () => {
    for (const place of element.querySelectorAll(".string")) {
      if (seen.has(place)) continue;
      seen.add(place);
      sight.observe(place);
    }
  };
  const changes = new MutationObserver(look);
  changes.observe(element, { childList: true, subtree: true });
  look();
  signal.addEventListener("abort", () => { changes.disconnect(); sight.disconnect(); }, { once: true });
}

/**
 * @param {Element} place
 * @returns {string | null}
 */
function stringIn(place) {
  const text = place.textContent ?? "";
  if (text.length < 3 || text.length > LONGEST) return null;
  try { return JSON.parse(text); } catch { return null; }
}
