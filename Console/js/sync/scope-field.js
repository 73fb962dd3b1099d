// SPDX-License-Identifier: Apache-2.0

import { fill, freshID, h } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { button } from "../components/button.js";
import { field, input, select, textarea } from "../components/field.js";
import { parseExact, plain, showExact, stringifyExact, writeExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { workRegion } from "../components/progress.js";
import { note } from "../components/states.js";
import { parseObject } from "../core/json.js";
import { filterNames } from "../live/filters.js";
import { preview, scopeOfDocument } from "./scope.js";

/**
 * The fields that say which documents are sent, with a preview of them.
 *
 * @param {object} options
 * @param {any} options.document What it was, a value of `parseExact`.
 * @param {() => string | null} options.source The database here that is the source.
 * @param {AbortSignal} options.signal
 * @param {() => void} options.onchange
 */
export function scopeField({ document, source, signal, onchange }) {
  const before = scopeOfDocument(document), listID = freshID(), listed = h("datalist", { id: listID });
  const kind = select([
    { value: "all", label: "All documents" }, { value: "ids", label: "Documents by ID" },
    { value: "selector", label: "Documents that a selector finds" },
    { value: "filter", label: "Documents that a filter function passes" },
  ], before.docIDs ? "ids" : before.selector ? "selector" : before.filter ? "filter" : "all");
  const ids = textarea({ class: "input code", value: before.docIDs?.join("\n") ?? "",
    placeholder: "order-1\norder-2" });
  const selector = textarea({ class: "input code", value: before.selector ? writeExact(before.selector) : "",
    placeholder: '{"type": "order"}', rows: 5 });
  const filter = input({ value: before.filter ?? "", list: listID, placeholder: "design/function" });
  const parameters = textarea({ class: "input code", value: before.parameters ? stringifyExact(before.parameters)
    : "",
    placeholder: '{"shop": "7"}', rows: 2 });
  const lines = {
    ids: field({ label: "IDs, one a line", input: ids }),
    selector: field({ label: "Selector", input: selector,
      hint: "A deleted document matches only by properties that it was deleted with." }),
    filter: field({ label: "Filter function", input: filter,
      hint: "A function in filters of a design document of the source." }),
    parameters: field({ label: "Parameters (optional)", input: parameters,
      hint: "A JSON object that the function reads from req.query." }),
  };
  const result = workRegion(signal);
  const tell = button({ label: "Preview what is sent", icon: "search", onclick: () => show() });
  const arrange = () => {
    for (const [name, line] of Object.entries(lines)) {
      line.hidden = (name === "parameters" ? "filter" : name) !== kind.value;
      line.wrong = "";
    }
    fill(result);
  };
  const refresh = () => { arrange(); onchange(); };
  /** @type {string | null} */
  let asked = null;
  filter.addEventListener("focus", async () => {
    const database = source();
    if (!database || database === asked) return;
    asked = database;
    // Without the list the name can still be typed.
    const names = await filterNames(database, signal).catch(() => []);
    if (asked === database) fill(listed, names.map((value) => h("option", { value })));
  });
  kind.addEventListener("change", refresh);
  for (const one of [ids, selector, filter, parameters]) one.addEventListener("input", refresh);

  /**
   * What the fields say; throws and shows what is wrong with them.
   *
   * @param {boolean} isQuiet Whether nothing is shown.
   * @returns {import("./scope.js").Scope}
   */
  const read = (isQuiet = false) => {
    const attempt = (/** @type {keyof typeof lines} */ name, /** @type {() => any} */ call) => {
      try { return call(); } catch (error) {
        if (!isQuiet) lines[name].wrong = /** @type {Error} */ (error).message;
        throw error;
      }
    };
    const need = (/** @type {string} */ text, /** @type {string} */ what) => {
      if (!text.trim()) throw new Error(what);
      return text.trim();
    };
    switch (kind.value) {
      case "ids": return { docIDs: attempt("ids",
        () => need(ids.value, "Enter at least one ID.").split("\n").map((id) => id.trim()).filter(Boolean)) };
      case "selector": return { selector: attempt("selector",
        () => parseObject(need(selector.value, "Enter a selector."), "The selector", parseExact)) };
      case "filter": return {
        filter: attempt("filter", () => need(filter.value, "Enter the name of the function.")),
        parameters: parameters.value.trim()
          ? attempt("parameters", () => parseObject(parameters.value, "The parameters", parseExact)) : undefined,
      };
      default: return {};
    }
  };
  const show = () => {
    const database = source();
    if (!database) {
      fill(result, note("info", "A preview is possible when the source is a database of this server."));
      return;
    }
    /** @type {import("./scope.js").Scope} */
    let scope;
    try { scope = read(); } catch { return; }
    result.run(async (until, line) => drawPreview(await preview(database, scope, until,
      (so) => line.show(null, `Counting: ${count(so)} so far`))));
  };
  arrange();
  const element = h("fieldset.panel", null, h("div.body.end", null, h("legend", null, "What is sent"),
    field({ label: "Documents", input: kind }), Object.values(lines), listed, h("div", null, tell), result));
  return { element, read };
}

/**
 * @param {import("./scope.js").Preview} found
 * @returns {HTMLElement}
 */
function drawPreview({ count: number, isMore, deleted, missing, sample }) {
  const facts = [deleted && `${plural(deleted, "deletion")} as well`,
    missing && `${plural(missing, "ID")} that the source does not have`].filter(Boolean);
  return h("div.column", null,
    h("p", null, h("strong", null, `${isMore ? "More than " : ""}${plural(number, "document")}`), " would be sent",
      facts.length > 0 && `; ${facts.join("; ")}`, "."),
    sample.length > 0 && h("p.small.soft", null, `The first ${sample.length > 1 ? sample.length : ""}:`),
    sample.map((document) => h("div.scroll-x", null, showExact(jsonView(document, { open: 0 })),
      h("span.small.code.soft", null, plain(document._id)))));
}
