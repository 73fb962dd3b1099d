// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { ask, openDialog } from "../components/dialog.js";
import { note } from "../components/states.js";
import { h } from "../core/dom.js";
import { ago } from "../core/format.js";
import { draftOf, dropDraft, keepDraft } from "./drafts.js";
import { short } from "./merge.js";
import { tellNewer } from "./others.js";

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Keeps unsaved work in the browser.
 *
 * @param {Page} page
 */
export function keepNow(page) {
  if (!page.editor || page.isReadOnly || page.isOffering) return;
  if (!page.isChanged || !page.base.rev && /^[{}\s]*$/.test(page.editor.text)) {
    if (!page.newer) dropOwn(page);
    page.ctx.guard(null);
    page.tell("kept");
    return;
  }
  const why = keepDraft(page.database, page.id, { rev: page.base.rev, base: page.base.text, text: page.editor.text });
  if (!why) page.kept = page.editor.text;
  page.tell("kept", why ? note("warning", `Your unsaved work is not kept in this browser: ${why} `
    + "Save before you leave this page.") : null);
  page.ctx.guard(why ? () => ask({
    title: "Leave without saving?", action: "Leave and lose the changes", danger: true,
    message: "Your changes of this document are not saved, and they could not be kept in this browser.",
  }) : null);
}

/**
 * Drops the draft that this page has kept or taken over. One that another tab has kept stays.
 *
 * @param {Page} page
 */
export function dropOwn(page) {
  if (page.kept !== null && draftOf(page.database, page.id)?.text === page.kept) dropDraft(page.database, page.id);
  page.kept = null;
}

/**
 * Shows that there is a draft, and lets the user choose before a key changes anything.
 *
 * @param {Page} page
 */
export function offerDraft(page) {
  const draft = draftOf(page.database, page.id), editor = page.editor;
  if (!draft || !editor) return;
  // A draft of what is stored by now is of no more use.
  if (draft.text === editor.text) { page.kept = draft.text; return; }
  const lock = (/** @type {boolean} */ isLocked) => {
    page.isOffering = editor.readOnly = isLocked;
    page.functions?.refresh();
  };
  lock(true);
  const decide = (/** @type {() => void} */ then) => {
    lock(false);
    page.tell("draft");
    page.kept = draft.text;
    then();
    editor.focus();
  };
  const use = () => decide(() => {
    const isOld = page.base.rev !== draft.rev && page.base.rev !== "";
    if (isOld) {
      page.newer = page.base.rev;
      page.base = { ...page.base, rev: draft.rev, text: draft.base || "{}" };
    }
    editor.replace(draft.text);
    if (isOld) tellNewer(page);
  });
  const look = () => openDialog({
    title: "Unsaved work", wide: true, signal: page.ctx.signal,
    body: page.difference(editor.text, draft.text, "The stored text", "Your unsaved text"),
  });
  page.tell("draft", note("warning", h("div.row", null,
    h("span.grow", null, h("strong", null, "You have unsaved work on this document"), ` of ${ago(draft.time)}`
      + (draft.rev === page.base.rev ? "" : `, made from revision ${draft.rev ? short(draft.rev) : "none"}`)
      + ". Choose before you edit."),
    button({ label: "Continue with it", kind: "small primary", onclick: use }),
    button({ label: "Compare", kind: "small", onclick: () => { look(); } }),
    button({ label: "Discard it", kind: "small", onclick: () => decide(() => dropOwn(page)) }))));
}
