// SPDX-License-Identifier: Apache-2.0

import { debounce, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { button } from "./button.js";
import { searchField } from "./field.js";

/**
 * The bar that finds a text in an editor, also inside what is folded.
 *
 * @param {object} editor
 * @param {() => string} editor.shown The text with its folds.
 * @param {() => { at: number, mark: string, text: string }[]} editor.folds
 * @param {(mark: string) => void} editor.unfold
 * @param {(from: number, to: number) => void} editor.select
 * @param {() => number} editor.caret
 * @param {() => void} editor.close
 * @returns {HTMLElement & { open: (text: string) => void }}
 */
export function findBar(editor) {
  const answer = h("span.small.soft", { role: "status" });
  const go = (/** @type {1 | -1} */ direction, from = editor.caret()) => {
    const wanted = field.input.value.toLowerCase();
    if (!wanted) { answer.textContent = ""; return; }
    for (;;) {
      const text = editor.shown().toLowerCase();
      const inFolds = editor.folds().filter((fold) => fold.text.toLowerCase().includes(wanted));
      const places = [...placesOf(text, wanted).map((at) => ({ at, mark: "" })), ...inFolds]
        .sort((a, b) => a.at - b.at);
      if (!places.length) { answer.textContent = "Not found"; return; }
      const next = direction > 0 ? places.find(({ at }) => at >= from) ?? places[0]
        : places.filter(({ at }) => at < from - wanted.length).pop() ?? places[places.length - 1];
      if (next.mark) {
        editor.unfold(next.mark);
        from = direction > 0 ? next.at : from + editor.shown().length - text.length;
        continue;
      }
      const total = places.length, hidden = inFolds.length ? "+" : "";
      answer.textContent = `${count(places.indexOf(next) + 1)} of ${count(total)}${hidden}`;
      editor.select(next.at, next.at + wanted.length);
      return;
    }
  };
  const search = debounce(() => go(1, 0), 150);
  const field = searchField({
    "aria-label": "Find in the text", placeholder: "Find", oninput: search,
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    },
  });
  const close = () => { bar.hidden = true; editor.close(); };
  const bar = h("div.editor-find.row.nowrap", { hidden: true, role: "search" }, field, answer,
    button({ title: "Previous place", icon: "up", kind: "plain small", onclick: () => go(-1) }),
    button({ title: "Next place", icon: "down", kind: "plain small", onclick: () => go(1) }),
    button({ title: "Close", icon: "close", kind: "plain small", onclick: close }));
  const open = (/** @type {string} */ text) => {
    bar.hidden = false;
    if (text && !text.includes("\n")) field.input.value = text;
    field.input.select();
    field.input.focus();
  };
  return Object.assign(bar, { open });
}

/**
 * @param {string} text
 * @param {string} wanted
 * @returns {number[]}
 */
function placesOf(text, wanted) {
  const places = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}
