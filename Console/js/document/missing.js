// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { button, linkButton } from "../components/button.js";
import { jsonView } from "../components/json-view.js";
import { parseExact, showExact } from "../components/json-text.js";
import { emptyState, note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { h } from "../core/dom.js";
import { link } from "../core/router.js";
import { short } from "../core/revision.js";
import { leftOutText, save, saveMessage } from "./store.js";

/**
 * There is no document of that ID.
 *
 * @param {string} database
 * @param {string} id
 * @param {() => void} create
 * @returns {HTMLElement}
 */
export function missingState(database, id, create) {
  return emptyState({
    icon: "search", title: "Document not found",
    text: [
      "The database ", h("strong", null, database), " has no document with the ID ",
      h("code", { dir: "auto" }, id), ".",
    ],
    action: h("div.row", null,
      mayWrite() && button({ label: "Create the document", icon: "add", kind: "primary", onclick: create }),
      linkButton({ label: "All documents", href: link("db", database, "docs") })),
  });
}

/**
 * The document was deleted: what it was, and a button that brings it back.
 *
 * @param {string} database
 * @param {import("./store.js").Whole} tombstone
 * @param {() => Promise<void>} reload
 * @returns {HTMLElement}
 */
export function deletedState(database, tombstone, reload) {
  const { id, rev, text, attachments, leftOut } = tombstone;
  const hasBody = text !== "{}";
  const restore = async () => {
    try {
      await save(database, { id, rev: "", attachments, text });
      toast("The document is restored.");
      await reload();
    } catch (error) { toast(saveMessage(error), { kind: "danger" }); }
  };
  return h("div.column.wide", null,
    note("warning", h("div.column", null,
      h("p", null, h("strong", null, "This document is deleted."), ` Revision ${short(rev)} deleted it. `,
        hasBody ? "Its last content is below. Restore the document to save that as a new revision."
          : "Its content is no longer stored. Restore the document to make an empty one."),
      leftOut > 0 && h("p", null, leftOutText(leftOut)),
      h("div.row", null,
        mayWrite() && button({ label: "Restore the document", icon: "undo", kind: "primary", onclick: restore }),
        linkButton({ label: "History", icon: "history", href: link("db", database, "doc", id, "history") })))),
    hasBody && h("section.panel", { "aria-label": "Last content" }, h("header", null, h("h2", null, "Last content")),
      h("div.body", null, showExact(jsonView(parseExact(text))))));
}
