// SPDX-License-Identifier: Apache-2.0

import { api, ApiError, documentPath } from "../api/client.js";
import { button } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { parseExact } from "../components/json-text.js";
import { note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { h } from "../core/dom.js";
import { isEqual } from "../core/merge.js";
import { openMerge, short } from "./merge.js";
import { empty, leftOutText, load, loadDeleted } from "./store.js";
import { dropOwn } from "./unsaved.js";

/** What other writers do to a document that is open, and a server that goes away. */

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Merges the text of the editor with the newer revision, and saves the result over that.
 *
 * @param {Page} page
 * @param {string} [refused] The revision that a save was based on which the server refused.
 */
export async function merge(page, refused = "") {
  const { editor, base } = page;
  if (!editor || page.hasFault()) return;
  const theirs = await load(page.database, page.id, { signal: page.ctx.signal }).catch((error) => error);
  if (theirs instanceof Error) { await theirsGone(page, theirs); return; }
  if (theirs.rev !== refused && isEqual(parseExact(theirs.text), parseExact(base.text))) {
    // Only its attachments changed, which may be the panel's own work: there is nothing to choose.
    await saveOver(page, { ...theirs, text: base.text });
    return;
  }
  page.newer = theirs.rev;
  tellNewer(page);
  const text = await openMerge({
    base: base.text, mine: editor.text, theirs: theirs.text, theirRev: theirs.rev, signal: page.ctx.signal,
  });
  if (text === undefined) return;
  // The text before the merge stays in the editor's undo list.
  editor.replace(text);
  await saveOver(page, theirs);
}

/**
 * Saves the text of the editor over a revision of another writer, with the attachments of that.
 *
 * @param {Page} page
 * @param {import("./store.js").Stored} theirs
 */
async function saveOver(page, theirs) {
  page.base = theirs;
  page.newer = null;
  page.tell("newer");
  page.showBase();
  page.isSaving = false;
  if (page.isChanged) await page.save();
  else {
    dropOwn(page);
    toast("Both texts are equal: there is nothing to save.");
  }
}

/**
 * @param {Page} page
 * @param {any} error
 */
export async function theirsGone(page, error) {
  if (error.status !== 404) { page.notSaved(error); return; }
  const gone = await loadDeleted(page.database, page.id, page.ctx.signal).catch(() => null);
  const hadSome = page.base.attachments !== "", attachments = gone?.attachments ?? "";
  const goesOn = await ask({
    title: "The document was deleted", action: "Save it again",
    message: "Another writer deleted this document while you edited it. Saving brings it back with your text"
      + (attachments ? " and its attachments." : ". ")
      + (leftOutText(gone?.leftOut ?? 0) || (hadSome && !attachments ? "Its attachments are no longer stored." : "")),
  });
  if (!goesOn) return;
  page.base = { ...empty(page.id), attachments };
  page.newer = null;
  page.isSaving = false;
  await page.save();
}

/** @param {Page} page */
export function tellNewer(page) {
  page.tell("newer", note("warning", h("div.row", null,
    h("span.grow", null, h("strong", null, "Another writer saved this document"), page.isChanged
      ? " while you edit it. Nothing of your work is lost: merge both when you are ready." : "."),
    button({ label: "Merge", kind: "small primary", onclick: () => merge(page) }))));
}

/**
 * @param {Page} page
 * @param {{ rev: string, isDeleted: boolean }} change
 */
export async function heard(page, { rev, isDeleted }) {
  page.pending = undefined;
  if (rev === page.base.rev || page.ownRevs.has(rev) || !page.base.rev) return;
  if (isDeleted && !page.isChanged) { await page.openAbsent(new ApiError(404, "not_found", "deleted", "")); return; }
  if (isDeleted) {
    page.newer = rev;
    page.tell("newer", note("warning", "Another writer deleted this document while you edit it. "
      + "Your text stays here. Saving brings the document back."));
    return;
  }
  const isChanged = page.isChanged;
  await page.revise(null);
  if (!isChanged && page.base.rev === rev) {
    toast(`Another writer saved revision ${short(rev)}. You see it now.`, { kind: "info" });
  }
}

/**
 * @param {Page} page
 * @param {boolean} answers
 */
export async function reached(page, answers) {
  if (!answers) {
    page.wasAway = true;
    page.tell("away", page.isChanged
      ? note("warning", "The server does not answer. Your unsaved work stays here and is kept in this browser.")
      : null);
    return;
  }
  const { wasAway } = page;
  page.wasAway = false;
  page.tell("away");
  if (!wasAway || page.isNew || page.shownRev || !page.base.rev) return;
  // The feed goes on from now: what happened meanwhile is asked for.
  const headers = await api.head(documentPath(page.database, page.id), { signal: page.ctx.signal }).catch(() => null);
  const rev = headers?.get("ETag")?.replace(/"/g, "");
  if (rev) heard(page, { rev, isDeleted: false });
}
