// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { field, input } from "../components/field.js";
import { fill, freshID, h } from "../core/dom.js";

/**
 * A list of words, such as names or roles. Enter or a comma adds what was typed, Backspace in the empty field removes
 * the last one.
 *
 * @param {object} options
 * @param {string} options.label
 * @param {string[]} options.values
 * @param {string} [options.hint]
 * @param {string[]} [options.suggestions]
 * @param {boolean} [options.disabled]
 * @param {(values: string[]) => void} [options.onchange]
 * @returns {HTMLElement & { wrong: string, values: string[] }}
 */
export function listField({ label, values, hint, suggestions = [], disabled = false, onchange }) {
  let words = [...values];
  const suggestionsID = freshID();
  const box = input({
    list: suggestionsID, disabled, placeholder: disabled ? "" : "Add…",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if ((event.key === "Enter" || event.key === ",") && box.value.trim()) event.preventDefault();
      else if (event.key === "Backspace" && !box.value && words.length) { change(words.slice(0, -1)); return;
        } else return;
      take();
    },
    onblur: () => take(),
  });
  const chips = h("ul.chips", { "aria-label": label });
  const line = field({ label, input: box, hint });
  box.before(chips);
  line.append(h("datalist", { id: suggestionsID }, suggestions.map((value) => h("option", { value }))));

  /** @param {string[]} next */
  const change = (next) => {
    words = [...new Set(next)];
    draw();
    onchange?.(words);
  };
  const take = () => {
    const word = box.value.trim();
    if (!word || disabled) return;
    box.value = "";
    change([...words, word]);
  };
  const draw = () => {
    chips.hidden = !words.length;
    fill(chips, words.map((word) => h("li.tag", null, h("bdi", null, word), !disabled && button({
      title: `Remove ${word}`, icon: "close", kind: "plain",
      onclick: () => { change(words.filter((one) => one !== word)); box.focus(); },
    }))));
  };
  draw();
  return /** @type {any} */ (Object.defineProperty(line, "values", {
    get: () => { take(); return words; },
    set: (/** @type {string[]} */ next) => { words = [...next]; draw(); },
  }));
}
