// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { note } from "../components/states.js";
import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { savedID } from "./saving.js";
import { leftOutText, notSavedOf, withoutOwn } from "./store.js";

/** What the console writes into a document by itself, beside the text of the editor. */

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Refuses properties that the console writes by itself, and would not write as they are typed.
 *
 * @param {Page} page
 * @returns {boolean}
 */
export function refusesOwn(page) {
  const { editor, base } = page;
  if (!editor) return false;
  const names = notSavedOf(editor.text, { ...base.meta, _id: savedID(page), _rev: base.rev });
  const remove = () => editor.replace(withoutOwn(editor.text));
  // What is as it is stored, such as in a pasted document, would be wrong after the save.
  if (!names.length && base.rev && notSavedOf(editor.text, {}).length) remove();
  page.tell("own", names.length === 0 ? null : note("danger", h("div.row", null,
    h("span.grow", null, `The document is not saved. The console itself sets ${names.join(", ")}, `
      + "and your text has another value.", why(names, base.id !== "")),
    button({ label: "Remove from the text", kind: "small", onclick: remove }))));
  if (names.length) page.notes.lastElementChild?.scrollIntoView({ block: "nearest" });
  return names.length > 0;
}

/**
 * @param {string[]} names
 * @param {boolean} hasID
 * @returns {string}
 */
function why(names, hasID) {
  return (names.includes("_id") ? hasID ? " A document cannot change its ID. Duplicate it to use another one."
    : " The ID field has another ID." : "")
    + (names.includes("_attachments") ? " Use the Attachments panel of a saved document to add or delete files." : "");
}

/**
 * Says what of the attachments of its original a duplicate has.
 *
 * @param {Page} page
 * @param {import("./store.js").Whole} source
 */
export function tellCarried(page, { meta, attachments, leftOut }) {
  const number = Object.keys(meta._attachments ?? {}).length;
  const leave = () => { page.base.attachments = ""; page.tell("from"); };
  if (leftOut) page.tell("from", note("warning", leftOutText(leftOut)));
  else if (attachments) {
    page.tell("from", note("info", h("div.row", null,
      h("span.grow", null, `The duplicate gets the ${plural(number, "attachment")} of the original.`),
      button({ label: "Leave out the attachments", kind: "small", onclick: leave }))));
  }
}
