// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { openDialog, Refusal } from "../components/dialog.js";
import { h } from "../core/dom.js";

/**
 * @typedef {object} ProgressLine
 * @property {HTMLElement} element
 * @property {(fraction: number | null, text: string) => void} show
 * @property {() => void} hide
 */

/**
 * A bar with a sentence below it. A fraction of null shows work whose end is unknown.
 *
 * @returns {ProgressLine}
 */
export function progressLine() {
  const bar = h("progress.progress", { max: 1, "aria-label": "Progress" });
  const text = h("p.small.soft.number-row", { role: "status" });
  const element = h("div.column.tight", { hidden: true }, bar, text);
  return {
    element,
    show: (fraction, sentence) => {
      element.hidden = false;
      if (fraction === null) bar.removeAttribute("value"); else bar.value = Math.min(1, fraction);
      if (text.textContent !== sentence) text.textContent = sentence;
    },
    hide: () => { element.hidden = true; },
  };
}

/**
 * A dialog whose work shows progress. Closing the dialog aborts the signal that the work has. The work may throw a
 * `Refusal` to keep the
 * dialog open.
 *
 * @template R
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.action
 * @param {import("../core/dom.js").Children} options.body
 * @param {AbortSignal} options.signal The view's.
 * @param {(signal: AbortSignal, progress: ProgressLine) => Promise<R>} options.work
 * @returns {Promise<R | undefined>}
 */
export async function workDialog({ title, action, body, signal, work }) {
  const leaving = new AbortController();
  signal.addEventListener("abort", () => leaving.abort(), { once: true });
  const progress = progressLine();
  const result = await openDialog({
    title, action, signal, mayLeave: true, body: [body, progress.element],
    submit: async () => {
      try { return await work(leaving.signal, progress); } catch (error) {
        if (/** @type {Error} */ (error).name === "AbortError") throw new Refusal();
        throw error;
      } finally { progress.hide(); }
    },
  });
  leaving.abort();
  return result;
}

/**
 * The server's tasks of a kind for a database; null where the user may not see tasks. CouchDB lists a task for each
 * shard, such as
 * "shards/00000000-7fffffff/notes.1700000000".
 *
 * @param {string} database
 * @param {string} type
 * @param {AbortSignal} signal
 * @returns {Promise<any[] | null>}
 */
export async function tasksOf(database, type, signal) {
  try {
    const tasks = await api.get("/_active_tasks", { signal });
    return tasks.filter((/** @type {any} */ task) => task.type === type
      && String(task.database ?? "").replace(/^shards\/[^/]+\//, "").replace(/\.\d+$/, "") === database);
  } catch (error) {
    if ([401, 403].includes(/** @type {any} */ (error).status)) return null;
    throw error;
  }
}

/**
 * How far tasks are, from 0 to 1; null when they do not say.
 *
 * @param {any[]} tasks
 * @returns {number | null}
 */
export function progressOf(tasks) {
  const known = tasks.map((task) => task.progress).filter((value) => typeof value === "number");
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length / 100 : null;
}
