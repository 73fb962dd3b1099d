// SPDX-License-Identifier: Apache-2.0

import { stringifyExact } from "../components/json-text.js";
import { workDialog } from "../components/progress.js";
import { toast } from "../components/toast.js";
import { download } from "../core/download.js";
import { plural } from "../core/format.js";

/**
 * Saves documents as a file: a JSON array that `_bulk_docs` takes as `docs`.
 *
 * @param {object} options
 * @param {string} options.name Of the file, without its extension.
 * @param {number | null} options.total
 * @param {(signal: AbortSignal) => AsyncIterable<any[]>} options.docs Values of `parseExact`.
 * @param {AbortSignal} options.signal
 */
export async function exportDocuments({ name, total, docs, signal }) {
  const made = await workDialog({
    title: "Exporting documents", signal,
    work: async (stop, line) => {
      let done = 0;
      // A blob keeps its parts outside of the page's memory, so that a large export needs little of it.
      let file = new Blob(["["]);
      for await (const some of docs(stop)) {
        const text = some.map((doc, at) => `${done + at ? "," : ""}\n${stringifyExact(doc)}`).join("");
        file = new Blob([file, text]);
        line.count(done += some.length, total);
        stop.throwIfAborted();
      }
      return { done, file };
    },
  });
  if (!made) { toast("The export was cancelled. No file was saved.", { kind: "warning" }); return; }
  download(`${name}.json`, new Blob([made.file, "\n]\n"]));
  toast(`Exported ${plural(made.done, "document")}.`);
}
