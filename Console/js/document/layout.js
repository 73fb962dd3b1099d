// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { field, input } from "../components/field.js";
import { jsonEditor } from "../components/json-editor.js";
import { parseExact, showExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { note } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { short } from "../core/revision.js";
import { link } from "../core/router.js";
import { AttachmentsPanel } from "./attachments.js";
import { factsPanel } from "./facts.js";
import { revise } from "./feed.js";
import { functionsPanel } from "./functions.js";
import { documentHead } from "./head.js";
import { linkDocuments } from "./links.js";
import { offerDrafts } from "./unsaved.js";

/** What the page of a document has, and where. */

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Shows a document with a text to edit.
 *
 * @param {Page} page
 * @param {string} text
 */
export function show(page, text) {
  const { isReadOnly, isNew, ctx } = page, onChange = () => page.changed();
  const editor = page.editor = jsonEditor({ text, label: "Document as JSON", readOnly: isReadOnly, onChange });
  page.idField = input({ placeholder: "The server chooses one", dir: "auto", oninput: onChange });
  page.reader = h("div.panel.document-reader", {
    hidden: true, tabindex: 0, role: "region", "aria-label": "Document as a tree",
  });
  page.functions = page.base.id.startsWith("_design/") ? functionsPanel(editor) : null;
  page.attachments = isNew || !page.base.rev ? null : new AttachmentsPanel({
    database: page.database, id: page.id, mayWrite: !isReadOnly, signal: ctx.signal,
    rev: () => page.base.rev, revise: (rev) => revise(page, rev), busy: (work) => page.busy(work),
  });
  page.facts = h("div");
  fill(page.body,
    h("div.document-main", null,
      isNew && field({
        label: "ID", input: page.idField, hint: "Identifies the document in its database. It cannot be changed later.",
      }),
      editor, page.reader, page.functions),
    h("div.document-side", null,
      page.attachments?.element
        ?? (!isReadOnly && h("p.small.soft", null, "Save the document before you attach files.")),
      page.facts));
  setMode(page, page.isReading);
  showBase(page);
  if (page.shownRev) tellRevision(page);
  if (!isReadOnly) offerDrafts(page);
}

/**
 * Shows what belongs to the stored revision.
 *
 * @param {Page} page
 */
export function showBase(page) {
  fill(page.head, documentHead(page));
  page.attachments?.show(page.base.meta._attachments ?? {});
  if (page.facts && page.base.rev) fill(page.facts, factsPanel(page.database, page.base));
  page.functions?.refresh();
  update(page);
}

/**
 * Enables the buttons that save.
 *
 * @param {Page} page
 */
export function update({ isChanged, base, saveButton, reviewButton }) {
  if (saveButton) saveButton.disabled = !isChanged && base.rev !== "";
  if (reviewButton) reviewButton.disabled = !isChanged;
}

/**
 * Shows the editor, or the document as a tree.
 *
 * @param {Page} page
 * @param {boolean} isReading
 * @returns {void}
 */
export function setMode(page, isReading) {
  const { editor, reader, ctx } = page;
  if (!editor || !reader) return;
  if (isReading && editor.error) { editor.showError(); setMode(page, false); return; }
  page.isReading = isReading;
  editor.hidden = isReading;
  reader.hidden = !isReading;
  page.turn?.abort();
  if (!isReading) return;
  const turn = page.turn = new AbortController();
  ctx.signal.addEventListener("abort", () => turn.abort(), { once: true });
  const tree = showExact(jsonView(parseExact(editor.text), { open: 3 }));
  fill(reader, tree);
  linkDocuments(tree, page.database, page.id, turn.signal);
}

/** @param {Page} page */
function tellRevision(page) {
  const { database, id, base } = page;
  page.tell("revision", note("info", h("div.row", null,
    h("span.grow", null, `This is revision ${short(base.rev)}`
      + `${base.isDeleted ? ", which deleted the document" : ""}. It cannot be changed.`),
    h("a.button.small", { href: link("db", database, "doc", id) }, "Open the current revision"),
    mayWrite() && h("a.button.small", { href: link("db", database, "doc", id, { use: base.rev }) },
      "Use this text for a new revision"))));
}
