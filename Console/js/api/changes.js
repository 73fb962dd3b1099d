// SPDX-License-Identifier: Apache-2.0

import { api, ApiError, lines, path } from "./client.js";

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
 * @param {any} [options.selector] Only documents that a selector finds.
 */
export async function followChanges(database, { signal, onChange, onState, since = "now", query = {}, selector }) {
  let pause = 1000;
  while (!signal.aborted) {
    try {
      // What is written while a feed that begins now is opened again would be missed.
      if (since === "now") since = (await api.get(path(database), { signal })).update_seq;
      const feed = lines(path(database, "_changes"), {
        signal,
        method: selector ? "POST" : "GET",
        body: selector ? { selector } : undefined,
        onOpen: () => onState?.("live"),
        query: { feed: "continuous", heartbeat: 10000, since, ...(selector ? { filter: "_selector" } : {}), ...query },
      });
      for await (const change of feed) {
        pause = 1000;
        if (change.last_seq !== undefined) { since = change.last_seq; continue; }
        since = change.seq;
        onChange(change);
      }
    } catch (error) {
      if (signal.aborted) return;
      const known = error instanceof ApiError ? error : new ApiError(0, "unreachable", "The feed broke off.", database);
      onState?.("waiting", known);
      if (known.status >= 400 && known.status < 500 || known.status === 501) return;
    }
    await new Promise((resume) => {
      const timer = setTimeout(resume, pause);
      signal.addEventListener("abort", () => { clearTimeout(timer); resume(undefined); }, { once: true });
    });
    pause = Math.min(pause * 2, 30000);
  }
}
