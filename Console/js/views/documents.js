// SPDX-License-Identifier: Apache-2.0

import { has, mayWrite } from "../api/server.js";
import { button, linkButton, segments } from "../components/button.js";
import { stringifyExact } from "../components/json-text.js";
import { menuButton } from "../components/menu.js";
import { emptyState, errorState, loadingState } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { Actions } from "../documents/actions.js";
import { ColumnChoice } from "../documents/columns.js";
import { facetPanel } from "../documents/facets.js";
import { filterBar, indexName, parseSelector, selectorOf, withCondition } from "../documents/filter.js";
import { DocumentList } from "../documents/list.js";
import { watch } from "../documents/live.js";
import { allSource, findSource, readDesigns, searchSource } from "../documents/sources.js";
import { notesOf, selectionTools, statusOf } from "../documents/tools.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";

await useStyle("documents");

/**
 * The documents of a database: a list of any length to filter, read, select and change.
 *
 * The address keeps the filter (`by`, `q`, `index`), the shape of the list (`view`), whether design documents are shown
 * (`design`), the property of the facets (`facet`) and the first line in sight (`at`).
 */
class DocumentsView {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    const { query, signal } = ctx;
    this.ctx = ctx;
    this.database = ctx.params.db;
    const by = query.get("by"), view = query.get("view");
    /** @type {import("../documents/filter.js").Filter} */
    this.filter = {
      by: by === "find" || by === "text" ? by : "id", q: query.get("q") ?? "", index: query.get("index") ?? "",
    };
    /** @type {import("../documents/lines.js").Shape} */
    this.shape = view === "json" || view === "ids" ? view : "table";
    this.showsDesigns = query.get("design") === "1";
    /** The property of the open facets; "-" before one is chosen. */
    this.facet = query.get("facet") ?? "";
    this.at = Number(query.get("at")) || 0;
    /** @type {Awaited<ReturnType<typeof readDesigns>>} */
    this.designs = { designs: 0, indexes: [] };
    this.choice = new ColumnChoice(this.database);
    this.run = new AbortController();
    signal.addEventListener("abort", () => this.run.abort(), { once: true });
    this.actions = new Actions({
      database: this.database, signal, names: () => [...this.choice.seen],
      list: () => ({ source: this.source(true), total: this.list?.pages.total ?? null }),
      onChange: (revs) => { this.live.ignore(revs); return this.reload(); },
    });
    this.bar = filterBar({
      filter: this.filter, onchange: (filter) => { this.filter = filter; this.at = 0; this.restart(); },
    });
    this.status = h("p.status.soft.small", { role: "status" });
    this.tools = h("div.tools");
    this.news = h("div.news", { role: "status", hidden: true });
    this.notes = h("div.column.tight");
    this.body = h("div.body", null, loadingState(12));
    this.element = h("div.view.full.documents", null, databaseTabs(this.database, "docs"),
      h("h1.unseen", null, `Documents of ${this.database}`),
      this.bar.element, this.tools, this.news, this.notes, this.body);
    this.saveSoon = debounce(() => this.save(), 400);
    this.live = watch({
      database: this.database, signal,
      shown: () => new Set([...this.list?.pages.cached() ?? []].map(([, { id }]) => id)),
      onCount: (changes) => this.showNews(changes), onRows: (rows) => this.list?.refreshRows(rows),
    });
    this.listen();
    this.begin();
  }

  listen() {
    const { signal } = this.ctx;
    keys(signal, {
      "/": ["Filter the documents", () => this.bar.focus()],
      "j": ["Next document", () => this.list?.step(1)],
      "k": ["Previous document", () => this.list?.step(-1)],
    });
    if (!mayWrite()) return;
    keys(signal, {
      "n": ["New document", () => this.ctx.go(this.newLink())],
      "Delete": ["Delete the selected documents", () => {
        if (this.list && !this.list.selection.isEmpty) this.actions.delete(this.list.selection.snapshot());
      }],
    });
  }

  /** Reads the design documents, which say what can be searched, then the list. */
  async begin() {
    try { this.designs = await readDesigns(this.database, this.ctx.signal); } catch (error) {
      if (!this.ctx.signal.aborted) fill(this.body, errorState(error, () => this.begin()));
      return;
    }
    const { indexes } = this.designs;
    if (has("search") && indexes.length) {
      if (!indexes.some((one) => indexName(one) === this.filter.index)) {
        this.filter = { ...this.filter, index: indexName(indexes[0]) };
      }
      this.bar.set(this.filter);
      this.bar.offer(indexes);
    }
    this.restart();
  }

  /** @param {string} [from] The document to begin with. */
  newLink(from) { return link("db", this.database, "doc", "_new", from === undefined ? {} : { from }); }

  save(replace = true) {
    const { by, q, index } = this.filter;
    this.ctx.setQuery({
      by: by === "id" ? "" : by, q, index: by === "text" && this.designs.indexes.length > 1 ? index : "",
      view: this.shape === "table" ? "" : this.shape, design: this.showsDesigns ? 1 : "",
      facet: this.facet, at: this.at || "",
    }, { replace });
  }

  /** @param {boolean} withBodies */
  source(withBodies) {
    const { database, filter: { by, q, index }, designs: { designs, indexes } } = this;
    if (by === "find" && q) return findSource(database, parseSelector(q));
    if (by === "text" && q) {
      const found = indexes.find((one) => indexName(one) === index);
      if (!found) throw new Error("This database has no full-text index. Filter by ID or by a selector.");
      return found.isFind ? findSource(database, { selector: { $text: q } }) : searchSource(database, found, q);
    }
    const prefix = by === "id" ? q : "";
    return allSource({ database, prefix, withBodies, designs: prefix || this.showsDesigns ? 0 : designs });
  }

  /** Shows the list anew, from the line `at`. */
  restart() {
    this.run.abort();
    this.run = new AbortController();
    const { signal } = this.run;
    this.save();
    this.choice.reset();
    fill(this.notes);
    /** @type {import("../documents/pages.js").Source} */
    let source;
    try { source = this.source(this.shape !== "ids"); } catch (error) { fill(this.body, errorState(error)); return; }
    this.list = new DocumentList({
      database: this.database, source, shape: this.shape, choice: this.choice, at: this.at, signal,
      empty: () => this.emptyState(), retry: () => this.restart(),
      onOpen: (id) => this.ctx.go(link("db", this.database, "doc", id)),
      onPlace: (at) => { this.at = at; this.saveSoon(); },
      onStatus: () => this.showStatus(), onSelect: () => this.showTools(),
    });
    this.isCounted = false;
    this.showTools();
    this.showStatus();
  }

  emptyState() {
    const { filter: { by, q }, designs: { designs } } = this;
    if (q) {
      return emptyState({
        icon: "search", title: "No document matches",
        text: by === "id" ? "IDs are case-sensitive." : undefined,
        action: button({
          label: "Show all documents", onclick: () => this.setFilter({ ...this.filter, by: "id", q: "" }),
        }),
      });
    }
    return emptyState({
      title: "No documents yet",
      text: "Add one here, save one with PUT or POST, or replicate another database into this one.",
      action: h("div.row", null,
        mayWrite() && linkButton({ label: "New document", icon: "add", href: this.newLink(), kind: "primary" }),
        designs > 0 && button({
          label: `Show ${plural(designs, "design document")}`, onclick: () => this.toggleDesigns(),
        })),
    });
  }

  /** @param {import("../documents/filter.js").Filter} filter */
  setFilter(filter, replace = true) {
    this.filter = filter;
    this.at = 0;
    this.bar.set(filter);
    this.save(replace);
    this.restart();
  }

  toggleDesigns() {
    this.showsDesigns = !this.showsDesigns;
    this.at = 0;
    this.restart();
  }

  showStatus() {
    if (!this.list) return;
    const { pages, element } = this.list;
    // What was shown before stays until there is something new.
    if ((pages.isLoaded || pages.error) && !element.isConnected) fill(this.body, element, this.facets);
    fill(this.status, statusOf(pages));
    fill(this.notes, notesOf(pages, this.database, this.filter, () => this.showStatus()));
    if (this.isCounted || !pages.isLoaded) return;
    // The facets take their sample from all over the list, so they need its length.
    this.isCounted = true;
    if (this.facets) this.facets.restart();
    this.showFacets();
  }

  /** The tools of the list, or what can be done with the selected documents. */
  showTools() {
    const selection = this.list?.selection;
    const isSelecting = selection !== undefined && !selection.isEmpty;
    this.tools.classList.toggle("selecting", isSelecting);
    fill(this.tools, isSelecting ? selectionTools({
      selection, actions: this.actions, newLink: (from) => this.newLink(from), clear: () => this.list?.list.select([]),
    }) : [this.status, this.listTools()]);
  }

  listTools() {
    const { actions, filter: { q } } = this;
    const { words, saved } = actions.undo;
    return [
      saved.length > 0
        && button({ label: `Undo: ${words}`, icon: "undo", kind: "small", onclick: () => actions.undoLast() }),
      h("div.row.nowrap.push", null,
        segments({
          label: "Show as", kind: "small", value: this.shape,
          onchange: (value) => { this.shape = value; this.restart(); },
          options: [
            { value: "table", label: "Table" }, { value: "json", label: "JSON" }, { value: "ids", label: "IDs" },
          ],
        }),
        this.shape === "table" && button({
          title: "Columns", icon: "table", kind: "small",
          onclick: async () => { if (await this.choice.ask(this.ctx.signal)) this.list?.showColumns(); },
        }),
        button({
          title: "Facets", icon: "chart", kind: "small", props: { "aria-pressed": String(Boolean(this.facet)) },
          onclick: () => this.setFacet(this.facet ? "" : "-"),
        }),
        menuButton({
          title: "More", kind: "small", items: () => [
            this.designs.designs > 0 && !q
              && { label: "Design documents", checked: this.showsDesigns, call: () => this.toggleDesigns() },
            { label: "Reload", icon: "refresh", call: () => this.reload() },
            { label: q ? "Export what matches" : "Export all", icon: "download", call: () => actions.export(null) },
          ],
        })),
      mayWrite() && linkButton({ label: "New document", icon: "add", kind: "primary small", href: this.newLink() }),
    ];
  }

  /** @param {string} facet */
  setFacet(facet) {
    this.facet = facet;
    this.save();
    this.showTools();
    this.showFacets();
  }

  showFacets() {
    if (!this.facet) {
      this.facets?.leave();
      this.facets?.remove();
      this.facets = null;
    } else if (!this.facets) {
      this.facets = facetPanel({
        property: this.facet === "-" ? "" : this.facet, names: [...this.choice.seen], signal: this.ctx.signal,
        list: () => ({ source: this.source(true), total: this.list?.pages.jumpable ?? null }),
        onProperty: (property) => { this.facet = property || "-"; this.save(); },
        onChoose: (property, condition) => {
          const selector = withCondition(selectorOf(this.filter), property, condition);
          this.setFilter({ ...this.filter, by: "find", q: stringifyExact(selector) }, false);
        },
        onClose: () => this.setFacet(""),
      });
      this.body.append(this.facets);
    }
  }

  /** Reads the list again, at the same place. */
  async reload() {
    this.live.reset();
    try { this.designs = await readDesigns(this.database, this.ctx.signal); } catch {
      /* The list says what is wrong. */
    }
    if (!this.ctx.signal.aborted) this.restart();
  }

  /** @param {number} changes */
  showNews(changes) {
    this.news.hidden = changes === 0;
    fill(this.news, h("span.grow", null, `${plural(changes, "change")} since the list was loaded`),
      button({ label: "Reload", icon: "refresh", kind: "small", onclick: () => this.reload() }));
  }
}

/** @type {import("../shell.js").View} */
export default {
  title: (ctx) => ctx.params.db,
  crumbs: (ctx) => databaseCrumbs(ctx.params.db),
  render: (ctx) => new DocumentsView(ctx).element,
};
