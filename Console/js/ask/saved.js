// SPDX-License-Identifier: Apache-2.0

import { allDocuments, deleteDocument, putDocument } from "../api/couch.js";
import { mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { ask, openDialog, Refusal } from "../components/dialog.js";
import { field, input } from "../components/field.js";
import { emptyState, loading, note, tag } from "../components/states.js";
import { toast } from "../components/toast.js";
import { h } from "../core/dom.js";
import { ago } from "../core/format.js";
import { isObject } from "../core/json.js";

/**
 * Saved queries are documents `query:NAME` of the type `divan.query` in the database that they ask. So they travel with
 * the data: each device and each user that syncs it gets them. The dialog that saves one says so.
 *
 * @typedef {import("./question.js").Question} Question
 */

const PREFIX = "query:";

/**
 * @param {string} database
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
async function savedQueries(database, signal) {
  const query = { start_key: JSON.stringify(PREFIX), end_key: JSON.stringify(`${PREFIX}\ufff0`), include_docs: true };
  const { rows } = await allDocuments(database, query, { signal });
  return rows.map((row) => row.doc).filter((doc) => doc?.type === "divan.query" && isObject(doc.question));
}

/**
 * Asks for a name and saves a question, or gives one that is saved another name.
 *
 * @param {string} database
 * @param {{ question: Question, before?: any, signal: AbortSignal }} options
 * @returns {Promise<boolean>}
 */
export async function saveQuery(database, { question, before, signal }) {
  const name = input({ value: before ? before._id.slice(PREFIX.length) : "", maxlength: 120 });
  const line = field({ label: "Name", input: name });
  const does = before ? "Rename the query" : "Save the query";
  const done = await openDialog({
    title: does, action: does, signal,
    body: [line, note("info", `The query becomes a document of ${database}. It is replicated with the data, and every `,
      "user of the database can read it.")],
    submit: async () => {
      const id = PREFIX + name.value.trim();
      if (id === PREFIX) { line.wrong = "Type a name."; name.focus(); throw new Refusal(); }
      if (before && id === before._id) return true;
      try {
        await putDocument(database, { _id: id, type: "divan.query", question, saved: new Date().toISOString() },
          { signal });
      } catch (error) {
        if (/** @type {any} */ (error).status !== 409) throw error;
        line.wrong = "A query with this name exists. Choose another name.";
        throw new Refusal();
      }
      if (before) await deleteDocument(database, before._id, before._rev, { signal });
      return true;
    },
  });
  if (done) toast(before ? "Query renamed." : "Query saved.");
  return done === true;
}

/**
 * Lists the saved queries in a dialog, to load, rename or delete one.
 *
 * @param {string} database
 * @param {{ signal: AbortSignal, load: (question: Question) => void }} options
 */
export function openSaved(database, { signal, load }) {
  const close = () => /** @type {HTMLDialogElement | null} */ (list.closest("dialog"))?.close();
  const list = loading({
    signal, bars: 3, load: (until) => savedQueries(database, until),
    render: (docs) => docs.length === 0
      ? emptyState({ icon: "save", title: "No saved queries",
        text: "Write a query and choose Save. It is kept as a document of this database." })
      : h("ul.saved", null, docs.map((doc) => {
        const name = doc._id.slice(PREFIX.length);
        return h("li.row.nowrap", null,
          h("button.button.plain.grow", { type: "button", onclick: () => { close(); load(doc.question); } },
            h("bdi.cut", { title: name }, name)),
          tag(String(doc.question.mode)), h("span.small.soft", null, ago(doc.saved)),
          mayWrite() && button({ title: `Rename ${name}`, icon: "edit", kind: "plain small",
            onclick: async () => { if (await saveQuery(database, { question: doc.question, before: doc,
            signal })) list.reload(); } }),
          mayWrite() && button({ title: `Delete ${name}`, icon: "delete", kind: "plain small danger",
            onclick: async () => {
            const isDeleted = await ask({ title: "Delete the query", message: ["The query ",
              h("bdi.strong", null, name), " is deleted in this database, and by replication in its copies."],
              action: "Delete the query", danger: true, perform: () => deleteDocument(database, doc._id, doc._rev,
                { signal }) });
            if (isDeleted) list.reload();
          } }));
      })),
  });
  openDialog({ title: "Saved queries", body: list, signal });
}
