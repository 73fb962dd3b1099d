// SPDX-License-Identifier: Apache-2.0

import { fill, h } from "../core/dom.js";
import { button } from "./button.js";
import { icon } from "./icon.js";

/**
 * There is nothing here, and what to do about it.
 *
 * @param {{
 *   icon?: import("./icon.js").IconName, title: string, text?: import("../core/dom.js").Children,
 *   action?: HTMLElement | null | false,
 * }} options
 * @returns {HTMLElement}
 */
export function emptyState({ icon: name = "document", title, text, action }) {
  return h("div.state", null, icon(name), h("h2", null, title), text && h("p", null, text), action);
}

/**
 * Something could not be shown, and why.
 *
 * @param {unknown} error
 * @param {(() => any) | null} [retry]
 * @returns {HTMLElement}
 */
export function errorState(error, retry) {
  const { message = String(error), status } = /** @type {any} */ (error) ?? {};
  const title = {
    0: "The server is not responding",
    // A CouchDB answers 401 to a user who has signed in, too, where only administrators may.
    401: "Access denied",
    403: "Access denied",
    404: "Not found",
  }[/** @type {number} */ (status)];
  return h("div.state", { role: "alert" }, icon("alert"),
    h("h2", null, title ?? "The request failed"),
    h("p", null, message),
    retry && button({ label: "Try again", icon: "refresh", onclick: retry }));
}

/**
 * What will be here is on its way.
 *
 * @param {number} [count] How many lines to draw.
 * @returns {HTMLElement}
 */
export function loadingState(count = 5) {
  const widths = ["70%", "92%", "55%", "80%", "64%"];
  return h("div.skeleton", { "aria-busy": "true" }, h("p.unseen", { role: "status" }, "Loading"),
    Array.from({ length: count }, (_, index) =>
      h("span", { style: { "inline-size": widths[index % widths.length] } })));
}

/**
 * A region that loads: it shows bars while it does, what `render` makes of the result, or the error with a button to
 * try again. `reload()` keeps what is shown until there is something new.
 *
 * @template T
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {(signal: AbortSignal) => Promise<T>} options.load
 * @param {(value: T) => import("../core/dom.js").Children} options.render
 * @param {number} [options.bars]
 * @param {string} [options.class]
 * @returns {HTMLElement & { reload: () => Promise<void> }}
 */
export function loading({ signal, load, render, bars, class: name = "column" }) {
  const element = h("div", { class: name }, loadingState(bars));
  let turn = 0;
  const reload = async () => {
    const mine = ++turn;
    try {
      const value = await load(signal);
      if (mine === turn && !signal.aborted) fill(element, render(value));
    } catch (error) {
      if (mine !== turn || signal.aborted || /** @type {Error} */ (error).name === "AbortError") return;
      fill(element, errorState(error, reload));
    }
  };
  reload();
  return Object.assign(element, { reload });
}

/**
 * A paragraph with a meaning: `info`, `warning`, `danger` or `success`.
 *
 * @param {string} kind
 * @param {...import("../core/dom.js").Children} children
 * @returns {HTMLElement}
 */
export function note(kind, ...children) {
  return h("div.note", { class: kind, role: kind === "danger" ? "alert" : "note" },
    icon(kind === "info" ? "info" : kind === "success" ? "check" : "alert"),
    h("div.grow", null, children));
}

/**
 * A number with what it counts.
 *
 * @param {string} label
 * @param {import("../core/dom.js").Child} value
 * @param {string} [title]
 * @returns {HTMLElement}
 */
export function figure(label, value, title) {
  return h("div.figure", { title }, h("span.value", null, value), h("span.label", null, label));
}

/**
 * A word that says in what state something is.
 *
 * @param {string} text
 * @param {"" | "accent" | "danger" | "warning" | "success" | "info"} [kind]
 * @returns {HTMLElement}
 */
export function tag(text, kind = "") { return h("span.tag", { class: kind }, text); }
