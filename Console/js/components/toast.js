// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { button } from "./button.js";
import { icon } from "./icon.js";

const ICONS = /** @type {const} */ ({ success: "check", danger: "alert", warning: "alert", info: "info" });

/** @type {HTMLElement | null} */
let stack = null;

/**
 * Tells of something that has happened, for six seconds; a failure, or one with an action, stays for fifteen.
 *
 * @param {string} message
 * @param {{ kind?: "success" | "danger" | "warning" | "info", action?: { label: string, call: () => any } }} options
 */
export function toast(message, { kind = "success", action } = {}) {
  stack ??= h("div.toasts", { role: "status", "aria-live": "polite" });
  placeToasts();
  const close = () => element.remove();
  const element = h("div.toast", { class: kind }, icon(ICONS[kind]), h("p.grow", null, message),
    action && button({ label: action.label, kind: "small", onclick: async () => { close(); await action.call(); } }),
    button({ title: "Dismiss", icon: "close", kind: "plain small", onclick: close }));
  stack.append(element);
  while (stack.children.length > 4) stack.firstElementChild?.remove();
  setTimeout(close, kind === "danger" || action ? 15000 : 6000);
}

/**
 * Puts the messages where they are seen and their buttons work: an open dialog lies above all else of the page, which
 * takes no clicks meanwhile. To be called when a dialog has opened or closed.
 */
export function placeToasts() {
  const place = [...document.querySelectorAll("dialog:modal")].pop() ?? document.body;
  if (stack && stack.parentElement !== place) place.append(stack);
}

/**
 * Shows an error that no part of the view shows itself.
 *
 * @param {unknown} error
 */
export function toastError(error) {
  const { name, message } = /** @type {any} */ (error) ?? {};
  if (name !== "AbortError") toast(message ?? String(error), { kind: "danger" });
}
