// SPDX-License-Identifier: Apache-2.0

import { deleteDocument, readDocument, writeDocument } from "../api/couch.js";
import { api } from "../api/client.js";
import { mayWrite } from "../api/server.js";
import { link } from "../core/router.js";
import { h } from "../core/dom.js";
import { ask } from "../components/dialog.js";
import { toast, toastError } from "../components/toast.js";

/** @typedef {import("./jobs.js").Job} Job */

/**
 * The definition that a document of `_replicator` holds, without what the server has written into it.
 *
 * @param {any} document
 * @returns {any}
 */
export const definitionOf = (document) =>
  Object.fromEntries(Object.entries(document).filter(([key]) => key === "_id" || !key.startsWith("_")));

/**
 * Starts a replication anew, by saving its document without the state.
 *
 * @param {Job} job
 */
export async function restart(job) {
  const document = await readDocument(job.database, String(job.docID));
  await writeDocument(job.database, { ...definitionOf(document), _rev: document._rev });
  toast(`The replication “${job.key}” is restarted.`);
}

/**
 * Ends a replication: its document is deleted, or it is cancelled where it has none. Asks first.
 *
 * @param {Job} job
 * @param {() => any} then
 */
async function stop(job, then) {
  const isActive = !["completed", "failed"].includes(job.state);
  /** @type {any} */
  let before = null;
  const answer = await ask({
    title: isActive ? `Stop the replication “${job.key}”?` : `Delete the replication “${job.key}”?`, danger: true,
    action: isActive ? "Stop the replication" : "Delete the document",
    message: [
      h("p", null, job.docID ? `This deletes its document in ${job.database}.`
        : "It has no document, so it cannot be restarted from here.",
        " Both databases keep what they have."),
    ],
    perform: async () => {
      if (!job.docID) { await api.post("/_replicate", { replication_id: job.jobID, cancel: true }); return; }
      before = await readDocument(job.database, job.docID);
      await deleteDocument(job.database, job.docID, before._rev);
    },
  });
  if (!answer) return;
  const undo = async () => {
    try {
      await writeDocument(job.database, definitionOf(before));
      toast(`The replication “${job.key}” is restored.`);
    } catch (error) { toastError(error); }
    await then();
  };
  toast(isActive ? `The replication “${job.key}” is stopped.` : `The replication “${job.key}” is deleted.`,
    before ? { action: { label: "Undo", call: undo } } : {});
  await then();
}

/**
 * What can be done with a replication.
 *
 * @param {Job} job
 * @param {import("../shell.js").Context} ctx
 * @param {() => any} then Called after a change.
 * @returns {import("../components/menu.js").MenuItem[]}
 */
export function actions(job, ctx, then) {
  if (!mayWrite()) return [];
  const isActive = !["completed", "failed"].includes(job.state);
  const own = job.docID !== null && job.database === "_replicator" && job.docID;
  const hasDocument = job.docID !== null;
  return [
    hasDocument && { label: "Restart", icon: "refresh", call: () => restart(job).then(then).catch(toastError) },
    own !== false && { label: "Edit", icon: "edit", call: () => ctx.go(link("sync", "new", { edit: own })) },
    own !== false && { label: "Duplicate", icon: "copy", call: () => ctx.go(link("sync", "new", { copy: own })) },
    hasDocument && "line",
    { label: isActive ? "Stop" : "Delete", icon: isActive ? "stop" : "delete", danger: true,
      call: () => stop(job, then) },
  ];
}
