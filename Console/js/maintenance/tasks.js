// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { poll } from "../core/waiting.js";

/**
 * The server's tasks of a kind for a database; null where the user may not see tasks. CouchDB lists a task for each
 * shard, such as "shards/00000000-7fffffff/notes.1700000000".
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
 * Tells of the indexers of a database now and then, until the function that it gives is called.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @param {(tasks: any[]) => void} tell
 * @returns {() => void}
 */
export function followIndexers(database, signal, tell) {
  const ends = new AbortController();
  const leave = () => { signal.removeEventListener("abort", leave); ends.abort(); };
  signal.addEventListener("abort", leave);
  // What cannot be told is left out: the work itself says what goes wrong.
  poll(ends.signal, 500, async () => {
    const tasks = await tasksOf(database, "indexer", ends.signal).catch(() => null);
    if (!ends.signal.aborted) tell(tasks ?? []);
  });
  return leave;
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
