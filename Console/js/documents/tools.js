// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { button, linkButton } from "../components/button.js";
import { note } from "../components/states.js";
import { h } from "../core/dom.js";
import { count, duration, plural } from "../core/format.js";
import { link } from "../core/router.js";

/**
 * What stands above a list: how many documents there are, what is wrong, what can be done with the selected ones.
 *
 * @typedef {import("../components/icon.js").IconName} IconName
 * @typedef {import("./pages.js").Pages} Pages
 */

/**
 * @param {Pages} pages
 * @returns {import("../core/dom.js").Children}
 */
export function statusOf({ isLoaded, error, total, info, known }) {
  if (!isLoaded) return error ? "" : "Loading…";
  return [
    total !== null ? plural(total, "document") : `At least ${plural(known, "document")}`,
    info && h("span.faint", null, ` · ${duration(info.milliseconds)}`,
      info.examined !== undefined && ` · ${count(info.examined)} examined`),
  ];
}

/**
 * @param {Pages} pages
 * @param {string} database
 * @param {import("./filter.js").Filter} filter
 * @param {() => void} changed
 * @returns {import("../core/dom.js").Children}
 */
export function notesOf(pages, database, { by, q }, changed) {
  const { error, isLoaded, info } = pages;
  const isSlow = by === "find" && /no matching index/i.test(info?.warning ?? "");
  const retry = () => { pages.retry(); changed(); };
  return [
    error && isLoaded && note("danger", `Some documents could not be loaded. ${/** @type {Error} */ (error).message} `,
      button({ label: "Try again", kind: "small", onclick: retry })),
    isSlow && note("warning", "No index fits this selector, so the server reads every document. ",
      h("a", { href: link("db", database, "ask", { q }) }, "See how it runs and create an index"), "."),
  ];
}

/**
 * @param {object} options
 * @param {import("./selection.js").Selection} options.selection
 * @param {import("./actions.js").Actions} options.actions
 * @param {(from: string) => string} options.newLink
 * @param {() => void} options.clear
 * @returns {import("../core/dom.js").Children}
 */
export function selectionTools({ selection, actions, newLink, clear }) {
  const { total, words, some } = selection.snapshot();
  const one = total === 1 ? some[0] : undefined;
  /** @type {(label: string, icon: IconName, onclick: () => any, kind?: string) => HTMLElement} */
  const tool = (label, icon, onclick, kind = "") => button({ label, icon, onclick, kind: `small ${kind}` });
  return [
    h("p.strong", { role: "status" }, total === null ? "All matching documents selected" : `${words} selected`),
    h("div.row", null,
      mayWrite() && tool("Edit…", "edit", () => actions.edit(selection.snapshot())),
      mayWrite() && tool("Delete…", "delete", () => actions.delete(selection.snapshot()), "danger"),
      mayWrite() && one !== undefined
        && linkButton({ label: "Duplicate", icon: "document", kind: "small", href: newLink(one) }),
      tool("Copy IDs", "copy", () => actions.copyIDs(selection.snapshot())),
      tool("Export", "download", () => actions.export(selection.snapshot()))),
    h("div.push", null, tool("Clear selection", "close", clear, "plain")),
  ];
}
