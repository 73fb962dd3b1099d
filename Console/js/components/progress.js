// SPDX-License-Identifier: Apache-2.0

import { fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { button } from "./button.js";
import { openDialog, Refusal } from "./dialog.js";
import { errorState } from "./states.js";

/**
 * Work that takes a while: it shows how far it is, can be cancelled, and shows its error in its place.
 *
 * @typedef {object} ProgressLine
 * @property {HTMLElement} element
 * @property {(fraction: number | null, text: string) => void} show A fraction of null: the end of the work is unknown.
 * @property {(done: number, total: number | null, before?: string) => void} count Shows "3 of 10" as a fraction.
 * @property {() => void} hide
 */

/**
 * A bar with a sentence below it.
 *
 * @param {() => void} [cancel] Adds a button that calls this.
 * @param {string} [what] What it is the progress of, where there are several.
 * @returns {ProgressLine}
 */
export function progressLine(cancel, what = "") {
  const bar = h("progress.progress", { max: 1, "aria-label": what ? `Progress of ${what}` : "Progress" });
  const text = h("p.small.soft.grow", { role: "status" });
  const element = h("div.column.tight", { hidden: true }, bar, h("div.row.nowrap", null, text,
    cancel && button({ label: "Cancel", kind: "small", onclick: cancel,
      props: what ? { "aria-label": `Cancel ${what}` } : {} })));
  /** @type {ProgressLine["show"]} */
  const show = (fraction, sentence) => {
    element.hidden = false;
    if (fraction === null) bar.removeAttribute("value"); else bar.value = Math.min(1, fraction);
    if (text.textContent !== sentence) text.textContent = sentence;
  };
  return {
    element, show,
    count: (done, total, before = "") => show(total ? done / total : null,
      `${before}${count(done)}${total ? ` of ${count(total)}` : ""}`),
    hide: () => { element.hidden = true; },
  };
}

/**
 * A dialog whose work shows progress. Without an `action` the work starts at once. The work may throw a `Refusal` to
 * keep the dialog open.
 *
 * Cancel closes the dialog and aborts the signal of the work. The promise still waits for the work, which may return
 * what it had done by then; it gives undefined if there is no result.
 *
 * @template R
 * @param {object} options
 * @param {string} options.title
 * @param {string} [options.action]
 * @param {import("../core/dom.js").Children} [options.body]
 * @param {AbortSignal} options.signal The view's.
 * @param {(signal: AbortSignal, line: ProgressLine) => Promise<R>} options.work
 * @returns {Promise<R | undefined>}
 */
export async function workDialog({ title, action, body, signal, work }) {
  const stop = new AbortController(), line = progressLine();
  signal.addEventListener("abort", () => stop.abort(), { once: true });
  /** @type {Promise<R> | undefined} */
  let working;
  const closed = openDialog({
    title, action: action ?? "Try again", signal, mayLeave: true, body: [body, line.element],
    submit: async (form) => {
      line.show(null, "Starting…");
      working = work(stop.signal, line);
      try { await working; } catch (error) {
        const again = form.querySelector("[type=submit]");
        if (again instanceof HTMLElement) again.hidden = false;
        throw /** @type {Error} */ (error).name === "AbortError" ? new Refusal() : error;
      } finally { line.hide(); }
    },
  });
  const form = line.element.closest("form");
  if (form && !action) {
    // "Try again" is for work that has failed.
    /** @type {HTMLElement} */ (form.querySelector("[type=submit]")).hidden = true;
    form.requestSubmit();
  }
  await closed;
  stop.abort();
  return working?.catch(() => undefined);
}

/**
 * A region for work: it shows progress with a button to cancel, then what the work gives, or its error. New work
 * cancels the one before, whose result is not shown. After Cancel, work may still return what it has done.
 *
 * @typedef {(signal: AbortSignal, line: ProgressLine) => Promise<import("../core/dom.js").Children>} Work
 *
 * @param {AbortSignal} signal The view's.
 * @param {Work} [first] Started at once.
 * @returns {HTMLElement & { run: (work: Work) => Promise<void> }}
 */
export function workRegion(signal, first) {
  const element = h("div.column.work", { "aria-live": "polite" });
  let stop = new AbortController();
  signal.addEventListener("abort", () => stop.abort(), { once: true });
  /** @param {Work} work */
  const run = async (work) => {
    stop.abort();
    const mine = stop = new AbortController();
    const line = progressLine(() => { line.show(null, "Cancelling…"); mine.abort(); });
    const show = (/** @type {import("../core/dom.js").Children} */ content) => {
      if (mine === stop && !signal.aborted) fill(element, content);
    };
    line.show(null, "Starting…");
    show(line.element);
    try { show(await work(mine.signal, line)); } catch (error) {
      const again = () => run(work);
      show(mine.signal.aborted ? h("div.row", null, h("p.soft", null, "Cancelled."),
        button({ label: "Start again", kind: "small", onclick: again })) : errorState(error, again));
    }
  };
  if (first) run(first);
  return Object.assign(element, { run });
}
