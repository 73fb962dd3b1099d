// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { ask, openDialog } from "../components/dialog.js";
import { note } from "../components/states.js";
import { h } from "../core/dom.js";
import { ago } from "../core/format.js";
import { short } from "../core/revision.js";
import { dropDraft, freeDrafts, hasDrafts, keepDraft } from "./drafts.js";
import { tellNewer } from "./others.js";
import { difference } from "./saving.js";

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Keeps unsaved work in the browser.
 *
 * @param {Page} page
 */
export function keepNow(page) {
  if (!page.editor || page.isReadOnly || page.isOffering) return;
  if (!page.isChanged || !page.base.rev && /^[{}\s]*$/.test(page.editor.text)) {
    if (!page.newer) dropDraft(page.draft);
    page.ctx.guard(null);
    page.tell("kept");
    return;
  }
  const why = keepDraft(page.draft, { rev: page.base.rev, base: page.base.text, text: page.editor.text });
  page.tell("kept", why ? note("warning", `This browser cannot keep your unsaved changes. ${why} `
    + "Save the document before you leave this page.") : null);
  page.ctx.guard(why ? () => ask({
    title: "Leave without saving?", action: "Leave and lose the changes", danger: true,
    message: "The changes to this document are not saved, and this browser could not keep them.",
  }) : null);
}

/**
 * Shows the drafts that no other tab has, and lets the user choose before a key changes anything.
 *
 * @param {Page} page
 */
export async function offerDrafts(page) {
  const { editor, database, id, ctx } = page;
  if (!editor || !hasDrafts(database, id)) return;
  const stored = editor.text;
  const lock = (/** @type {boolean} */ isLocked) => {
    page.isOffering = editor.readOnly = isLocked;
    page.functions?.refresh();
  };
  lock(true);
  const drafts = (await freeDrafts(database, id)).filter(({ key, text }) => {
    // A draft of what is stored by now is of no more use.
    if (text === stored) dropDraft(key);
    return text !== stored;
  });
  if (ctx.signal.aborted || page.editor !== editor) return;
  if (!drafts.length) { lock(false); return; }
  let left = drafts.length;
  const end = () => {
    lock(false);
    page.tell("draft");
    editor.focus();
  };
  const use = (/** @type {typeof drafts[0]} */ draft) => {
    end();
    const isOld = page.base.rev !== draft.rev && page.base.rev !== "";
    if (isOld) {
      page.newer = page.base.rev;
      page.base = { ...page.base, rev: draft.rev, text: draft.base || "{}" };
    }
    editor.replace(draft.text);
    dropDraft(draft.key);
    keepNow(page);
    if (isOld) tellNewer(page);
  };
  const rows = drafts.map((draft) => {
    const row = h("div.row", null,
      h("span.grow", null, h("strong", null, "You have unsaved changes to this document"), `, made ${ago(draft.time)}`
        + (draft.rev === page.base.rev ? "" : draft.rev ? ` to revision ${short(draft.rev)}` : " before it was saved")
        + ". Choose before you edit."),
      button({ label: "Continue editing", kind: "small primary", onclick: () => use(draft) }),
      button({ label: "Compare", kind: "small", onclick: () => {
        openDialog({
          title: "Unsaved changes", wide: true, signal: ctx.signal,
          body: difference(editor.text, draft.text, "Stored text", "Your unsaved text"),
        });
      } }),
      button({ label: "Discard the changes", kind: "small", onclick: () => {
        dropDraft(draft.key);
        row.remove();
        left -= 1;
        if (!left) end();
      } }));
    return row;
  });
  page.tell("draft", note("warning", h("div.column", null, rows)));
}
