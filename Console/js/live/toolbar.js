// SPDX-License-Identifier: Apache-2.0

import { fill, h } from "../core/dom.js";
import { button } from "../components/button.js";
import { checkbox, field, input, searchField, select, textarea } from "../components/field.js";
import { openDialog } from "../components/dialog.js";
import { parseExact, stringifyExact, writeExact } from "../components/json-text.js";
import { parseObject } from "../core/json.js";
import { filterNames } from "./filters.js";

/**
 * What the toolbar sets; all of it stands in the address.
 *
 * @typedef {object} Settings
 * @property {string} from
 * @property {boolean} withDocuments
 * @property {string} text Lines whose ID has it are shown.
 * @property {boolean} deletedOnly
 * @property {import("./filters.js").Choice} choice
 */

/**
 * The settings that an address says; a selector in it that cannot be read counts as none.
 *
 * @param {URLSearchParams} query
 * @returns {Settings}
 */
export function readSettings(query) {
  const read = (/** @type {string} */ name) => {
    try { return parseObject(query.get(name) ?? "", name, parseExact); } catch { return undefined; }
  };
  return {
    from: query.get("from") || "now", withDocuments: query.get("docs") !== "0", text: query.get("q") ?? "",
    deletedOnly: query.get("deleted") === "1",
    choice: {
      filter: query.get("filter") || undefined, parameters: read("parameters"), selector: read("selector"),
    },
  };
}

/**
 * @param {Settings} settings
 * @returns {Record<string, any>}
 */
export function writeSettings({ from, withDocuments, text, deletedOnly, choice }) {
  return {
    from: from === "now" ? "" : from, docs: withDocuments ? "" : "0", q: text, deleted: deletedOnly ? "1" : "",
    filter: choice.filter, parameters: choice.parameters && stringifyExact(choice.parameters),
    selector: choice.selector && stringifyExact(choice.selector),
  };
}

/**
 * @param {object} options
 * @param {string} options.database
 * @param {Settings} options.settings Changed in place.
 * @param {AbortSignal} options.signal
 * @param {() => void} options.onShow What is shown of the lines has changed.
 * @param {() => void} options.onFeed The feed must be opened anew.
 * @returns {HTMLElement & { search: HTMLInputElement }}
 */
export function toolbar({ database, settings, signal, onShow, onFeed }) {
  const search = searchField({ placeholder: "Filter by ID", value: settings.text });
  search.input.addEventListener("input", () => { settings.text = search.input.value; onShow(); });
  const isPlace = () => !["now", "last", "start"].includes(settings.from);
  const from = select([
    { value: "now", label: "From now" }, { value: "last", label: "From the last 100 changes" },
    { value: "start", label: "From the first change" }, { value: "place", label: "From a sequence…" },
  ], isPlace() ? "place" : settings.from, { "aria-label": "Where the feed begins" });
  from.addEventListener("change", async () => {
    const chosen = from.value === "place" ? await askForPlace(isPlace() ? settings.from : "", signal) : from.value;
    if (chosen) { settings.from = chosen; onFeed(); }
    else from.value = isPlace() ? "place" : settings.from;
  });
  const documents = checkbox("Documents", { checked: settings.withDocuments });
  documents.title = "Fetch each document with its change: for the preview and the shares";
  documents.input.addEventListener("change", () => { settings.withDocuments = documents.input.checked; onFeed(); });
  const deleted = checkbox("Deleted only", { checked: settings.deletedOnly });
  deleted.input.addEventListener("change", () => { settings.deletedOnly = deleted.input.checked; onShow(); });
  const filter = button({ label: "", onclick: () => { choose(); }, props: { class: "filter" } });
  const showFilter = () => {
    const { choice } = settings, isSet = Boolean(choice.filter || choice.selector);
    fill(filter, choice.filter ? `Filter: ${choice.filter}` : choice.selector ? "Filter: selector"
      : "Filter at the server");
    filter.setAttribute("aria-pressed", String(isSet));
    filter.title = choice.selector ? stringifyExact(choice.selector) : "Choose by a selector or by a filter function";
    filter.classList.remove("square");
  };
  const choose = async () => {
    const choice = await askForChoice(database, settings.choice, signal);
    if (!choice) return;
    settings.choice = choice;
    showFilter();
    onFeed();
  };
  showFilter();
  const element = h("div.row.live-tools", { role: "search", "aria-label": "Which changes" }, search, from, filter,
    documents, deleted);
  return Object.assign(element, { search: search.input });
}

/**
 * @param {string} value
 * @param {AbortSignal} signal
 * @returns {Promise<string | undefined>}
 */
function askForPlace(value, signal) {
  const box = input({ value, placeholder: "42-…" });
  const line = field({ label: "Sequence", input: box,
    hint: "The feed begins after this sequence, such as the update_seq of the database." });
  return openDialog({ title: "Begin after a sequence", action: "Open the feed", body: line, signal,
    submit: () => box.value.trim() || "start" });
}

/**
 * @param {string} database
 * @param {import("./filters.js").Choice} choice
 * @param {AbortSignal} signal
 * @returns {Promise<import("./filters.js").Choice | undefined>}
 */
async function askForChoice(database, choice, signal) {
  /** @type {string[]} */
  let names = [];
  // Without the list a selector can still be given.
  try { names = await filterNames(database, signal); } catch { if (signal.aborted) return; }
  if (choice.filter && !names.includes(choice.filter)) names.push(choice.filter);
  const functions = names.map((name) => ({ value: `f:${name}`, label: `Filter function ${name}` }));
  const kind = select([{ value: "", label: "No filter: all changes" }, { value: "selector", label: "A selector" },
    ...functions],
    choice.filter ? `f:${choice.filter}` : choice.selector ? "selector" : "");
  const selector = textarea({ class: "input code", value: writeExact(choice.selector ?? { type: "" }),
    rows: 6 });
  const parameters = textarea({ class: "input code", value: stringifyExact(choice.parameters ?? {}), rows: 2 });
  const parts = {
    selector: field({ label: "Selector", input: selector,
      hint: "As for a query: {\"type\": \"order\", \"total\": {\"$gt\": 100}}." }),
    parameters: field({ label: "Parameters", input: parameters, hint: "The function reads them from req.query." }),
  };
  const show = () => {
    parts.selector.hidden = kind.value !== "selector";
    parts.parameters.hidden = !kind.value.startsWith("f:");
  };
  kind.addEventListener("change", show);
  show();
  const hint = functions.length ? undefined : "No design document of this database has a filter function.";
  return openDialog({
    title: "Filter at the server", action: "Apply the filter", signal,
    body: [field({ label: "Which changes the server sends", input: kind, hint }), parts.selector, parts.parameters],
    submit: () => {
      if (kind.value === "selector") return { selector: parseObject(selector.value, "The selector", parseExact) };
      if (!kind.value) return {};
      const given = parseObject(parameters.value || "{}", "The parameters", parseExact);
      return { filter: kind.value.slice(2), parameters: Object.keys(given).length ? given : undefined };
    },
  });
}
