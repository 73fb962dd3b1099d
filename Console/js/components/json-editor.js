// SPDX-License-Identifier: Apache-2.0

import { debounce, fill, freshID, h } from "../core/dom.js";
import { bytes, count } from "../core/format.js";
import { useStyle } from "../core/style.js";
import { button } from "./button.js";
import { findBar } from "./json-editor-find.js";
import { Folds } from "./json-editor-folds.js";
import { EditHistory } from "./json-editor-history.js";
import { drawLines } from "./json-editor-lines.js";
import { typed } from "./json-editor-typing.js";
import { check, format, readable } from "./json-text.js";

await useStyle("json-editor");

/**
 * An editor of JSON.
 *
 * A text area takes the keys, the clipboard and input methods, and is what a screen reader reads; its letters are
 * transparent. The lines in sight are drawn over it in colours. Values are folded by taking them out of the text area
 * (`Folds`), so that a text of a million characters stays quick: it opens with its larger values folded. The text is
 * never written anew from values, so that numbers stay as they are typed.
 *
 * @typedef {{ line: number, column: number, message: string }} JSONError
 * @typedef {HTMLElement & { text: string, readonly value: any, readonly error: JSONError | null, readOnly: boolean,
 *   replace: (text: string) => void, showError: () => void }} JSONEditor `replace` can be undone, setting `text` not.
 *
 * @param {{ text: string, label: string, readOnly?: boolean, onChange?: () => void }} options
 * @returns {JSONEditor}
 */
export function jsonEditor({ text, label, readOnly = false, onChange }) {
  const editor = new Editor(label, onChange);
  editor.open(text);
  editor.area.readOnly = readOnly;
  Object.defineProperties(editor.element, {
    text: { get: () => editor.text, set: (value) => editor.open(value) },
    value: {
      get: () => {
        const error = editor.error;
        if (error) throw new SyntaxError(`Line ${error.line}: ${error.message}`);
        return JSON.parse(editor.text);
      },
    },
    error: { get: () => editor.error },
    readOnly: { get: () => editor.area.readOnly, set: (value) => { editor.area.readOnly = value; } },
  });
  return /** @type {any} */ (Object.assign(editor.element, {
    focus: () => editor.area.focus(),
    replace: (/** @type {string} */ value) =>
      editor.change(0, editor.shown.length, editor.folds.open(readable(value)), 0),
    showError: () => editor.showError(),
  }));
}

/** A text longer than this is checked when the user stops typing. */
const QUICK = 60_000;

export class Editor {
  /**
   * @param {string} label
   * @param {(() => void) | undefined} onChange
   */
  constructor(label, onChange) {
    this.onChange = onChange;
    this.folds = new Folds();
    this.history = new EditHistory();
    /** The text of the area: what the last event left there. */
    this.shown = "";
    /**
     * Where each line begins.
     *
     * @type {number[]}
     */
    this.starts = [0];
    /**
     * The number of each line, with those that are folded before it.
     *
     * @type {number[]}
     */
    this.numbers = [1];
    /** What was checked last, and the text that it is of. */
    this.checked = check("");
    this.checkedText = "";
    /** @type {Map<number, number>} */
    this.partners = new Map();
    /**
     * What can be folded, by its line.
     *
     * @type {Map<number, [open: number, close: number]>}
     */
    this.foldable = new Map();
    /** @type {{ from: number, to: number } | null} */
    this.found = null;
    this.whole = this.wholeOf = "";
    this.mayLeave = false;
    this.willDraw = false;
    const hint = freshID();
    this.lines = h("div.editor-lines.json", { "aria-hidden": "true" });
    this.gutter = h("div.editor-gutter", {
      "aria-hidden": "true", onclick: (/** @type {Event} */ event) => this.toggle(event),
    });
    this.area = h("textarea", {
      "aria-label": label, "aria-describedby": hint, "aria-multiline": "true",
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", dir: "ltr",
      "aria-keyshortcuts": "Control+F Control+Shift+F",
      oninput: () => this.took(),
      onscroll: () => this.draw(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onbeforeinput: (/** @type {InputEvent} */ event) => {
        if (!/^history/.test(event.inputType)) return;
        event.preventDefault();
        this.step(event.inputType === "historyUndo");
      },
      oncopy: (/** @type {ClipboardEvent} */ event) => this.copy(event, false),
      oncut: (/** @type {ClipboardEvent} */ event) => this.copy(event, true),
      onpaste: (/** @type {ClipboardEvent} */ event) => this.paste(event),
      onblur: () => { this.mayLeave = false; this.draw(); },
      ondblclick: () => { const fold = this.foldAtCaret(); if (fold) this.unfold(fold.mark); },
    });
    for (const name of ["keyup", "click", "select", "focus"]) this.area.addEventListener(name, () => this.moved());
    this.find = findBar({
      shown: () => this.shown, caret: () => this.area.selectionEnd, unfold: (mark) => this.unfold(mark),
      folds: () => this.folds.within(this.shown)
        .map(({ at, mark, fold }) => ({ at, mark, text: this.folds.expand(fold.text) })),
      select: (from, to) => {
        this.found = { from, to };
        this.area.setSelectionRange(from, to);
        this.reveal(from);
        this.draw();
      },
      close: () => { this.found = null; this.draw(); this.area.focus(); },
    });
    this.fault = h("button.editor-fault", { type: "button", hidden: true, onclick: () => this.showError() });
    this.place = h("span.small.soft.push");
    const foot = h("div.editor-foot.row", null, h("span.grow", { role: "status" }, this.fault), this.place,
      button({ title: "Find (Ctrl+F)", icon: "search", kind: "plain small", onclick: () => this.startFind() }),
      button({
        label: "Fold", title: "Fold or unfold all (Ctrl+Shift+. at the cursor)", kind: "plain small",
        onclick: () => this.toggleAll(),
      }),
      button({
        label: "Format", title: "Indent by two spaces (Ctrl+Shift+F)", kind: "plain small",
        onclick: () => this.format(),
      }));
    this.element = h("div.editor", { role: "group", "aria-label": label }, this.find,
      h("div.editor-pane", { dir: "ltr" }, this.gutter, h("div.editor-field", null, this.area, this.lines)), foot,
      h("p.unseen", { id: hint }, "Tab indents. Press Escape and then Tab to leave the editor."));
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.checkSoon = debounce(() => this.check(), 150);
    this.tellSoon = debounce(() => this.tell(), 350);
  }

  /** The whole text. It is asked for at each key, so that it is put together once for each change. */
  get text() {
    if (this.wholeOf !== this.shown) {
      this.wholeOf = this.shown;
      this.whole = this.folds.expand(this.shown);
    }
    return this.whole;
  }

  /** @returns {JSONError | null} */
  get error() {
    this.check();
    const fault = this.checked.fault;
    if (!fault) return null;
    const line = this.lineAt(fault.offset);
    return { line: this.numbers[line], column: fault.offset - this.starts[line] + 1, message: fault.message };
  }

  /** @param {string} text */
  open(text) {
    this.folds = new Folds();
    this.history = new EditHistory();
    this.wholeOf = "";
    this.whole = "";
    this.area.value = this.folds.open(readable(text));
    this.area.setSelectionRange(0, 0);
    this.refresh();
    this.tell();
  }

  /** The area has taken a key, a paste or a drop. */
  took() {
    this.history.note(this.shown, this.area.value);
    this.refresh();
    this.onChange?.();
  }

  /**
   * Changes the text by script, as one edit that can be undone.
   *
   * @param {number} from
   * @param {number} to
   * @param {string} text
   * @param {number} caret
   * @param {{ end?: number, isFold?: boolean }} options
   */
  change(from, to, text, caret, { end = caret, isFold = false } = {}) {
    const before = this.shown;
    this.area.setRangeText(text, from, to);
    this.area.setSelectionRange(caret, end);
    this.history.note(before, this.area.value, isFold);
    this.refresh();
    this.reveal(caret);
    if (!isFold && this.shown !== before) this.onChange?.();
  }

  /** @param {boolean} isBack */
  step(isBack) {
    const steps = this.history.take(isBack);
    for (const { from, to, text } of steps) {
      this.area.setRangeText(text, from, to);
      this.area.setSelectionRange(from + text.length, from + text.length);
    }
    if (!steps.length) return;
    this.refresh();
    this.reveal(this.area.selectionStart);
    this.onChange?.();
  }

  /** Reads the area again after any change. */
  refresh() {
    this.shown = this.area.value;
    this.found = null;
    this.starts = [0];
    this.numbers = [1];
    const folds = this.folds.within(this.shown);
    let folded = 0, fold = 0;
    for (let at = this.shown.indexOf("\n"); at >= 0; at = this.shown.indexOf("\n", at + 1)) {
      for (; fold < folds.length && folds[fold].at < at; fold += 1) folded += folds[fold].fold.lines;
      this.starts.push(at + 1);
      this.numbers.push(this.starts.length + folded);
    }
    if (this.shown.length < QUICK) this.check(); else this.checkSoon?.();
    this.tellSoon?.();
    this.moved();
    this.draw();
  }

  check() {
    if (this.checkedText === this.shown && this.checkedText) return;
    this.checked = check(this.shown, (offset) => this.numbers[this.lineAt(offset)],
      (mark) => this.folds.all.get(mark)?.names ?? []);
    this.checkedText = this.shown;
    this.partners.clear();
    this.foldable.clear();
    const { pairs } = this.checked;
    for (let index = pairs.length - 2; index >= 0; index -= 2) {
      const [open, close] = [pairs[index], pairs[index + 1]];
      this.partners.set(open, close).set(close, open);
      const line = this.lineAt(open);
      if (open > 0 && close >= (this.starts[line + 1] ?? Infinity) && !this.foldable.has(line)) {
        this.foldable.set(line, [open, close]);
      }
    }
    this.draw();
  }

  /** Says what is wrong, once the user rests: words that change at each key disturb. */
  tell() {
    const error = this.error;
    this.fault.hidden = !error;
    const text = error ? `Line ${count(error.line)}, column ${count(error.column)}: ${error.message}` : "";
    if (this.fault.textContent !== text) fill(this.fault, text);
    if (error) this.area.setAttribute("aria-invalid", "true"); else this.area.removeAttribute("aria-invalid");
    this.draw();
  }

  showError() {
    this.check();
    const fault = this.checked.fault;
    this.tell();
    if (!fault) return;
    this.area.focus();
    this.area.setSelectionRange(fault.offset, fault.offset);
    this.reveal(fault.offset);
  }

  /**
   * @param {number} offset
   * @returns {number}
   */
  lineAt(offset) {
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle; else high = middle - 1;
    }
    return low;
  }

  /**
   * @param {number} line
   * @returns {string}
   */
  lineText(line) { return this.shown.slice(this.starts[line], (this.starts[line + 1] ?? this.shown.length + 1) - 1); }

  /** The cursor may be elsewhere. */
  moved() {
    const caret = this.area.selectionEnd, line = this.lineAt(caret);
    const size = this.text.length < QUICK ? ` · ${bytes(new Blob([this.text]).size)}` : "";
    this.place.textContent = `${count(this.numbers[line])}:${count(caret - this.starts[line] + 1)}${size}`;
    this.draw();
  }

  draw() {
    if (this.willDraw) return;
    this.willDraw = true;
    requestAnimationFrame(() => { this.willDraw = false; drawLines(this); });
  }

  /**
   * Scrolls to an offset unless it is in sight.
   *
   * @param {number} offset
   */
  reveal(offset) {
    const line = this.lineAt(offset), style = getComputedStyle(this.area), height = parseFloat(style.lineHeight);
    const top = line * height, { scrollTop, clientHeight, scrollLeft, clientWidth } = this.area;
    if (top < scrollTop || top > scrollTop + clientHeight - 2 * height) {
      this.area.scrollTop = Math.max(0, top - clientHeight / 2);
    }
    const left = (offset - this.starts[line]) * parseFloat(style.fontSize) * 0.6;
    if (left < scrollLeft || left > scrollLeft + clientWidth - 40) {
      this.area.scrollLeft = Math.max(0, left - clientWidth / 2);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.isComposing) return;
    const mod = event.ctrlKey || event.metaKey, name = event.key.toLowerCase();
    const mayLeave = this.mayLeave;
    if (!["tab", "shift"].includes(name)) this.mayLeave = name === "escape";
    if (mod && name === "f" && event.shiftKey) this.format();
    else if (mod && name === "f") this.startFind();
    else if (mod && event.shiftKey && [".", ">", ":"].includes(name)) this.toggleAtCaret();
    else if (mod && name === "z" && !this.area.readOnly) this.step(!event.shiftKey);
    else if (mod && name === "y" && !this.area.readOnly) this.step(false);
    else if (mod || event.altKey || this.area.readOnly || name === "tab" && mayLeave) return;
    else {
      const { selectionStart, selectionEnd } = this.area;
      const change = typed(event.key, event.shiftKey, this.shown, selectionStart, selectionEnd);
      if (!change) return;
      this.change(change.from, change.to, change.text, change.caret, { end: change.end });
    }
    event.preventDefault();
  }

  startFind() { this.find.open(this.shown.slice(this.area.selectionStart, this.area.selectionEnd).slice(0, 200)); }

  format() {
    if (this.area.readOnly) return;
    if (this.error) { this.showError(); return; }
    const text = this.text, laid = format(text);
    if (laid !== text) this.change(0, this.shown.length, this.folds.open(laid), 0);
  }

  /**
   * @param {ClipboardEvent} event
   * @param {boolean} isCut
   */
  copy(event, isCut) {
    const { selectionStart, selectionEnd } = this.area;
    const part = this.shown.slice(selectionStart, selectionEnd);
    if (!this.folds.within(part).length) return;
    event.clipboardData?.setData("text/plain", this.folds.expand(part));
    event.preventDefault();
    if (isCut && !this.area.readOnly) this.change(selectionStart, selectionEnd, "", selectionStart);
  }

  /** @param {ClipboardEvent} event */
  paste(event) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!/[\u{f0000}-\u{10ffff}]/u.test(text) || this.area.readOnly) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = this.area, safe = readable(text);
    this.change(selectionStart, selectionEnd, safe, selectionStart + safe.length);
  }

  /** @param {Event} event */
  toggle(event) {
    const number = /** @type {HTMLElement} */ (event.target).closest("[data-line]");
    if (number instanceof HTMLElement) this.toggleLine(Number(number.dataset.line));
  }

  /** @param {number} line */
  toggleLine(line) {
    const fold = this.folds.within(this.lineText(line))[0], range = this.foldable.get(line);
    if (fold) this.unfold(fold.mark);
    else if (range && this.checkedText === this.shown) this.fold(...range);
  }

  foldAtCaret() {
    const line = this.lineAt(this.area.selectionEnd);
    return this.folds.within(this.lineText(line))[0];
  }

  /** Unfolds what the line of the cursor has folded, or folds the innermost value around the cursor. */
  toggleAtCaret() {
    this.check();
    const fold = this.foldAtCaret(), caret = this.area.selectionEnd, { pairs } = this.checked;
    if (fold) { this.unfold(fold.mark); return; }
    for (let index = 0; index < pairs.length; index += 2) {
      const [open, close] = [pairs[index], pairs[index + 1]];
      const isAround = open <= caret && close >= caret || this.lineAt(open) === this.lineAt(caret);
      if (open > 0 && isAround && this.shown.slice(open, close).includes("\n")) { this.fold(open, close); return; }
    }
  }

  /**
   * @param {number} open
   * @param {number} close
   */
  fold(open, close) {
    this.change(open, close + 1, this.folds.add(this.shown.slice(open, close + 1)), open, { isFold: true });
  }

  /** @param {string} mark */
  unfold(mark) {
    const at = this.shown.indexOf(mark), fold = this.folds.all.get(mark);
    if (at < 0 || !fold) return;
    const text = fold.text[0] === '"' ? fold.text : this.folds.open(fold.text);
    this.change(at, at + mark.length, text, at, { isFold: true });
  }

  toggleAll() {
    const text = this.folds.within(this.shown).length ? this.text
      : this.error ? this.shown : this.folds.foldAll(this.shown);
    if (text !== this.shown) this.change(0, this.shown.length, text, 0, { isFold: true });
  }
}
