// SPDX-License-Identifier: Apache-2.0

import { allDatabases, databaseInfos } from "../api/couch.js";
import { mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { checkbox, searchField } from "../components/field.js";
import { emptyState, errorState, loadingState } from "../components/states.js";
import { toastError } from "../components/toast.js";
import { VirtualList } from "../components/virtual-list.js";
import { debounce, fill, h } from "../core/dom.js";
import { bytes, plural } from "../core/format.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { createDatabase } from "../databases/create.js";
import { COLUMNS, drawRow, updateRow } from "../databases/line.js";
import { followRates, note } from "../databases/rates.js";
import { sequenceNumber } from "../core/revision.js";
import { askDetails, newRow } from "../databases/row.js";

await useStyle("overview");

/** @typedef {import("../databases/row.js").Row} Row */

/** All databases of the server. */
class Overview {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Row[]} */
    this.shown = [];
    this.sort = COLUMNS.some((column) => column.key === ctx.query.get("sort"))
      ? /** @type {string} */ (ctx.query.get("sort")) : "name";
    this.isDescending = ctx.query.get("order") === "descending";
    /** @type {[number, number]} */
    this.range = [0, 0];
    this.asking = 0;
    this.search = searchField({
      placeholder: "Filter by name", value: ctx.query.get("q") ?? "",
      oninput: () => { this.choose(true); this.remember(); },
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.searchKey(event),
    });
    this.system = checkbox("System databases", { checked: ctx.query.has("system"),
      onchange: () => { this.choose(); this.remember(); } });
    this.summary = h("p.soft", null);
    this.count = h("p.unseen", { role: "status" });
    this.header = h("div.header", { role: "row" });
    this.region = h("div.region", null, loadingState());
    this.element = h("div.view.full.databases", null,
      h("div.head", null, h("div.column.tight", null, h("h1", null, "Databases"), this.summary),
        h("div.actions", null, mayWrite() && button({ label: "New database", icon: "add", kind: "primary",
          onclick: () => this.create() }))),
      h("div.row", null, this.search, this.system, this.count), this.region);
    const narrow = matchMedia("(max-width: 48rem)");
    narrow.addEventListener("change", () => this.makeList(narrow.matches), { signal: ctx.signal });
    this.makeList(narrow.matches);
    this.askDetailsSoon = debounce(() => this.fillDetails(), 150);
    this.reloadSoon = debounce(() => this.load().catch(toastError), 300);
    keys(ctx.signal, {
      "/": ["Filter the databases", () => this.search.input.select()],
      "m": ["Open the menu of the current database", () => this.openMenu()],
      ...(mayWrite() ? { "n": ["Create a database", () => { this.create(); }] } : {}),
    });
    this.start();
  }

  /** @param {boolean} isNarrow */
  makeList(isNarrow) {
    const wasShown = this.list?.element.isConnected;
    this.list = new VirtualList({
      label: "Databases", rowHeight: isNarrow ? 60 : 44, header: this.header,
      draw: (index, line) => {
        const row = this.shown[index];
        drawRow(row, line, { signal: this.ctx.signal, onCompact: () => this.refresh(row),
          onDelete: () => { this.reloadSoon(); this.list?.element.focus(); } });
      },
      activate: (index, event) => {
        // A link or a button of the line does what it is for.
        if (this.shown[index] && !(/** @type {Element} */ (event.target).closest("a, button"))) this.ctx.go(link("db",
          this.shown[index].name, "docs"));
      },
      onRange: (from, to) => { this.range = [from, to]; this.askDetailsSoon?.(); },
    });
    if (wasShown) { fill(this.region, this.list.element); this.choose(); }
  }

  async start() {
    try { await this.load(); } catch (error) {
      if (this.ctx.signal.aborted) return;
      const isRefused = [401, 403].includes(/** @type {any} */ (error).status);
      fill(this.region, isRefused
        ? emptyState({ icon: "lock", title: "Only administrators can list the databases",
          text: ["Press ", h("kbd", null, "g"), " to open a database by its name."] })
        : errorState(error, () => { fill(this.region, loadingState()); return this.start(); }));
      return;
    }
    followRates({
      signal: this.ctx.signal, rows: () => this.rows, onList: () => this.reloadSoon(),
      inSight: () => this.shown.slice(...this.range).map((row) => row.name),
      onUpdate: (changed) => this.update(changed),
    });
  }

  /** Asks which databases there are, and for the infos of those that are new. */
  async load() {
    const { signal } = this.ctx;
    const names = await allDatabases({ signal });
    if (signal.aborted) return;
    this.rows = new Map(names.map((name) => [name, this.rows.get(name) ?? newRow(name)]));
    this.choose();
    const fresh = names.filter((name) => !this.rows.get(name)?.info);
    for (let start = 0; start < fresh.length; start += 100) {
      const some = fresh.slice(start, start + 100);
      const infos = await databaseInfos(some, { signal });
      some.forEach((name, index) => { const row = this.rows.get(name); if (row) note(row, infos[index]); });
      this.choose();
    }
  }

  /** @param {Row} row */
  async refresh(row) {
    const [info] = await databaseInfos([row.name], { signal: this.ctx.signal });
    row.info = info;
    this.update([row]);
  }

  /**
   * Finds out which rows are shown, in which order.
   *
   * @param {boolean} [isNew] The filter or the order is another: the list begins at its top.
   */
  choose(isNew = false) {
    if (!this.rows.size) {
      fill(this.region, emptyState({
        icon: "database", title: "There are no databases yet",
          text: "A database holds JSON documents with their revisions, attachments and indexes.",
        action: mayWrite() && button({ label: "New database", icon: "add", kind: "primary", onclick: () =>
          this.create() }),
      }));
      fill(this.summary);
      return;
    }
    const current = this.shown[this.list?.current ?? 0]?.name;
    const wanted = this.search.input.value.trim().toLowerCase();
    const all = [...this.rows.values()].filter((row) => this.system.input.checked || !row.name.startsWith("_"));
    this.shown = all.filter((row) => row.name.toLowerCase().includes(wanted));
    this.order();
    this.summarize(all);
    const none = h("div.panel", null, emptyState(wanted
      ? { icon: "search", title: "No database name contains this text", text: this.search.input.value }
      : { icon: "database", title: "There are only system databases", action: mayWrite()
        && button({ label: "New database", icon: "add", onclick: () => this.create() }) }));
    this.count.textContent = wanted ? `${plural(this.shown.length, "database")} found` : "";
    this.drawHeader();
    const list = /** @type {VirtualList} */ (this.list);
    if (!this.shown.length) { fill(this.region, none); return; }
    if (list.element.parentElement !== this.region) fill(this.region, list.element);
    list.element.style.setProperty("max-block-size", `${this.shown.length * list.rowHeight + 40}px`);
    list.current = isNew ? 0 : Math.max(0, this.shown.findIndex((row) => row.name === current));
    list.setCount(this.shown.length);
    if (isNew) list.element.scrollTop = 0;
  }

  order() {
    const value = /** @type {typeof COLUMNS[number]} */ (COLUMNS.find((column) => column.key === this.sort)).value;
    const sign = this.isDescending ? -1 : 1;
    this.shown.sort((left, right) => {
      const [a, b] = [value(left), value(right)];
      if (a === b) return left.name < right.name ? -1 : 1;
      // What is not known stands at the end.
      if (a === null) return 1;
      if (b === null) return -1;
      return a < b ? -sign : sign;
    });
  }

  /** @param {Row[]} all */
  summarize(all) {
    const sum = (/** @type {(info: import("../api/couch.js").DatabaseInfo) => number | undefined} */ of) =>
      all.reduce((total, row) => total + ((row.info && of(row.info)) || 0), 0);
    const documents = sum((info) => info.doc_count), size = sum((info) => info.sizes.file);
    const text = `${plural(all.length, "database")}, ${plural(documents, "document")}, ${bytes(size)}`;
    if (this.summary.textContent !== text) this.summary.textContent = text;
  }

  /** @param {Row[]} changed */
  update(changed) {
    for (const row of changed) updateRow(row);
    this.summarize([...this.rows.values()].filter((row) => this.system.input.checked || !row.name.startsWith("_")));
    if (changed.some((row) => row.details && row.rate === 0
      && row.detailsAt !== sequenceNumber(row.info?.update_seq))) this.askDetailsSoon?.();
    // Lines do not move while a person points at one or has a menu open.
    const isBusy = this.region.matches(":hover, :focus-within") || document.querySelector(".menu, dialog[open]");
    if (this.sort !== "name" && changed.length && !isBusy) this.choose();
  }

  /** Asks for the details of the rows in sight, two at a time; of all when these are the order. */
  async fillDetails() {
    const byDetails = this.sort === "indexes" || this.sort === "conflicts";
    while (this.asking < 2 && !this.ctx.signal.aborted) {
      const row = (byDetails ? this.shown : this.shown.slice(...this.range)).find((one) => one.info && !isKnown(one));
      if (!row) return;
      this.asking += 1;
      row.detailsAt = sequenceNumber(row.info?.update_seq);
      askDetails(row, this.ctx.signal).then((details) => {
        row.details = details;
        updateRow(row);
      }).catch(() => {}).finally(() => {
        this.asking -= 1;
        this.fillDetails();
        if (byDetails && this.asking === 0) this.choose();
      });
    }
  }

  drawHeader() {
    fill(this.header, COLUMNS.map((column) => h("span", {
      role: "columnheader", class: `${column.key} ${column.isNumber ? "number" : ""}`,
      "aria-sort": column.key === this.sort ? (this.isDescending ? "descending" : "ascending") : "none",
    }, h("button", { type: "button", onclick: () => this.sortBy(column) }, column.label))), h("span.menu-cell"));
  }

  /** @param {typeof COLUMNS[number]} column */
  sortBy(column) {
    this.isDescending = column.key === this.sort ? !this.isDescending : Boolean(column.isNumber);
    this.sort = column.key;
    this.choose(true);
    this.remember();
    /** @type {HTMLElement | null} */ (this.header.querySelector(`.${column.key} button`))?.focus();
    this.askDetailsSoon?.();
  }

  remember() {
    this.ctx.setQuery({
      q: this.search.input.value, sort: this.sort === "name" ? "" : this.sort,
      order: this.isDescending ? "descending" : "", system: this.system.input.checked ? "shown" : "",
    });
  }

  /** @param {KeyboardEvent} event */
  searchKey(event) {
    if (event.key === "Enter" && this.shown.length) this.ctx.go(link("db", this.shown[0].name, "docs"));
    else if (event.key === "ArrowDown" && this.shown.length) this.list?.element.focus();
    else if (event.key === "Escape"
      && this.search.input.value) { this.search.input.value = ""; this.choose(true); this.remember(); } else return;
    event.preventDefault();
  }

  openMenu() {
    const list = this.list;
    list?.show(list.current);
    const opener = list?.lines.get(list.current)?.querySelector(".menu-cell button");
    if (opener instanceof HTMLElement) opener.click();
  }

  async create() {
    const name = await createDatabase(new Set(this.rows.keys()), this.ctx.signal);
    if (name) this.ctx.go(link("db", name, "docs"));
  }
}

/**
 * Whether a row's details are those of its last change. They are left as they are while changes come.
 *
 * @param {Row} row
 * @returns {boolean}
 */
function isKnown(row) {
  return row.detailsAt >= 0 && (row.rate > 0 || row.detailsAt === sequenceNumber(row.info?.update_seq));
}

/** @type {import("../shell.js").View} */
export default {
  title: () => "Databases",
  crumbs: () => [{ label: "Databases" }],
  render: (ctx) => new Overview(ctx).element,
};
