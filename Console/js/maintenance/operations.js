// SPDX-License-Identifier: Apache-2.0

import { pause } from "../core/waiting.js";
import { api, path } from "../api/client.js";
import { databaseInfo } from "../api/couch.js";
import { ask, Refusal } from "../components/dialog.js";
import { workDialog } from "../components/progress.js";
import { note } from "../components/states.js";
import { toast, toastError } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { bytes, plural } from "../core/format.js";
import { progressOf, tasksOf } from "./tasks.js";

/** What a person can have a server do to a database. Each function opens a dialog. */

/**
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
export async function compact(database, signal) {
  const done = await workDialog({
    title: `Compact ${database}`, action: "Compact", signal,
    body: [
      h("p", null, "The server removes the content of old revisions and returns free space to the file system. "
        + "The current revision of each document, every conflict and every deletion are kept."),
      h("p.soft", null, "Reads and writes continue meanwhile. If you close this dialog, the server still finishes."),
    ],
    work: async (until, line) => {
      const before = (await databaseInfo(database, { signal: until })).sizes.file;
      await api.post(path(database, "_compact"), undefined, { signal: until });
      // CouchDB starts the task after it has answered: one look that finds nothing is not enough.
      for (let idle = 0; idle < 2 && !until.aborted;) {
        await pause(400, until);
        const tasks = await tasksOf(database, "database_compaction", until);
        const info = /** @type {any} */ (await databaseInfo(database, { signal: until }));
        const isRunning = tasks?.length || info.compact_running;
        idle = isRunning ? 0 : idle + 1;
        if (isRunning) line.show(progressOf(tasks ?? []), "Compacting");
      }
      return { before, after: (await databaseInfo(database, { signal: until })).sizes.file };
    },
  });
  if (done) {
    toast(done.after < done.before ? `${database} is compacted: ${bytes(done.before)} before, ${bytes(done.after)} now.`
      : `${database} is compacted. There was no space to free.`);
  }
  return done !== undefined;
}

/**
 * Has a Divan check every invariant of a database's files. The dialog shows a check that runs already, and the result
 * of the last one.
 *
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export async function verify(database, signal) {
  const address = path(database, "_divan", "verify");
  const results = h("div.column", { "aria-live": "polite" });
  let isRunning = false;
  await workDialog({
    title: `Verify ${database}`, action: "Verify", signal,
    body: [
      h("p", null, "The server reads and checks everything that the database stores: checksums, revision trees, "
        + "sequences, indexes and attachments. It changes nothing. Cancel stops the check."),
      results,
    ],
    work: async (until, line) => {
      fill(results);
      // An answer that the user did not wait for may come from a check that has begun.
      isRunning = true;
      try { await api.post(address, undefined, { signal: until }); } catch (error) {
        isRunning = until.aborted;
        throw error;
      }
      for (;;) {
        const report = await api.get(address, { signal: until });
        if (report.state !== "running") {
          isRunning = false;
          fill(results, verdict(report));
          // The result is what the dialog is for: it stays open.
          throw new Refusal();
        }
        line.show(report.progress ?? null, `${Math.floor((report.progress ?? 0) * 100)} % checked`);
        await pause(400, until);
        until.throwIfAborted();
      }
    },
  });
  if (isRunning) await api.delete(address).catch(toastError);
}

/**
 * @param {{ state: string, problems?: { kind: string, message: string }[] }} report
 * @returns {HTMLElement}
 */
function verdict({ state, problems = [] }) {
  if (state === "cancelled") return note("warning", "The check was cancelled.");
  if (!problems.length) return state === "failed" ? note("danger",
    "The check could not be completed. The server's log says why.") : note("success", "No problems found.");
  return h("div.column", null,
    note("danger", `${plural(problems.length, "problem")} found. `
      + "Copy what you can read (Back up), then restore the database from a backup."),
    h("ul.column.tight.scroll-y", null, problems.slice(0, 200).map((problem) =>
      h("li", null, h("span.tag.danger", null, problem.kind), " ", problem.message))),
    problems.length > 200 && h("p.soft", null, `The first 200 of ${problems.length} are shown.`));
}

/**
 * @param {string} database
 * @returns {Promise<boolean>}
 */
export async function cleanUpViews(database) {
  const isDone = await ask({
    title: "Clean up views", action: "Clean up views",
    message: h("p", null, "The server deletes the index files of views that no design document defines any more. "
      + "Documents and current views are not affected."),
    perform: () => api.post(path(database, "_view_cleanup")),
  });
  if (isDone) toast("The server is deleting the index files that are no longer used.");
  return isDone;
}

/**
 * @param {string} database
 * @param {number | undefined} documents
 * @returns {Promise<boolean>}
 */
export async function deleteDatabase(database, documents) {
  const isDone = await ask({
    title: `Delete ${database}`, action: "Delete the database", danger: true, typed: database,
    message: [
      h("p", null, documents === undefined ? "All its documents" : documents === 1 ? "Its document"
        : `Its ${plural(documents, "document")}`,
        " with all revisions, attachments and indexes will be deleted. You cannot undo this."),
      h("p.soft", null, "Other databases that sync with it keep their copies."),
    ],
    perform: () => api.delete(path(database)),
  });
  if (isDone) toast(`${database} is deleted.`);
  return isDone;
}
