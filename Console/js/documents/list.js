// SPDX-License-Identifier: Apache-2.0

import { errorState, loadingState } from "../components/states.js";
import { VirtualList } from "../components/virtual-list.js";
import { debounce, fill, h } from "../core/dom.js";
import { HEIGHTS, drawLine, headerCells, tracks } from "./lines.js";
import { Pages } from "./pages.js";
import { Selection } from "./selection.js";

/** Lines above those in sight that are read, too. */
const MARGIN = 6;

/** The list of the documents of one source, in one shape: a view makes another when the user filters or reloads. */
export class DocumentList {
  /**
   * @param {object} options
   * @param {string} options.database
   * @param {import("./pages.js").Source} options.source
   * @param {import("./lines.js").Shape} options.shape
   * @param {import("./columns.js").ColumnChoice} options.choice
   * @param {number} options.at The first line in sight.
   * @param {AbortSignal} options.signal
   * @param {() => HTMLElement} options.empty What stands in the place of an empty list.
   * @param {() => void} options.retry
   * @param {(id: string) => void} options.onOpen
   * @param {(at: number) => void} options.onPlace The user has scrolled.
   * @param {() => void} options.onStatus
   * @param {() => void} options.onSelect
   */
  constructor({ database, source, shape, choice, at, signal, empty, retry, onOpen, onPlace, onStatus, onSelect }) {
    this.database = database;
    this.shape = shape;
    this.choice = choice;
    this.at = at;
    this.signal = signal;
    this.empty = empty;
    this.retry = retry;
    this.onPlace = onPlace;
    this.onStatus = onStatus;
    this.onSelect = onSelect;
    /** @type {import("./columns.js").Column[]} */
    this.columns = [];
    this.element = h("div.main", null, loadingState(12));
    this.header = h("div.line.header", { role: "row" });
    this.allBox = h("input", {
      type: "checkbox", "aria-label": "Select all documents", onclick: () => this.#selectAll(),
    });
    this.columnsSoon = debounce(() => this.showColumns(), 150);
    /** @type {Pages} */
    this.pages = new Pages(source, {
      signal, onCount: () => this.#showCount(), onRows: (from, to) => this.#showRows(from, to),
    });
    this.selection = new Selection(this.pages);
    /** @type {VirtualList} */
    this.list = new VirtualList({
      label: "Documents", rowHeight: HEIGHTS[shape], header: this.header,
      draw: (index, line) => this.#draw(index, line),
      activate: (index) => { const row = this.pages.row(index); if (row) onOpen(row.id); },
      onRange: (from, to) => this.#onRange(from, to),
      onSelect: (selected) => this.#select(selected),
      onCurrent: (index) => this.list.element.setAttribute("aria-activedescendant", `line-${index}`),
    });
    this.list.element.classList.add(`as-${shape}`);
    this.#showHeader();
  }

  /** @param {number} by How many lines to go down. */
  step(by) {
    this.list.element.focus();
    this.list.show(this.list.current + by);
  }

  #showCount() {
    const { pages, list, at } = this;
    this.onStatus();
    if (!pages.isLoaded) { fill(this.element, errorState(pages.error, this.retry)); return; }
    if (pages.count === 0) { fill(this.element, this.empty()); return; }
    const isFirst = !list.element.isConnected;
    if (isFirst) {
      if (this.shape === "json") this.#setHeight();
      fill(this.element, list.element);
    }
    // More has been found while everything is selected.
    const { isAll } = this.selection;
    if (list.count !== pages.count) list.setCount(pages.count);
    if (isAll) this.#selectAll();
    if (isFirst && at) {
      // The list scrolls no further than it must: a line below first, so that the wanted one comes to stand above.
      list.show(at + Math.floor(list.element.clientHeight / list.rowHeight) - 3);
      list.show(at);
    }
  }

  /** Cards are as high as the documents of the first page need, up to a limit. */
  #setHeight() {
    const most = Math.max(1, ...this.pages.inSight().map(({ doc }) => Object.keys(doc ?? {}).length - 2));
    this.list.rowHeight = Math.min(HEIGHTS.json, 84 + most * 18);
    this.list.element.style.setProperty("--row-height", `${this.list.rowHeight}px`);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #onRange(from, to) {
    this.pages.want(Math.max(0, from - MARGIN), to);
    this.columnsSoon();
    if (from === this.at || this.signal.aborted || !this.list.element.isConnected) return;
    this.at = from;
    this.onPlace(from);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #showRows(from, to) {
    if (!this.columns.length) this.showColumns();
    for (const index of this.list.lines.keys()) if (index >= from && index < to) this.list.refreshLine(index);
    this.columnsSoon();
    this.onStatus();
  }

  /** Takes the columns from the documents in sight, and draws the lines again if they are others. */
  showColumns() {
    if (this.shape !== "table" || !this.pages.isLoaded || this.signal.aborted) return;
    const docs = this.pages.inSight().map(({ doc }) => doc).filter(Boolean);
    const columns = docs.length ? this.choice.take(docs) : this.columns;
    if (JSON.stringify(columns) === JSON.stringify(this.columns)) return;
    this.columns = columns;
    this.#showHeader();
    this.list.refresh();
  }

  #showHeader() {
    const { tracks: grid, width } = tracks(this.shape, this.columns);
    this.list.element.style.setProperty("--tracks", grid);
    this.list.element.style.setProperty("--least", `${width}px`);
    fill(this.header, headerCells(this.shape, this.columns, this.allBox));
  }

  /**
   * @param {number} index
   * @param {HTMLElement} line
   */
  #draw(index, line) {
    line.id = `line-${index}`;
    drawLine({
      line, database: this.database, shape: this.shape, columns: this.columns, row: this.pages.row(index),
      isSelected: this.list?.selected.has(index) ?? false, onTick: (event) => this.#tick(index, event),
    });
  }

  /**
   * @param {number} index
   * @param {MouseEvent} event
   */
  #tick(index, event) {
    const { list } = this;
    const selected = new Set(list.selected);
    const isOn = !selected.has(index);
    const [low, high] = event.shiftKey ? [Math.min(list.anchor, index), Math.max(list.anchor, index)] : [index, index];
    for (let at = low; at <= high; at += 1) if (isOn) selected.add(at); else selected.delete(at);
    list.anchor = list.current = index;
    list.select(selected);
  }

  #selectAll() {
    this.list.select(this.allBox.checked ? Array.from({ length: this.list.count }, (_, at) => at) : []);
  }

  /** @param {Set<number>} selected */
  #select(selected) {
    this.selection.take(selected);
    for (const [index, line] of this.list.lines) {
      const box = line.querySelector("input");
      if (box) box.checked = selected.has(index);
    }
    this.allBox.checked = this.selection.isAll;
    this.allBox.indeterminate = selected.size > 0 && !this.selection.isAll;
    this.onSelect();
  }

  /**
   * Shows documents that have changed; `doc` is null for one that was deleted.
   *
   * @param {{ id: string, rev: string, doc: any }[]} fresh
   */
  refreshRows(fresh) {
    const byID = new Map(fresh.map((row) => [row.id, row]));
    for (const [index, row] of this.pages.cached()) {
      const now = byID.get(row.id);
      if (!now) continue;
      Object.assign(row, now.doc ? { rev: now.rev, doc: now.doc, isGone: false } : { isGone: true });
      this.list.refreshLine(index);
    }
  }
}
