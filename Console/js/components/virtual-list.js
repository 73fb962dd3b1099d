// SPDX-License-Identifier: Apache-2.0

import { fill, h } from "../core/dom.js";

/**
 * A list of any length of which only the lines in sight are in the page.
 *
 * The caller says how many lines there are and draws each when it comes into sight; `refresh()` draws those in sight
 * again, when lines have come that were on their way. Browsers have no elements taller than some thirty million pixels,
 * so above ten million the scroll bar stands for a share of the list rather than for pixels, and turning the wheel goes
 * on line by line.
 *
 * Keyboard: arrows, Page Up and Down, Home and End move the current line, Enter activates it, Space selects it, with
 * Shift to there from the one before, `mod+a` all.
 *
 * ## Invariants
 *
 * 1. Each line in the page stands at its place and shows the line of its `data-index`.
 * 2. There are at most `ceil(height / rowHeight) + 2 * OVERSCAN + 1` lines in the page.
 * 3. `current` is below `count`, or 0.
 */
const TALLEST = 10_000_000;
const OVERSCAN = 6;

export class VirtualList {
  /**
   * @param {object} options
   * @param {string} options.label What the list is, for screen readers.
   * @param {(index: number, line: HTMLElement) => void} options.draw Fills a line.
   * @param {(index: number, event: Event) => void} [options.activate] Enter, or a double click.
   * @param {(from: number, to: number) => void} [options.onRange] The lines in sight are these, the last not included.
   * @param {(selected: Set<number>) => void} [options.onSelect] Lines can be selected.
   * @param {(index: number) => void} [options.onCurrent]
   * @param {number} [options.rowHeight]
   * @param {Node} [options.header] Stands above the lines and scrolls sideways with them.
   */
  constructor({ label, draw, activate, onRange, onSelect, onCurrent, rowHeight = 36, header }) {
    this.rowHeight = rowHeight;
    this.count = 0;
    this.current = 0;
    /** @type {Set<number>} */
    this.selected = new Set();
    this.draw = draw;
    this.activate = activate;
    this.onRange = onRange;
    this.onSelect = onSelect;
    this.onCurrent = onCurrent;
    /** @type {Map<number, HTMLElement>} */
    this.lines = new Map();
    this.anchor = 0;
    this.extent = h("div.extent", { role: "rowgroup" });
    this.element = h("div.list", {
      role: "grid",
      tabindex: 0,
      "aria-label": label,
      "aria-multiselectable": onSelect ? "true" : undefined,
      style: { "--row-height": `${rowHeight}px` },
    }, header, this.extent);
    this.element.addEventListener("scroll", () => this.#place(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("click", (event) => this.#click(event));
    this.element.addEventListener("dblclick", (event) => {
      const index = this.#indexOf(event.target);
      if (index !== null) this.activate?.(index, event);
    });
    /** How high the lines' part of the list is, and where it begins; asked when the list changes its size only. */
    this.height = 0;
    new ResizeObserver(() => { this.#measure(); this.#place(); }).observe(this.element);
  }

  /**
   * How many lines there are.
   *
   * @param {number} count
   */
  setCount(count) {
    this.count = count;
    this.current = Math.min(this.current, Math.max(0, count - 1));
    for (const index of this.selected) if (index >= count) this.selected.delete(index);
    this.extent.style.setProperty("block-size", `${Math.min(count * this.rowHeight, TALLEST)}px`);
    this.element.setAttribute("aria-rowcount", String(count));
    this.refresh();
  }

  /** Draws the lines in sight again. */
  refresh() {
    this.#measure();
    for (const line of this.lines.values()) line.remove();
    this.lines.clear();
    this.#place();
  }

  /**
   * Draws one line again if it is in sight.
   *
   * @param {number} index
   */
  refreshLine(index) {
    const line = this.lines.get(index);
    if (line) this.#draw(index, line);
  }

  /**
   * Makes a line the current one and brings it into sight.
   *
   * @param {number} index
   */
  show(index) {
    this.current = Math.max(0, Math.min(index, this.count - 1));
    const first = this.#first(), inSight = Math.floor(this.height / this.rowHeight);
    if (this.current < first + 1 || this.current >= first + inSight - 1) {
      const top = this.current < first + 1 ? this.current : this.current - inSight + 1;
      this.element.scrollTop = this.#isTall()
        ? (Math.max(0, top) / Math.max(1, this.count - inSight)) * (TALLEST - this.height)
        : Math.max(0, top) * this.rowHeight;
    }
    this.#place();
    this.#mark();
    this.onCurrent?.(this.current);
  }

  /** @param {Iterable<number>} indexes */
  select(indexes) {
    this.selected = new Set(indexes);
    this.#mark();
    this.onSelect?.(this.selected);
  }

  #isTall() { return this.count * this.rowHeight > TALLEST; }
  #measure() { this.height = Math.max(0, this.element.clientHeight - this.extent.offsetTop); }

  /** The first line in sight, with its part of a line. */
  #first() {
    const top = this.element.scrollTop;
    if (!this.#isTall()) return top / this.rowHeight;
    const inSight = this.height / this.rowHeight;
    return (top / Math.max(1, TALLEST - this.height)) * Math.max(0, this.count - inSight);
  }

  #place() {
    const first = this.#first(), height = this.height;
    const from = Math.max(0, Math.floor(first) - OVERSCAN);
    const to = Math.min(this.count, Math.ceil(first + height / this.rowHeight) + OVERSCAN);
    for (const [index, line] of this.lines) {
      if (index < from || index >= to) { line.remove(); this.lines.delete(index); }
    }
    const offset = this.element.scrollTop - first * this.rowHeight;
    for (let index = from; index < to; index += 1) {
      let line = this.lines.get(index);
      if (!line) {
        line = h("div.line", { role: "row", dataset: { index: String(index) } });
        this.lines.set(index, line);
        this.#draw(index, line);
        this.extent.append(line);
      }
      line.style.setProperty("top", `${this.#isTall() ? offset + index * this.rowHeight : index * this.rowHeight}px`);
    }
    this.#mark();
    this.onRange?.(Math.max(0, Math.floor(first)), to);
  }

  /**
   * @param {number} index
   * @param {HTMLElement} line
   */
  #draw(index, line) {
    line.className = "line";
    line.setAttribute("aria-rowindex", String(index + 1));
    fill(line);
    this.draw(index, line);
  }

  #mark() {
    for (const [index, line] of this.lines) {
      line.classList.toggle("current", index === this.current);
      if (this.onSelect) line.setAttribute("aria-selected", String(this.selected.has(index)));
    }
  }

  /** @param {EventTarget | null} target */
  #indexOf(target) {
    const line = target instanceof Element ? target.closest(".line") : null;
    return line instanceof HTMLElement ? Number(line.dataset.index) : null;
  }

  /** @param {number} to */
  #selectThrough(to) {
    const [low, high] = [Math.min(this.anchor, to), Math.max(this.anchor, to)];
    this.select(Array.from({ length: high - low + 1 }, (_, at) => low + at));
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const index = this.#indexOf(event.target);
    if (index === null) return;
    this.current = index;
    if (this.onSelect && event.shiftKey) this.#selectThrough(index);
    else if (this.onSelect && (event.ctrlKey || event.metaKey)) this.#toggle(index);
    else { this.anchor = index; this.#mark(); }
    this.onCurrent?.(index);
  }

  /** @param {number} index */
  #toggle(index) {
    this.anchor = index;
    const selected = new Set(this.selected);
    if (!selected.delete(index)) selected.add(index);
    this.select(selected);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.height / this.rowHeight) - 1);
    const to = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      PageDown: this.current + page,
      PageUp: this.current - page,
      Home: 0,
      End: this.count - 1,
    }[event.key];
    if (to !== undefined) {
      this.show(to);
      if (this.onSelect && event.shiftKey) this.#selectThrough(this.current);
      else this.anchor = this.current;
    } else if (event.key === "Enter" && this.count) this.activate?.(this.current, event);
    else if (event.key === " " && this.onSelect && this.count) this.#toggle(this.current);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey) && this.onSelect)
      this.select(Array.from({ length: this.count }, (_, at) => at));
    else if (event.key === "Escape" && this.selected.size) this.select([]);
    else return;
    event.preventDefault();
  }
}
