// SPDX-License-Identifier: Apache-2.0

import { isDivan } from "../api/server.js";
import { path, send } from "../api/client.js";
import { workDialog } from "../components/progress.js";
import { toast } from "../components/toast.js";
import { download } from "../core/download.js";
import { h } from "../core/dom.js";
import { bytes, count, cut, plural } from "../core/format.js";

/**
 * Saves the documents of a database as a file of JSON lines.
 *
 * A document goes into the file as the text that the server sent, so that numbers keep all their digits.
 *
 * @typedef {{ write: (piece: Blob) => Promise<void>, close: () => Promise<void>, abort: () => Promise<void> }} Sink
 */

const PAGE = 500;
/** How many characters are written at once. */
const PIECE = 500_000;

/**
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export async function backUp(database, signal) {
  const name = `${database.replaceAll("/", "-")}-${new Date().toISOString().slice(0, 10)}.jsonl`;
  const picker = /** @type {any} */ (window).showSaveFilePicker;
  const saved = await workDialog({
    title: `Back up ${database}`, action: "Save backup", signal,
    body: [
      h("p", null, "Saves a file of JSON, one document a line: "
        + "the current revision of each document with its attachments, and the design documents."),
      h("p", null, "The file does not contain conflicting and old revisions, deleted documents, local documents, "
        + "access rights and indexes. A document that changes during the backup is saved before or after the change."),
      h("p.soft", null, isDivan() ? ["For a complete snapshot, run ", h("code", null, "divan backup"),
        " on the server's machine. "]
        : "For a complete copy, sync to another database. ",
      "To restore this file, send its documents to ", h("code", null, "_bulk_docs"), " with ",
        h("code", null, "\"new_edits\": false"), ".",
      isDivan() && [" ", h("code", null, "divan import --drop-attachments"), " reads it without the attachments."]),
      typeof picker === "function" ? null : h("p.soft", null,
        "This browser holds the file in memory until it is complete."),
    ],
    work: async (until, line) => {
      const sink = typeof picker === "function" ? await fileSink(picker, name) : memorySink(name);
      try {
        const result = await copyDocuments(database, sink, until, (done, total, size) =>
          line.show(total ? done / total : null, `${total ? `${count(done)} of ${plural(total, "document")}`
            : plural(done, "document")}, ${bytes(size)}`));
        until.throwIfAborted();
        await sink.close();
        return result;
      } catch (error) {
        await sink.abort().catch(() => {});
        throw error;
      }
    },
  });
  if (saved) toast(`${plural(saved.done, "document")} saved to ${name} (${bytes(saved.size)}).`);
}

/**
 * Each page begins with the last document of the one before, which is passed over by its ID: it may have been deleted
 * meanwhile, and to skip a row would then leave out another document.
 *
 * @param {string} database
 * @param {Sink} sink
 * @param {AbortSignal} signal
 * @param {(done: number, total: number, size: number) => void} report
 * @returns {Promise<{ done: number, size: number }>}
 */
async function copyDocuments(database, sink, signal, report) {
  let done = 0, total = 0, size = 0;
  let pending = "";
  /** @type {string | undefined} */
  let last;
  const flush = async () => {
    const piece = new Blob([pending]);
    pending = "";
    size += piece.size;
    await sink.write(piece);
    report(done, total, size);
  };
  for (let isMore = true; isMore;) {
    const response = await send("GET", path(database, "_all_docs"), {
      signal, query: { include_docs: true, attachments: true, limit: PAGE + 1, startkey: last },
    });
    const before = last;
    let rows = 0;
    for await (const row of pageRows(response)) {
      if (typeof row === "number") { total = row; continue; }
      rows += 1;
      if (row.id === before) continue;
      last = row.id;
      if (!row.doc) continue;
      done += 1;
      pending += `${row.doc}\n`;
      if (pending.length >= PIECE) await flush();
    }
    await flush();
    isMore = rows > PAGE;
  }
  return { done, size };
}

/**
 * The rows of an answer, as the texts that the server sent, after the number of all documents where the server tells
 * it. `doc` is null for a document that was deleted while the server listed it.
 *
 * A file must not seem complete that is not, so this throws for each line that it does not know, and for an answer
 * without its end.
 *
 * @param {Response} response
 * @returns {AsyncGenerator<number | { id: string, doc: string | null }>}
 */
export async function* pageRows(response) {
  let isBegun = false, isEnded = false;
  for await (const text of textLines(response)) {
    const line = text.endsWith("\r") ? text.slice(0, -1) : text;
    if (!line) continue;
    const head = isBegun ? null : /^\{(?:"total_rows":(\d+|null),)?[^[]*"rows":\[$/.exec(line);
    const row = isBegun && !isEnded
      ? /^\{"id":("(?:[^"\\]|\\.)*"),"key":[^]*?,"doc":(?:(\{[^]*\})|null)\},?$/.exec(line) : null;
    if (head) {
      isBegun = true;
      if (Number(head[1])) yield Number(head[1]);
    } else if (row) yield { id: row[1], doc: row[2] ?? null };
    else if (isBegun && !isEnded && line === "]}") isEnded = true;
    else throw new Error(`No file was saved: the server's answer has an unexpected line: ${cut(line, 200)}`);
  }
  if (!isEnded) throw new Error("No file was saved: the server's answer was incomplete. Try again.");
}

/**
 * The lines of an answer, as texts.
 *
 * @param {Response} response
 * @returns {AsyncGenerator<string>}
 */
async function* textLines(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  /** @type {string[]} */
  let begun = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const parts = decoder.decode(value, { stream: !done }).split("\n");
      // A line of many megabytes comes in many pieces, which are joined once.
      begun.push(parts[0]);
      if (parts.length > 1) {
        yield begun.join("");
        for (const part of parts.slice(1, -1)) yield part;
        begun = [parts[parts.length - 1]];
      }
      if (done) { yield begun.join(""); return; }
    }
  } finally { reader.cancel().catch(() => {}); }
}

/**
 * Writes to a file that the user chooses.
 *
 * @param {(options: any) => Promise<any>} picker
 * @param {string} name
 * @returns {Promise<Sink>}
 */
async function fileSink(picker, name) {
  const handle = await picker({ suggestedName: name, types: [{ description: "JSON lines",
    accept: { "application/jsonl": [".jsonl"] } }] });
  const writer = await handle.createWritable();
  return { write: (piece) => writer.write(piece), close: () => writer.close(), abort: () => writer.abort() };
}

/**
 * Collects the file in memory, and has the browser save it at the end.
 *
 * @param {string} name
 * @returns {Sink}
 */
function memorySink(name) {
  /** @type {BlobPart[]} */
  let parts = [];
  return {
    write: async (piece) => { parts.push(piece); },
    close: async () => download(name, new Blob(parts), "application/jsonl"),
    abort: async () => { parts = []; },
  };
}
