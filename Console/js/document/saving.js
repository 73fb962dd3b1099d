// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { openDialog } from "../components/dialog.js";
import { note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { h } from "../core/dom.js";
import { short } from "../core/revision.js";
import { link } from "../core/router.js";
import { dropDraft } from "./drafts.js";
import { revise } from "./feed.js";
import { setMode } from "./layout.js";
import { differenceOf } from "./merge.js";
import { merge } from "./others.js";
import { refusesOwn } from "./own.js";
import { idIn, save as store, saveMessage } from "./store.js";
import { keepNow } from "./unsaved.js";

/**
 * @typedef {import("./page.js").DocumentPage} Page
 * @typedef {import("../api/client.js").ApiError} ApiError
 */

/**
 * What differs between two texts, of which the second one may be invalid.
 *
 * @param {string} before
 * @param {string} after
 * @param {string} beforeLabel
 * @param {string} afterLabel
 * @returns {HTMLElement}
 */
export function difference(before, after, beforeLabel, afterLabel) {
  try { return differenceOf(before, after, { beforeLabel, afterLabel }); } catch {
    return h("div.column", null,
      note("warning", "The text is not valid JSON yet, so it is shown without a comparison."),
      h("pre.panel.document-reader", null, after));
  }
}

/**
 * Shows what a save changes, then saves if the user wants.
 *
 * @param {Page} page
 */
export async function review(page) {
  const { editor, base } = page;
  if (!editor || hasFault(page)) return;
  const isSaved = await openDialog({
    title: "Review changes", wide: true, action: "Save the document", signal: page.ctx.signal,
    body: difference(base.text, editor.text, base.rev ? `Revision ${short(base.rev)}` : "Nothing stored", "Your text"),
    submit: () => true,
  });
  if (isSaved) await save(page);
}

/**
 * Whether the text is no document, which the user is told.
 *
 * @param {Page} page
 * @returns {boolean}
 */
export function hasFault(page) {
  const error = page.editor?.error;
  if (!error && /^\s*\{/.test(page.editor?.text ?? "")) return refusesOwn(page);
  setMode(page, false);
  page.editor?.showError();
  toast(error ? `The document is not saved. Line ${error.line}: ${error.message}`
    : "The document is not saved. A document is an object: it begins with { and ends with }.", { kind: "danger" });
  return true;
}

/**
 * The ID that a save gives the document.
 *
 * @param {Page} page
 * @returns {string}
 */
export function savedID({ base, idField, editor }) { return base.id || idField?.value || idIn(editor?.text ?? "{}"); }

/** @param {Page} page */
export async function save(page) {
  const { editor, base, database } = page;
  if (page.isOffering) toast("First choose what to do with your unsaved changes.", { kind: "info" });
  if (!editor || page.isReadOnly || page.isOffering || page.isSaving || hasFault(page)) return;
  if (!page.isChanged && base.rev) { toast("There are no changes to save.", { kind: "info" }); return; }
  if (page.newer) { await merge(page); return; }
  const text = editor.text, id = savedID(page);
  page.isSaving = true;
  page.tell("error");
  try {
    await page.busy(async () => {
      const answer = await store(database, { id, rev: base.rev, attachments: base.attachments, text });
      page.ownRevs.add(answer.rev);
      if (page.isNew || !base.rev) { created(page, answer.id); return; }
      page.base = { ...base, rev: answer.rev, text };
      if (editor.text === text) dropDraft(page.draft);
      toast(`Saved as revision ${short(answer.rev)}.`);
      await revise(page, answer.rev);
    });
  } catch (error) { await notSaved(page, error, base.rev); } finally { page.isSaving = false; }
  keepNow(page);
}

/**
 * @param {Page} page
 * @param {unknown} error
 * @param {string} [rev] The revision that the save was based on.
 */
export async function notSaved(page, error, rev = page.base.rev) {
  const { status } = /** @type {ApiError} */ (error);
  if (status === 409 && page.base.rev) {
    page.newer = "unknown";
    await merge(page, rev);
    return;
  }
  const text = status === 409 ? "A document with this ID exists. Choose another ID." : saveMessage(error);
  page.tell("error", note("danger", h("div.row.nowrap.top", null,
    h("span.grow", null, text),
    button({ title: "Dismiss", icon: "close", kind: "plain small", onclick: () => page.tell("error") }))));
  page.notes.lastElementChild?.scrollIntoView({ block: "nearest" });
}

/**
 * @param {Page} page
 * @param {string} id
 */
function created(page, id) {
  page.discard();
  toast(`Created the document ${id}.`);
  if (page.isNew) page.ctx.go(link("db", page.database, "doc", id));
  else page.reopen();
}
