// SPDX-License-Identifier: Apache-2.0

import { freshID, h } from "../core/dom.js";
import { button } from "./button.js";
import { field, input } from "./field.js";
import { placeToasts } from "./toast.js";

/** What closes each dialog that is open. @type {Set<() => void>} */
const leaves = new Set();

/**
 * Closes the dialogs of a view that is left for good: the question whether to leave it is a dialog, too.
 *
 * One whose work cannot be left stays until that ends.
 */
export function closeDialogs() { for (const leave of [...leaves]) leave(); }

/**
 * Opens a dialog and waits until it is closed.
 *
 * `submit` is called with the dialog's form when the user confirms; the dialog stays open while it works, and when it
 * throws, with the error's message in it. The promise gives what `submit` returned, or undefined when the user left.
 * The focus goes back to where it was.
 *
 * While `submit` works the user cannot close the dialog, so that what is done is also told. `mayLeave` is for a caller
 * that stops the work, or says that it goes on, when the user leaves.
 *
 * @template R
 * @param {object} options
 * @param {string} options.title
 * @param {import("../core/dom.js").Children} options.body
 * @param {string} [options.action] What the confirming button says; none without.
 * @param {string} [options.kind] Its kind: `primary` or `danger`.
 * @param {boolean} [options.wide]
 * @param {(form: HTMLFormElement) => R | Promise<R>} [options.submit]
 * @param {AbortSignal} [options.signal] Closes it with the view that opened it.
 * @param {boolean} [options.mayLeave]
 * @returns {Promise<R | undefined>}
 */
export function openDialog({ title, body, action, kind = "primary", wide = false, submit, signal, mayLeave = false }) {
  return new Promise((resolve) => {
    if (signal?.aborted) { resolve(undefined); return; }
    const titleID = freshID();
    /** @type {R | undefined} */
    let result;
    let isHeld = false;
    const hold = (/** @type {boolean} */ isWorking) => {
      isHeld = isWorking && !mayLeave;
      for (const one of closers) one.disabled = isHeld;
      if (confirm) confirm.disabled = isWorking;
    };
    const leave = () => { if (!isHeld) dialog.close(); };
    const wrong = h("p.note.danger", { role: "alert", hidden: true });
    const confirm = action && h("button.button", { type: "submit", class: kind }, action);
    const closers = [
      button({ title: "Close", icon: "close", kind: "plain small", onclick: leave }),
      button({ label: action ? "Cancel" : "Close", kind: "plain", onclick: leave }),
    ];
    /** @type {HTMLFormElement} */
    const form = h("form", {
      method: "dialog", novalidate: true,
      onsubmit: async (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        if (!confirm || confirm.disabled) return;
        hold(true);
        wrong.hidden = true;
        try {
          result = await submit?.(form);
          dialog.close();
        } catch (error) {
          // The view is left, and with it the work.
          if (signal?.aborted && /** @type {Error} */ (error).name === "AbortError") dialog.close();
          if (!(error instanceof Refusal)) wrong.textContent = /** @type {Error} */ (error).message;
          wrong.hidden = error instanceof Refusal;
          /** @type {HTMLElement | null} */ (form.querySelector("[aria-invalid=true]"))?.focus();
        } finally { hold(false); }
      },
    },
    h("header", null, h("h2", { id: titleID }, title), closers[0]),
    h("div.content", null, body, wrong),
    h("footer", null, closers[1], confirm));
    const before = document.activeElement;
    /** @type {HTMLDialogElement} */
    const dialog = h("dialog.dialog", { class: wide ? "wide" : "", "aria-labelledby": titleID }, form);
    dialog.addEventListener("cancel", (event) => { if (isHeld && event.target === dialog) event.preventDefault(); });
    dialog.addEventListener("close", () => {
      // A browser lets a page refuse Escape only once.
      if (isHeld) { dialog.showModal(); return; }
      leaves.delete(leave);
      placeToasts();
      dialog.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      resolve(result);
    });
    signal?.addEventListener("abort", leave, { once: true });
    leaves.add(leave);
    document.body.append(dialog);
    dialog.showModal();
    placeToasts();
    const wanted = ["[autofocus]", ".content .input:not([hidden])", ".content input", "footer [type=submit]"];
    const first = wanted.map((one) => dialog.querySelector(one)).find(Boolean);
    if (first instanceof HTMLElement) first.focus();
  });
}

/** Thrown by `submit` when a field already shows what is wrong. */
export class Refusal extends Error {}

/**
 * Asks before something is done. With `typed` the user types that text, as for deleting a database.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {import("../core/dom.js").Children} options.message
 * @param {string} options.action
 * @param {string} [options.typed]
 * @param {boolean} [options.danger]
 * @param {() => any} [options.perform] Done while the dialog is open, which shows an error and stays.
 * @returns {Promise<boolean>}
 */
export async function ask({ title, message, action, typed, danger = false, perform }) {
  const box = input({ autofocus: true });
  const line = typed === undefined ? null : field({ label: `Type ${typed} to confirm`, input: box });
  const answer = await openDialog({
    title, action, kind: danger ? "danger" : "primary",
    body: [h("div.column", null, message), line],
    submit: async () => {
      if (line && box.value !== typed) {
        line.wrong = "This is not the name.";
        throw new Refusal();
      }
      await perform?.();
      return true;
    },
  });
  return answer === true;
}
