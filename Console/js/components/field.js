// SPDX-License-Identifier: Apache-2.0

import { fill, freshID, h } from "../core/dom.js";
import { icon } from "./icon.js";

/**
 * A labelled input with a hint and, when something is wrong with it, why: `field.wrong = "It is empty."`, `""` when it
 * is right.
 *
 * @param {object} options
 * @param {string} options.label
 * @param {HTMLElement} options.input
 * @param {string} [options.hint]
 * @returns {HTMLElement & { wrong: string }}
 */
export function field({ label, input, hint }) {
  if (!input.id) input.id = freshID();
  const hintID = freshID(), wrongID = freshID();
  const wrong = h("p.wrong", { id: wrongID, hidden: true, role: "alert" });
  input.setAttribute("aria-describedby", `${hint ? hintID : ""} ${wrongID}`.trim());
  const element = h("div.field", null,
    h("label", { for: input.id }, label), input, hint && h("p.hint", { id: hintID }, hint), wrong);
  Object.defineProperty(element, "wrong", {
    get: () => wrong.textContent ?? "",
    set: (/** @type {string} */ text) => {
      fill(wrong, text);
      wrong.hidden = !text;
      if (text) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
    },
  });
  return /** @type {any} */ (element);
}

/**
 * A line of text.
 *
 * @param {Record<string, any>} [props]
 * @returns {HTMLInputElement}
 */
export function input(props) {
  return h("input.input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", ...props });
}

/**
 * Lines of text.
 *
 * @param {Record<string, any>} [props]
 * @returns {HTMLTextAreaElement}
 */
export function textarea(props) { return h("textarea.input", { rows: 4, spellcheck: "false", ...props }); }

/**
 * A choice of one.
 *
 * @param {{ value: string, label: string }[]} options
 * @param {string} value
 * @param {Record<string, any>} [props]
 * @returns {HTMLSelectElement}
 */
export function select(options, value, props) {
  return h("select.input", props,
    options.map((option) => h("option", { value: option.value, selected: option.value === value }, option.label)));
}

/**
 * A box to tick, with its label.
 *
 * @param {string} label
 * @param {Record<string, any>} [props]
 * @returns {HTMLLabelElement & { input: HTMLInputElement }}
 */
export function checkbox(label, props) {
  const box = h("input", { type: "checkbox", ...props });
  return Object.assign(h("label.check", null, box, h("span", null, label)), { input: box });
}

/**
 * A field to search by, which needs `aria-label` or a placeholder.
 *
 * @param {Record<string, any>} [props]
 * @returns {HTMLElement & { input: HTMLInputElement }}
 */
export function searchField(props) {
  const box = input({ type: "search", "aria-label": props?.["aria-label"] ?? props?.placeholder, ...props });
  return Object.assign(h("div.search", null, icon("search"), box), { input: box });
}
