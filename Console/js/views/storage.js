// SPDX-License-Identifier: Apache-2.0

import { api, path } from "../api/client.js";
import { databaseInfo } from "../api/couch.js";
import { has, isDivan, mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { field, input, select } from "../components/field.js";
import { emptyState, figure, loading } from "../components/states.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { bytes, count, cut, plural } from "../core/format.js";
import { useStyle } from "../core/style.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";
import { readDesigns, sizeOf } from "../databases/designs.js";
import { BY_ID, kindProperties, kindsOf, takeSample } from "../databases/sample.js";
import { backUp } from "../maintenance/backup.js";
import { cleanUpViews, compact, verify } from "../maintenance/operations.js";

await useStyle("storage");

/**
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
function render(ctx) {
  const database = ctx.params.db, { signal } = ctx;
  /** @type {HTMLElement & { reload: () => Promise<void> }} */
  const region = loading({
    signal, class: "column wide", bars: 8,
    load: () => Promise.all([
      databaseInfo(database, { signal }), readDesigns(database, signal).catch(() => []),
      limit(database, "_revs_limit", signal), limit(database, "_purged_infos_limit", signal),
    ]),
    render: (/** @type {[any, import("../databases/designs.js").Design[], number | null, number | null]} */ [info,
      designs, revisions, purges]) => [
      figures(info, revisions),
      space(info, designs.reduce((sum, design) => sum + sizeOf(design), 0)),
      kinds(ctx, info.doc_count === undefined ? undefined : info.doc_count - designs.length),
      maintenance(database, info, signal, () => region.reload()),
      mayWrite() && limits(database, revisions, purges, () => region.reload()),
    ],
  });
  return h("div.view.storage", null, databaseTabs(database, "storage"), h("h1.unseen", null, `Storage of ${database}`),
    region);
}

/**
 * @param {string} database
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<number | null>}
 */
const limit = (database, name, signal) => api.get(path(database, name), { signal }).catch(() => null);

/**
 * @param {string} title
 * @param {import("../core/dom.js").Children} body
 * @param {import("../core/dom.js").Children} [head] Beside the title.
 */
function panel(title, body, head) {
  return h("section.panel", { "aria-label": title }, h("header", null, h("h2", null, title), head),
    h("div.body.column", null, body));
}

/**
 * @param {import("../api/couch.js").DatabaseInfo} info
 * @param {number | null} revisions
 */
function figures({ doc_count, doc_del_count, sizes, props }, revisions) {
  const number = (/** @type {number | null | undefined} */ value) => (value === undefined || value === null ? "–"
    : count(value));
  return h("div.panel", null, h("div.body.figures", null,
    figure("On disk", bytes(sizes.file), "The size of the database's files"),
    figure("In use", bytes(sizes.active), "How much of the files the current data uses"),
    figure("As JSON", bytes(sizes.external), "The size of the current data as uncompressed JSON"),
    figure("Documents", number(doc_count)), figure("Deleted", number(doc_del_count),
      "A deleted document leaves a small mark, so that the deletion can be synced"),
    figure("Revisions limit", number(revisions), "How many revisions the history of a document keeps"),
    props?.partitioned && figure("Partitioned", "Yes")));
}

/**
 * Where the bytes on disk go. CouchDB has its indexes in files beside the database's, Divan has them in it.
 *
 * @param {import("../api/couch.js").DatabaseInfo} info
 * @param {number} indexes
 */
function space({ sizes }, indexes) {
  const inside = isDivan() ? Math.min(indexes, sizes.active) : 0;
  const parts = [
    { label: "Documents and attachments", size: sizes.active - inside, hint: isDivan()
      ? "With revision histories, conflicts and JSON indexes" : "With revision histories and conflicts" },
    { label: "Views and search indexes", size: indexes, hint: "As their design documents report" },
    { label: isDivan() ? "Log, old revisions and free space" : "Old revisions and free space",
      size: Math.max(0, sizes.file - sizes.active), hint: "Compaction can free most of this" },
  ];
  const total = parts.reduce((sum, part) => sum + part.size, 0) || 1;
  return panel("Space on disk", [
    h("div.stack", { "aria-hidden": "true" }, parts.map((part, index) =>
      h("span", { class: `series-${index + 1}`, style: { "flex-grow": part.size / total } }))),
    h("ul.legend", null, parts.map((part, index) => h("li", null, h("span.swatch", { class: `series-${index + 1}` }),
      h("div", null, h("p", null, part.label, " ", h("strong.whole", null, bytes(part.size)),
        h("span.soft", null, ` (${share(part.size / total)})`)), h("p.small.soft", null, part.hint))))),
  ]);
}

/** @param {number} part */
function share(part) { return part > 0 && part < 0.01 ? "below 1 %" : `${Math.round(part * 100)} %`; }

/**
 * @param {import("../shell.js").Context} ctx
 * @param {number | undefined} total
 */
function kinds(ctx, total) {
  const database = ctx.params.db;
  const head = h("span.push");
  return panel("Kinds of documents", loading({
    signal: ctx.signal, load: (signal) => takeSample(database, total ?? 1000, signal),
    render: (sample) => {
      if (!sample.length) return emptyState({ icon: "document", title: "There are no documents yet",
        text: "When there are, this shows how much space each kind takes." });
      const properties = kindProperties(sample);
      const wanted = ctx.query.get("by") ?? "";
      const rows = h("div.kinds");
      const draw = (/** @type {string} */ by) => fill(rows,
        kindRows(kindsOf(sample, by), (total ?? sample.length) / sample.length));
      const chosen = properties.includes(wanted) ? wanted : properties[0];
      fill(head, h("label.row.nowrap.small", null, "By", select(properties.map((name) => ({ value: name,
        label: name === BY_ID ? "beginning of the ID" : cut(name, 40) })), chosen, {
        onchange: (/** @type {Event} */ event) => {
          const { value } = /** @type {HTMLSelectElement} */ (event.target);
          draw(value);
          ctx.setQuery({ by: value });
        },
      })));
      draw(chosen);
      return [rows, h("p.small.soft", null, sample.length >= (total ?? Infinity) ? "Counted in all documents. "
        : `Estimated from a sample of ${count(sample.length)} of ${count(total ?? 0)} documents, `
          + "taken from twenty places in the order of the IDs. ",
      "Sizes are those of the current revisions as JSON, and of their attachments.")];
    },
  }), head);
}

/**
 * @param {import("../databases/sample.js").Kind[]} list
 * @param {number} factor How many documents one of the sample stands for.
 */
function kindRows(list, factor) {
  const largest = Math.max(1, ...list.map((kind) => kind.size + kind.attachments));
  const about = factor > 1.01 ? "about " : "";
  return list.map((kind) => h("div.kind", null,
    h("span.cut", { title: kind.label, dir: "auto" }, kind.label),
    h("span.stack", { "aria-hidden": "true" },
      h("span.series-1", { style: { "inline-size": `${(kind.size / largest) * 100}%` } }),
      kind.attachments > 0 && h("span.series-4", { style: { "inline-size": `${(kind.attachments / largest) * 100}%` },
        title: "Attachments" })),
    h("span.number.small", null, `${about}${plural(Math.round(kind.count * factor), "document")}`),
    h("span.number.small", null, bytes(kind.size * factor), kind.attachments > 0
      && h("span.soft", null, ` + ${bytes(kind.attachments * factor)} of attachments`))));
}

/**
 * @param {string} database
 * @param {import("../api/couch.js").DatabaseInfo} info
 * @param {AbortSignal} signal
 * @param {() => any} reload
 */
function maintenance(database, { sizes }, signal, reload) {
  const unused = Math.max(0, sizes.file - sizes.active);
  const row = (/** @type {string} */ text, /** @type {HTMLElement} */ control) =>
    h("div.row.nowrap.spread", null, h("p", null, text), control);
  return panel("Maintenance", [
    mayWrite() && row(`Compaction removes the content of old revisions and frees up to ${bytes(unused)}.`,
      button({ label: "Compact…", onclick: async () => { if (await compact(database, signal)) await reload(); } })),
    mayWrite() && row("Cleaning up deletes the index files of views that no design document defines.",
      button({
        label: "Clean up views…", onclick: async () => { if (await cleanUpViews(database)) await reload(); },
      })),
    has("divan-verify") && row(
      "Verification reads everything that is stored and reports what is damaged. It changes nothing.",
      button({ label: "Verify…", onclick: () => verify(database, signal) })),
    row("A backup saves the current documents with their attachments as a file of JSON lines.",
      button({ label: "Back up…", onclick: () => backUp(database, signal) })),
  ]);
}

/**
 * @param {string} database
 * @param {number | null} revisions
 * @param {number | null} purges
 * @param {() => any} reload
 */
function limits(database, revisions, purges, reload) {
  const one = (/** @type {string} */ label, /** @type {string} */ name, /** @type {number | null} */ value,
    /** @type {string} */ hint) => {
    if (value === null) return null;
    const box = input({ type: "number", min: 1, step: 1, value: String(value), required: true });
    const line = field({ label, input: box, hint });
    return h("form.column.tight", {
      novalidate: true,
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        line.wrong = box.checkValidity() ? "" : "Enter a whole number, 1 or more.";
        if (line.wrong) return;
        try {
          await api.put(path(database, name), Number(box.value));
          toast(`${label}: ${count(Number(box.value))}.`);
          await reload();
        } catch (error) { line.wrong = /** @type {Error} */ (error).message; }
      },
    }, line, h("button.button.small", { type: "submit", style: { "align-self": "start" } },
      `Set the ${label.toLowerCase()}`));
  };
  return panel("Limits", h("div.grid", null,
    one("Revisions limit", "_revs_limit", revisions,
      "How many revision IDs the history of each document keeps. "
        + "With a low limit, a device that syncs rarely can cause false conflicts."),
    one("Purge limit", "_purged_infos_limit", purges,
      "How many purges the server remembers, so that indexes and replicas can follow them.")));
}

/** @type {import("../shell.js").View} */
export default {
  title: (ctx) => `Storage of ${ctx.params.db}`,
  crumbs: (ctx) => databaseCrumbs(ctx.params.db, { label: "Storage" }),
  render,
};
