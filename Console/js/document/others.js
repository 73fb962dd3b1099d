// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { parseExact } from "../components/json-text.js";
import { note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { h } from "../core/dom.js";
import { isEqual } from "../core/merge.js";
import { dropDraft } from "./drafts.js";
import { showBase } from "./layout.js";
import { openMerge } from "./merge.js";
import { hasFault, notSaved, save } from "./saving.js";
import { empty, leftOutText, load, loadDeleted } from "./store.js";

/** Merging with what other writers have saved. */

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Merges the text of the editor with the newer revision, and saves the result over that.
 *
 * @param {Page} page
 * @param {string} [refused] The revision that a save was based on which the server refused.
 */
export async function merge(page, refused = "") {
  const { editor, base } = page;
  if (!editor || hasFault(page)) return;
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
  showBase(page);
  page.isSaving = false;
  if (page.isChanged) await save(page);
  else {
    dropDraft(page.draft);
    toast("Both texts are equal, so there is nothing to save.");
  }
}

/**
 * @param {Page} page
 * @param {any} error
 */
async function theirsGone(page, error) {
  if (error.status !== 404) { notSaved(page, error); return; }
  const gone = await loadDeleted(page.database, page.id, page.ctx.signal).catch(() => null);
  const hadSome = page.base.attachments !== "", attachments = gone?.attachments ?? "";
  const goesOn = await ask({
    title: "The document was deleted", action: "Save the document again",
    message: "Another writer deleted this document while you edited it. Saving brings it back with your text"
      + (attachments ? " and its attachments." : ". ")
      + (leftOutText(gone?.leftOut ?? 0) || (hadSome && !attachments ? "Its attachments are no longer stored." : "")),
  });
  if (!goesOn) return;
  page.base = { ...empty(page.id), attachments };
  page.newer = null;
  page.isSaving = false;
  await save(page);
}

/** @param {Page} page */
export function tellNewer(page) {
  page.tell("newer", note("warning", h("div.row", null,
    h("span.grow", null, h("strong", null, "Another writer saved this document"), page.isChanged
      ? " while you edit it. Your work is not lost: merge both versions when you are ready." : "."),
    button({ label: "Merge", kind: "small primary", onclick: () => merge(page) }))));
}
