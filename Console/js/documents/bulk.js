// SPDX-License-Identifier: Apache-2.0

import { readRows } from "../api/couch.js";
import { ask, openDialog } from "../components/dialog.js";
import { field, input, select, textarea } from "../components/field.js";
import { parseExact, showExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { workDialog } from "../components/progress.js";
import { note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { debounce, fill, h } from "../core/dom.js";
import { bytes, count, plural } from "../core/format.js";
import { get, set } from "../core/merge.js";
import { attachedSize, batches, MOST_ATTACHED, MOST_UNDO, rewrite } from "./work.js";

/**
 * Deleting and editing the selected documents.
 *
 * @typedef {import("./work.js").Outcome} Outcome
 * @typedef {import("./work.js").Target} Target
 *
 * What is selected: `total` is null while no one knows how many a selector finds.
 *
 * @typedef {object} Selected
 * @property {number | null} total
 * @property {string} words Such as "3 documents".
 * @property {string[]} some The first IDs, for the preview.
 * @property {(signal: AbortSignal) => AsyncGenerator<Target[]>} targets
 */

const PREVIEW = 20;

/**
 * Changes what is selected, with progress; then lists what failed, with a button to try it again.
 *
 * @param {string} database
 * @param {object} options
 * @param {Selected} options.selected
 * @param {string} options.doing Such as "Deleting".
 * @param {string} options.done Such as "Deleted".
 * @param {(doc: any) => any} options.change
 * @param {AbortSignal} options.signal
 * @param {(outcome: Outcome) => void} options.then Told each time that something was saved.
 */
async function run(database, { selected, doing, done, change, signal, then }) {
  const outcome = await workDialog({
    title: `${doing} ${selected.words}`, signal,
    work: (stop, line) => rewrite(database, selected.targets(stop), change, stop,
      (at) => line.count(at, selected.total)),
  });
  if (signal.aborted || !outcome) return;
  then(outcome);
  const { saved, unchanged, failures, isStopped } = outcome;
  const rest = unchanged ? ` ${plural(unchanged, "document")} needed no change.` : "";
  const result = `${done} ${plural(saved, "document")}.${rest}`;
  const again = failures.filter(({ id }) => id).map(({ id }) => ({ id }));
  if (!failures.length) {
    toast(isStopped ? `Stopped. ${result}` : result, { kind: isStopped ? "warning" : "success" });
    return;
  }
  const isAgain = await openDialog({
    title: `${plural(failures.length, "document")} failed`, signal, wide: true,
    action: again.length ? `Try ${again.length === 1 ? "it" : `these ${count(again.length)}`} again` : undefined,
    body: [h("p", null, `${result} The table says why the others failed.`), failureTable(failures)],
    submit: () => true,
  });
  if (!isAgain) return;
  await run(database, {
    doing, done, change, signal, then,
    selected: {
      some: [], total: again.length, words: plural(again.length, "document"), async *targets() { yield again; },
    },
  });
}

/**
 * @param {import("./work.js").Failure[]} failures
 * @returns {HTMLElement}
 */
export function failureTable(failures) {
  return h("div.column", null, h("div.scroll-x", null, h("table.table", null,
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Document"), h("th", { scope: "col" }, "Why"))),
    h("tbody", null, failures.slice(0, 200).map(({ id, reason }) =>
      h("tr", null, h("td", { dir: "auto" }, id), h("td", { dir: "auto" }, reason)))))),
  failures.length > 200 && h("p.soft", null, `${count(failures.length - 200)} more are not listed.`));
}

/**
 * @param {Selected} selected
 * @returns {HTMLElement | false}
 */
function undoNote({ total }) {
  return (total === null || total > MOST_UNDO)
    && note("warning", `Undo covers the first ${count(MOST_UNDO)} documents. Export them first to keep a copy of all.`);
}

/**
 * How many documents have attachments above what an undo keeps, of those that an undo covers.
 *
 * @param {string} database
 * @param {Selected} selected
 * @param {AbortSignal} signal
 * @returns {Promise<number | undefined>} Undefined if the user cancelled the count.
 */
async function countLarge(database, selected, signal) {
  const work = async (/** @type {AbortSignal} */ stop, /** @type {(done: number) => void} */ report) => {
    let large = 0, done = 0;
    for await (const batch of batches(selected.targets(stop))) {
      const rows = await readRows(database, batch.map(({ id }) => id), stop);
      large += rows.filter(({ doc }) => attachedSize(doc) > MOST_ATTACHED).length;
      report(done += batch.length);
      if (done >= MOST_UNDO) break;
    }
    return large;
  };
  const { total } = selected;
  if (total !== null && total <= 500) return work(signal, () => {});
  return workDialog({
    title: "Checking the attachments", signal, work: (stop, line) => work(stop, (done) => line.count(done, total)),
  });
}

/**
 * @typedef {{ database: string, selected: Selected, signal: AbortSignal, then: (outcome: Outcome) => void }} Options
 *
 * @param {Options} options
 */
export async function deleteSelected({ database, selected, signal, then }) {
  const { words, some, total } = selected;
  const listed = some.slice(0, PREVIEW);
  const more = total === null ? null : total - listed.length;
  const large = await countLarge(database, selected, signal);
  if (signal.aborted) return;
  const isSure = await ask({
    title: `Delete ${words}?`, action: `Delete ${words}`, danger: true,
    // A click must not empty a database.
    typed: total === null || total > 1000 ? database : undefined,
    message: [
      h("ul.going", { "aria-label": "Documents to delete" },
        listed.map((id) => h("li.cut", { dir: "auto", title: id }, id)),
        more !== 0 && h("li.soft", null, more === null ? "and all others that match" : `and ${count(more)} more`)),
      h("p.soft", null, "The deletion is replicated to other databases. You can undo it while this page is open."),
      large === undefined ? note("warning", "The check of the attachments did not finish. The deletion of a document "
          + `with more than ${bytes(MOST_ATTACHED)} of attachments cannot be undone.`)
        : large > 0 && note("warning", `The deletion of ${plural(large, "document")} cannot be undone: the attachments `
          + `are larger than ${bytes(MOST_ATTACHED)}.`),
      undoNote(selected),
    ],
  });
  if (!isSure) return;
  await run(database, {
    selected, signal, then, doing: "Deleting", done: "Deleted",
    change: ({ _id, _rev }) => ({ _id, _rev, _deleted: true }),
  });
}

/** @typedef {"set" | "remove" | "rename" | "merge"} Edit */

/**
 * What an edit makes of a document; null if it changes nothing.
 *
 * @param {Edit} edit
 * @param {string} property
 * @param {any} value The value to set, the new name, or the object to merge.
 * @returns {(doc: any) => any}
 */
function editing(edit, property, value) {
  return (doc) => {
    const next = { ...doc };
    if (edit === "merge") for (const key of Object.keys(value)) set(next, key, value[key]);
    else if (edit === "set") set(next, property, value);
    else if (!Object.hasOwn(doc, property)) return null;
    else {
      delete next[property];
      if (edit === "rename") set(next, value, doc[property]);
    }
    return JSON.stringify(next) === JSON.stringify(doc) ? null : next;
  };
}

/**
 * @param {string} text
 * @param {string} what
 */
function parsed(text, what) {
  try { return parseExact(text); } catch {
    throw new Error(`${what} is not JSON. Put text in quotes, such as "paid".`);
  }
}

/**
 * @param {string} name
 * @returns {string}
 */
function checkedName(name) {
  if (!name) throw new Error("Enter the name of a property.");
  if (name.startsWith("_")) throw new Error("Properties that begin with _ belong to the database.");
  return name;
}

/** @param {Options & { names: string[] }} options `names`: properties to choose from. */
export async function editSelected({ database, selected, signal, then, names }) {
  const sample = await readRows(database, selected.some.slice(0, 100), signal);
  const docs = sample.map((row) => row.doc).filter(Boolean);
  const list = h("datalist", { id: "edit-names" }, names.map((name) => h("option", { value: name })));
  const property = input({ list: "edit-names", oninput: () => draw(), dir: "auto" });
  const rename = input({ oninput: () => draw(), dir: "auto" });
  const value = textarea({ rows: 2, class: "code", oninput: () => draw() });
  const lines = {
    property: field({ label: "Property", input: property }),
    rename: field({
      label: "New name", input: rename, hint: "If a document already has this property, its value is replaced.",
    }),
    value: field({ label: "Value as JSON", input: value, hint: "Put text in quotes." }),
  };
  const kind = select([
    { value: "set", label: "Set a property" }, { value: "remove", label: "Remove a property" },
    { value: "rename", label: "Rename a property" }, { value: "merge", label: "Merge a JSON object" },
  ], "set", { onchange: () => arrange() });
  const preview = h("div.column", { "aria-live": "polite" });

  /** The change that the fields describe. */
  const change = () => {
    const edit = /** @type {Edit} */ (kind.value);
    if (edit === "merge") {
      const object = parsed(value.value, "The object");
      if (object === null || typeof object !== "object" || Array.isArray(object)) {
        throw new Error("Enter a JSON object, such as {\"paid\": true}.");
      }
      Object.keys(object).forEach(checkedName);
      return editing(edit, "", object);
    }
    const name = checkedName(property.value.trim());
    if (edit === "rename") return editing(edit, name, checkedName(rename.value.trim()));
    return editing(edit, name, edit === "set" ? parsed(value.value, "The value") : undefined);
  };
  const draw = debounce(() => {
    try {
      const make = change();
      const changed = docs.map((doc) => [doc, make(doc)]).filter(([, after]) => after);
      const [before, after] = changed[0] ?? [];
      const text = `Of the first ${plural(docs.length, "document")}, ${count(changed.length)} will change.`;
      const name = kind.value === "rename" ? rename.value.trim() : "";
      const replaced = name ? changed.filter(([doc]) => get(doc, name) !== undefined).length : 0;
      fill(preview, h("p", null, text),
        replaced > 0 && note("warning", `${plural(replaced, "document")} of these already `
          + `${replaced === 1 ? "has" : "have"} the property ${name}. Its value is replaced.`),
        before && h("div.before-after", null,
          h("div", null, h("h3", null, "Before"), showExact(jsonView(before))),
          h("div", null, h("h3", null, "After"), showExact(jsonView(after)))));
    } catch (error) { fill(preview, h("p.soft", null, /** @type {Error} */ (error).message)); }
  }, 150);
  const arrange = () => {
    const edit = kind.value;
    lines.property.hidden = edit === "merge";
    lines.rename.hidden = edit !== "rename";
    lines.value.hidden = edit !== "set" && edit !== "merge";
    const label = lines.value.querySelector("label");
    if (label) fill(label, edit === "merge" ? "Object to merge" : "Value as JSON");
    draw();
  };
  arrange();
  /** @type {((doc: any) => any) | undefined} */
  const make = await openDialog({
    title: `Edit ${selected.words}`, action: `Change ${selected.words}`, wide: true, signal,
    body: [
      list, field({ label: "Change", input: kind }), lines.property, lines.rename, lines.value, preview,
      undoNote(selected),
    ],
    submit: () => change(),
  });
  if (make) await run(database, { selected, signal, then, change: make, doing: "Changing", done: "Changed" });
}
