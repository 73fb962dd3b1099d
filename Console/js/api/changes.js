// SPDX-License-Identifier: Apache-2.0

import { stringifyExact } from "../components/json-text.js";
import { pause, whileShown } from "../core/waiting.js";
import { api, ApiError, lines, path } from "./client.js";
import { writeExactly } from "./exact.js";

/**
 * Follows a feed until the signal aborts; goes on from where it was when the connection breaks, after one to thirty
 * seconds.
 *
 * @typedef {{ seq: any, id: string, changes: { rev: string }[], deleted?: boolean, doc?: any }} Change
 *
 * @param {string} database
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {(change: Change) => void} options.onChange
 * @param {(state: "live" | "waiting", error?: ApiError) => void} [options.onState]
 * @param {any} [options.since] "now" unless said otherwise.
 * @param {Record<string, any>} [options.query] More parameters, such as `include_docs`.
 * @param {any} [options.selector] Only documents that it finds: a value of `parseExact`.
 */
export async function followChanges(database, { signal, onChange, onState, since = "now", query = {}, selector }) {
  let pauseLength = 1000;
  while (!signal.aborted) {
    try {
      // What is written while a feed that begins now is opened again would be missed.
      if (since === "now") since = (await api.get(path(database), { signal })).update_seq;
      await whileShown(signal, async (round) => {
        const feed = lines(path(database, "_changes"), {
          signal: round,
          method: selector ? "POST" : "GET",
          body: selector && stringifyExact({ selector }), headers: { "Content-Type": "application/json" },
          onOpen: () => onState?.("live"),
          query: {
            feed: "continuous", heartbeat: 10000, since, ...(selector ? { filter: "_selector" } : {}), ...query,
          },
        });
        for await (const change of feed) {
          pauseLength = 1000;
          if (change.last_seq !== undefined) { since = change.last_seq; continue; }
          since = change.seq;
          onChange(change);
        }
      });
    } catch (error) {
      if (signal.aborted) return;
      // The page is out of sight.
      if (/** @type {Error} */ (error).name === "AbortError") continue;
      const known = error instanceof ApiError ? error
        : new ApiError(0, "unreachable", "The connection broke off.", database);
      onState?.("waiting", known);
      if (isFinal(known)) return;
    }
    await pause(pauseLength, signal);
    pauseLength = Math.min(pauseLength * 2, 30000);
  }
}

/**
 * Some changes of a database.
 *
 * @param {string} database
 * @param {{ query: Record<string, any>, body?: any }} asked Such as `changesRequest` makes.
 * @param {Record<string, any>} more Of the query.
 * @param {AbortSignal} signal
 * @returns {Promise<{ results: any[], last_seq: any }>}
 */
export const readChanges = (database, { query, body }, more, signal) =>
  writeExactly(body ? "POST" : "GET", path(database, "_changes"), body, { query: { ...query, ...more }, signal });

/**
 * Whether asking again would be answered in the same way.
 *
 * @param {ApiError} error
 * @returns {boolean}
 */
export function isFinal({ status }) {
  return status === 501 || status >= 400 && status < 500 && status !== 408 && status !== 429;
}
