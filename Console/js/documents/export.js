// SPDX-License-Identifier: Apache-2.0

import { download } from "../components/copy.js";
import { toast } from "../components/toast.js";
import { stringifyExact } from "../components/json-text.js";
import { plural } from "../core/format.js";
import { withProgress } from "./work.js";

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
  let exported = 0, isStopped = false;
  // A blob keeps its parts outside of the page's memory, so that a large export needs little of it.
  let file = new Blob(["["]);
  await withProgress({
    title: "Exporting documents", total, signal,
    work: async (stop, report) => {
      try {
        for await (const some of docs(stop)) {
          const text = some.map((doc, at) => `${exported + at ? "," : ""}\n${stringifyExact(doc)}`).join("");
          file = new Blob([file, text]);
          report(exported += some.length);
          if (stop.aborted) break;
        }
      } catch (error) { if (!stop.aborted) throw error; }
      isStopped = stop.aborted;
    },
  });
  if (isStopped) { toast("The export was stopped. No file was saved.", { kind: "warning" }); return; }
  download(`${name}.json`, /** @type {any} */ (new Blob([file, "\n]\n"])));
  toast(`Exported ${plural(exported, "document")}.`);
}
