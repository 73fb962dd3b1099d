// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { icon } from "./icon.js";

/**
 * A button. One with an icon and no visible text is given `title`, which is its label, too.
 *
 * `kind`: `primary` for what a view is for, `danger` for what destroys, `plain` for one among others; `small`, `square`
 * are added. A function that returns a promise disables the button until it is done, so that nothing is sent twice.
 *
 * @param {object} options
 * @param {string} [options.label]
 * @param {string} [options.title]
 * @param {import("./icon.js").IconName} [options.icon]
 * @param {string} [options.kind]
 * @param {boolean} [options.disabled]
 * @param {(event: MouseEvent) => any} [options.onclick]
 * @param {Record<string, any>} [options.props]
 * @returns {HTMLButtonElement}
 */
export function button({ label, title, icon: name, kind = "", disabled = false, onclick, props = {} }) {
  const element = h("button.button", {
    type: "button", title, "aria-label": label ? undefined : title, disabled, ...props,
    class: `${kind} ${label ? "" : "square"} ${props.class ?? ""}`,
    onclick: async (/** @type {MouseEvent} */ event) => {
      const work = onclick?.(event);
      if (!(work instanceof Promise)) return;
      element.disabled = true;
      element.setAttribute("aria-busy", "true");
      try { await work; } finally {
        element.disabled = false;
        element.removeAttribute("aria-busy");
      }
    },
  }, name && icon(name), label);
  return element;
}

/**
 * A link that looks like a button.
 *
 * @param {{
 *   label: string, href: string, icon?: import("./icon.js").IconName, kind?: string, props?: Record<string, any>,
 * }} options
 * @returns {HTMLAnchorElement}
 */
export function linkButton({ label, href, icon: name, kind = "", props = {} }) {
  return h("a.button", { href, ...props, class: `${kind} ${props.class ?? ""}` }, name && icon(name), label);
}

/**
 * Buttons of which one is chosen: how a list is shown, a span of time.
 *
 * @template {string} V
 * @param {{
 *   label: string, options: { value: V, label: string, icon?: import("./icon.js").IconName }[],
 *   value: V, onchange: (value: V) => void, kind?: string,
 * }} options
 * @returns {HTMLElement}
 */
export function segments({ label, options, value, onchange, kind = "" }) {
  const buttons = options.map((option) => button({
    label: option.label, icon: option.icon, kind, props: { "aria-pressed": String(option.value === value) },
    onclick: () => {
      buttons.forEach((one, index) => one.setAttribute("aria-pressed", String(options[index].value === option.value)));
      onchange(option.value);
    },
  }));
  return h("div.segments", { role: "group", "aria-label": label }, buttons);
}
