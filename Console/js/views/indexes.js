// SPDX-License-Identifier: Apache-2.0

import { api, path } from "../api/client.js";
import { databaseInfo, sampleFields } from "../api/couch.js";
import { isDivan, mayWrite, searches } from "../api/server.js";
import { button } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { menuButton } from "../components/menu.js";
import { emptyState, loading, tag } from "../components/states.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { bytes, plural } from "../core/format.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";
import { createIndex } from "../databases/create-index.js";
import { readDesigns } from "../databases/designs.js";
import { choice, indexesOf, KINDS, remove, somePartition, update } from "../databases/indexes.js";
import { workRegion } from "../components/progress.js";
import { followIndexers, progressOf } from "../maintenance/tasks.js";

await useStyle("indexes");

/** @typedef {import("../databases/indexes.js").Index} Index */

/** The indexes of a database: what they are, whether they are up to date, and whether queries choose them. */
class Indexes {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    this.database = ctx.params.db;
    this.signal = ctx.signal;
    this.isPartitioned = false;
    this.partition = "";
    this.region = loading({
      signal: ctx.signal, class: "grow-list",
      load: async (signal) => {
        const [listed, designs, info] = await Promise.all([
          api.get(path(this.database, "_index"), { signal }), readDesigns(this.database, signal),
          databaseInfo(this.database, { signal }),
        ]);
        this.isPartitioned = Boolean(info.props?.partitioned);
        if (this.isPartitioned) this.partition = await somePartition(this.database, signal).catch(() => "");
        return indexesOf(listed.indexes, designs, info);
      },
      render: (list) => this.list(list),
    });
    this.element = h("div.view.indexes", null, databaseTabs(this.database, "indexes"),
      h("div.head", null, h("h1", null, "Indexes"), h("div.actions", null,
        button({ label: "Refresh", icon: "refresh", onclick: () => this.region.reload() }),
        mayWrite() && button({ label: "New index", icon: "add", kind: "primary", onclick: () => this.create() }))),
      this.region);
    if (mayWrite()) keys(ctx.signal, { n: ["Create an index", () => { this.create(); }] });
  }

  /** @param {Index[]} list */
  list(list) {
    if (!list.length) {
      return h("div.panel", null, emptyState({
        icon: "index", title: "There are no indexes yet",
        text: "An index keeps the documents sorted by some of their fields. "
          + "With one, a query reads only the documents that it returns; without, it reads all. "
          + "Create one for the fields in your selectors. "
          + "Views and search indexes of design documents are listed here, too.",
        action: mayWrite() && button({ label: "New index", icon: "add", kind: "primary", onclick: () =>
          this.create() }),
      }));
    }
    return [
      h("ul.column", null, list.map((index) => this.card(index, list))),
      h("p.small.soft", null, "No server counts how often an index is used. "
        + "For a JSON index, the console asks _explain which index a query of exactly its fields would choose."),
    ];
  }

  /**
   * @param {Index} index
   * @param {Index[]} list
   */
  card(index, list) {
    const state = h("span"), use = h("p.small.soft"), work = workRegion(this.signal), isServed = servesKind(index);
    fill(state, isServed ? stateTag(index) : tag("Not available", "warning"));
    if (index.kind === "json") this.showChoice(index, list, use);
    const bring = isServed && button({
      label: index.pending === 0 ? "Update again" : "Bring up to date", kind: "small", onclick: () =>
        this.warmUp(index, work),
    });
    const menu = menuButton({
      title: `Actions for ${index.name}`, kind: "plain small",
      items: () => [
        { label: "Open the design document", icon: "document",
          call: () => { location.hash = link("db", this.database, "doc", index.design); } },
        mayWrite() && { label: "Delete…", icon: "delete", danger: true, call: () => this.delete(index) },
      ],
    });
    return h("li.panel.index", { "aria-label": `${KINDS[index.kind]} index ${index.name}` },
      h("div.row.top.spread", null,
        h("div.column.tight.grow", null,
          h("div.row", null, tag(KINDS[index.kind], index.isFunction ? "info" : "accent"),
            index.isPartitioned && tag("partitioned"), h("h2", null, index.name), state),
          h("p.small.soft", null, index.design)),
        h("div.row.nowrap", null, bring, menu)),
      definition(index), use,
      h("p.small.soft", null, !isServed
        ? `Queries of this index fail: the server has no service for ${KINDS[index.kind].toLowerCase()} indexes.`
        : index.size === null
        ? "The server does not report its size and state. The next query that uses it brings it up to date."
        : `${bytes(index.size)}${index.group > 1
          ? `, shared by the ${index.group} views of the design document` : ""}`),
      work);
  }

  /**
   * @param {Index} index
   * @param {Index[]} list
   * @param {HTMLElement} place
   */
  async showChoice(index, list, place) {
    const longer = list.find((other) => other !== index && other.kind === "json" && !other.filter && !index.filter
      && other.fields.length >= index.fields.length && index.fields.every((field, at) =>
        other.fields[at].name === field.name));
    try {
      const { isChosen, other } = await choice(this.database, index, this.partition, this.signal);
      fill(place, isChosen ? "Queries of these fields choose this index."
        : index.filter ? "Queries use this index only if they name it in use_index, because it has a filter."
          : `Queries of these fields choose ${other === "_all_docs" ? "no index" : other} instead.`,
      longer && ` The index ${longer.name} begins with the same fields and can serve the same queries.`);
    } catch { /* What is not known is not shown. */ }
  }

  /**
   * Brings an index up to date and shows how far the server is.
   *
   * @param {Index} index
   * @param {ReturnType<typeof workRegion>} region
   */
  warmUp(index, region) {
    return region.run(async (signal, line) => {
      line.show(null, "The server is working on it");
      const ends = followIndexers(this.database, signal, (tasks) => {
        const own = tasks.filter((task) => (task.design_document ?? index.design) === index.design);
        const done = own.reduce((sum, task) => sum + (task.changes_done ?? 0), 0);
        if (own.length) line.show(progressOf(own), `${plural(done, "change")} read`);
      });
      try { await update(this.database, index, this.partition, signal); } finally { ends(); }
      toast(index.isPartitioned && !isDivan()
        ? `${index.name} is up to date for partition ${this.partition}. A query of another one may still have to wait.`
        : `${index.name} is up to date.`);
      await this.region.reload();
      return null;
    });
  }

  async create() {
    const fields = await sampleFields(this.database, this.signal).catch(() => []);
    const created = await createIndex(this.database, this.isPartitioned, fields, this.signal);
    if (!created) return;
    toast(created.result === "exists" ? `This index is there already: ${created.name}.`
      : `The index ${created.name} is created.`);
    await this.region.reload();
  }

  /** @param {Index} index */
  async delete(index) {
    const isDone = await ask({
      title: `Delete ${index.name}`, action: "Delete the index", danger: true,
      message: [h("p", null, index.isFunction
        ? `The ${KINDS[index.kind].toLowerCase()} is removed from ${index.design}. Programs that query it will fail.`
        : "Queries that use it will read more documents, or fail if they name it or sort by its fields."),
      index.isFunction && index.group > 1 && h("p", null,
        `The server then rebuilds the other ${plural(index.group - 1, "view")} of the design document.`),
      h("p.soft", null, "No data is deleted. A design document goes with its last index.")],
      perform: () => remove(this.database, index),
    });
    if (!isDone) return;
    toast(`${index.name} is deleted.`);
    await this.region.reload();
  }
}

/**
 * Whether the server has what an index of this kind needs.
 *
 * @param {Index} index
 */
function servesKind({ kind }) {
  return kind === "json" || kind === "view" || searches(kind === "nouveau" ? "nouveau" : "search");
}

/** @param {Index} index */
function stateTag(index) {
  if (index.isUpdating) return tag("Updating", "info");
  if (index.pending === null) return null;
  return index.pending ? tag(`${plural(index.pending, "change")} behind`, "warning") : tag("Up to date", "success");
}

/**
 * The fields of an index, or its functions.
 *
 * @param {Index} index
 */
function definition(index) {
  if (index.isFunction) {
    return h("details", null, h("summary", null, index.kind !== "view" ? "Index function" : index.reduce
      ? `Map function, reduce ${index.reduce.startsWith("_") ? index.reduce : "function"}` : "Map function"),
      h("pre.functions", { tabindex: 0, dir: "ltr" }, index.map, index.reduce && !index.reduce.startsWith("_")
        ? `\n\n${index.reduce}` : ""));
  }
  return h("div.row", null,
    index.fields.length ? index.fields.map((field) => h("code.field-name", null, field.name,
      h("span.soft", null, { asc: " ↑", desc: " ↓" }[field.order] ?? ` ${field.order}`)))
      : h("span", null, "All fields"),
    index.filter && h("span.small", null, "of documents that match ", h("code", null, JSON.stringify(index.filter))));
}

/** @type {import("../shell.js").View} */
export default {
  title: (ctx) => `Indexes of ${ctx.params.db}`,
  crumbs: (ctx) => databaseCrumbs(ctx.params.db, { label: "Indexes" }),
  render: (ctx) => new Indexes(ctx).element,
};
