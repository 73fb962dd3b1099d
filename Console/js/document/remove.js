// SPDX-License-Identifier: Apache-2.0

import { bulkDocuments, deleteDocument } from "../api/couch.js";
import { ask } from "../components/dialog.js";
import { icon } from "../components/icon.js";
import { toast } from "../components/toast.js";
import { freshID, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { link } from "../core/router.js";
import { short } from "../core/revision.js";
import { leftOutText, load, loadWhole, save, saveMessage } from "./store.js";

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Deletes the document. Where it is in conflict, the user says whether all of its branches go: after the deletion of
 * one, another one is the document.
 *
 * @param {Page} page
 */
export async function remove(page) {
  const { database, base, ctx } = page, { id } = base;
  const others = await otherBranches(page).catch(() => []);
  if (ctx.signal.aborted) return;
  const name = freshID();
  const one = h("input", { type: "radio", name, checked: true }), all = h("input", { type: "radio", name });
  const takesOne = () => others.length > 0 && one.checked;
  const isDone = await ask({
    title: "Delete the document?", danger: true, action: others.length ? "Delete the selection" : "Delete the document",
    message: [
      h("p", null, "The document ", h("strong", { dir: "auto" }, id), others.length
        ? ` is in conflict: besides this revision it has ${plural(others.length, "other branch", "other branches")}. `
          + "If you delete only this revision, one of them becomes the document."
        : " is deleted here and, by replication, in the copies of this database."),
      others.length > 0 && h("label.row", null, one, `Delete only revision ${short(base.rev)}`),
      others.length > 0 && h("label.row", null, all, `Delete the document: all ${others.length + 1} branches`),
      page.isChanged && h("p", null, icon("alert"), " Your unsaved changes are lost, too."),
    ],
    perform: () => page.busy(async () => {
      if (others.length && all.checked) await removeOthers(page);
      page.ownRevs.add((await deleteDocument(database, id, base.rev)).rev);
      // The branch that is the document by now is no news of another writer.
      if (takesOne()) page.ownRevs.add((await load(database, id).catch(() => base)).rev);
    }),
  });
  if (!isDone) return;
  page.discard();
  if (takesOne()) {
    toast(`Revision ${short(base.rev)} is deleted. Another branch is now the document.`);
    await page.reopen();
    return;
  }
  ctx.go(link("db", database, "docs"));
  toast(`Deleted the document ${id}.`, { action: {
    label: "Restore",
    call: async () => { if (await restore(database, base)) ctx.go(link("db", database, "doc", id)); },
  } });
}

/**
 * The leaves of the document beside the revision of the page.
 *
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
async function otherBranches({ database, base }) {
  const { rev, meta } = await load(database, base.id), leaves = [rev, ...meta._conflicts ?? []];
  if (!leaves.includes(base.rev)) {
    throw new Error("Another writer has changed the document. Close this dialog and look at the change first.");
  }
  return leaves.filter((leaf) => leaf !== base.rev);
}

/**
 * Deletes the other branches first: where the server refuses one, the document is still what the user sees.
 *
 * @param {Page} page
 */
async function removeOthers(page) {
  const { database, base: { id: _id } } = page;
  const docs = (await otherBranches(page)).map((_rev) => ({ _id, _rev, _deleted: true }));
  for (const { rev, error, reason } of docs.length ? await bulkDocuments(database, docs) : []) {
    if (error) throw new Error(`The server did not delete all other branches: ${reason || error}`);
    if (rev) page.ownRevs.add(rev);
  }
}

/**
 * Brings the document back with its text and attachments. The view that deleted it is left by then.
 *
 * @param {string} database
 * @param {import("./store.js").Stored} base
 * @returns {Promise<boolean>}
 */
async function restore(database, { id, rev, text, attachments }) {
  try {
    const whole = attachments ? await loadWhole(database, id, { rev }).catch(() => null) : null;
    await save(database, { id, rev: "", attachments: whole?.attachments ?? "", text });
    const missing = attachments && !whole ? "The attachments are no longer stored, so they are not restored."
      : leftOutText(whole?.leftOut ?? 0);
    if (missing) toast(missing, { kind: "warning" });
    return true;
  } catch (error) {
    toast(saveMessage(error), { kind: "danger" });
    return false;
  }
}
