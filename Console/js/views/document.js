// SPDX-License-Identifier: Apache-2.0

import { cut } from "../core/format.js";
import { useStyle } from "../core/style.js";
import { DocumentPage } from "../document/page.js";
import { databaseCrumbs } from "../shell/database.js";

await useStyle("document");

/**
 * One document: its text, attachments and details. `_new` is a document that is not saved yet, with `?from=ID` a
 * duplicate of another one; `?rev=REV` shows a revision to read, `?use=REV` takes the text of a revision for the next
 * one; `?mode=read` shows a tree instead of the editor.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {string}
 */
const nameOf = (ctx) => ctx.params.id === "_new" ? "New document" : cut(ctx.params.id, 60);

/** @type {import("../shell.js").View} */
export default {
  title: nameOf,
  crumbs: (ctx) => databaseCrumbs(ctx.params.db, { label: nameOf(ctx) }),
  render: (ctx) => new DocumentPage(ctx).element,
};
