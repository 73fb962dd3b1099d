// SPDX-License-Identifier: Apache-2.0

import { fill, h } from "../core/dom.js";

/** A line longer than this is shown without colours. */
const LONGEST = 10_000;
const OVERSCAN = 5;
const PARTS = new RegExp([
  /"[^"\\]*(?:\\.[^"\\]*)*"?/u,
  /-?\d[\w.+-]*/u,
  /\b(?:true|false|null)\b/u,
  /[{}[\]:,]/u,
  /[\u{f0000}-\u{10fffd}]/u,
  /[^"\d{}[\]:,\u{f0000}-\u{10fffd}tfn-]+/u,
  /[^]/u,
].map(({ source }) => source).join("|"), "gu");

/**
 * A line of JSON as coloured spans. No string goes over the end of a line, so that a line needs nothing of those before
 * it.
 *
 * @param {string} text
 * @returns {Node[]}
 */
function paint(text) {
  if (text.length > LONGEST) return [document.createTextNode(text)];
  return [...text.matchAll(PARTS)].map((match) => {
    const part = match[0], kind = kindOf(part, text, /** @type {number} */ (match.index) + part.length);
    return kind ? h("span", { class: kind }, part) : document.createTextNode(part);
  });
}

/**
 * @param {string} part
 * @param {string} line
 * @param {number} end
 * @returns {string}
 */
function kindOf(part, line, end) {
  if (part[0] === '"') return /^\s*:/.test(line.slice(end, end + 40)) ? "key" : "string";
  if (/^-?\d/.test(part)) return "numeral";
  if (/^(true|false|null)$/.test(part)) return "word";
  if (/^[{}[\]:,]$/.test(part)) return "mark";
  return (part.codePointAt(0) ?? 0) >= 0xf0000 ? "folded" : "";
}

/**
 * Marks part of a line: what was found, a bracket, a fault. The text before it gives the mark its place.
 *
 * @param {string} line
 * @param {number} from
 * @param {number} to
 * @param {string} kind
 * @returns {HTMLElement}
 */
function markPart(line, from, to, kind) {
  return h("span.marking", null, line.slice(0, from), h("span", { class: kind }, line.slice(from, to) || " "));
}

/**
 * Draws the lines in sight of an editor, and their numbers.
 *
 * @param {import("./json-editor.js").Editor} editor
 */
export function drawLines(editor) {
  const { area, starts, numbers, checked, shown } = editor;
  const { scrollTop, scrollLeft, clientHeight, selectionEnd: caret } = area;
  const style = getComputedStyle(area);
  const height = parseFloat(style.lineHeight), above = parseFloat(style.paddingTop);
  if (!clientHeight || !height) return;
  const first = Math.max(0, Math.floor(scrollTop / height) - OVERSCAN);
  const last = Math.min(starts.length, first + Math.ceil(clientHeight / height) + 2 * OVERSCAN);
  const isFresh = editor.checkedText === shown;
  const marks = marksOf(editor, caret, isFresh);
  const current = editor.lineAt(caret);
  const fault = isFresh && !editor.fault.hidden && checked.fault ? editor.lineAt(checked.fault.offset) : -1;
  const lines = [], sides = [];
  for (let line = first; line < last; line += 1) {
    const text = editor.lineText(line), start = starts[line], style = { top: `${above + line * height}px` };
    const folds = editor.folds.within(text);
    lines.push(h("div.editor-line", { style }, paint(text),
      folds.length > 0 && h("span.summary", null, folds.map(({ fold }) => fold.summary).join(", ")),
      marks.filter(({ from }) => from >= start && from <= start + text.length)
        .map(({ from, to, kind }) => markPart(text, from - start, to - start, kind))));
    const mark = folds.length ? "▸" : isFresh && editor.foldable.has(line) ? "▾" : "";
    sides.push(h("div.editor-number", {
      style, dataset: { line }, class: `${line === current ? "current" : ""} ${line === fault ? "wrong" : ""}`,
    }, h("span.fold", null, mark), String(numbers[line])));
  }
  fill(editor.lines, h("div.layer", { style: { transform: `translate(${-scrollLeft}px, ${-scrollTop}px)` } }, lines));
  fill(editor.gutter, h("div.layer", { style: { transform: `translateY(${-scrollTop}px)` } }, sides));
  editor.gutter.style.setProperty("inline-size", `${String(numbers[numbers.length - 1]).length + 4}ch`);
}

/**
 * @param {import("./json-editor.js").Editor} editor
 * @param {number} caret
 * @param {boolean} isFresh
 * @returns {{ from: number, to: number, kind: string }[]}
 */
function marksOf({ found, partners, area, checked, fault: line }, caret, isFresh) {
  const marks = found ? [{ ...found, kind: "found" }] : [];
  if (!isFresh) return marks;
  const bracket = [caret, caret - 1].find((at) => partners.has(at));
  if (bracket !== undefined && area.selectionStart === caret && area === document.activeElement) {
    for (const at of [bracket, /** @type {number} */ (partners.get(bracket))]) {
      marks.push({ from: at, to: at + 1, kind: "bracket" });
    }
  }
  if (checked.fault && !line.hidden) {
    marks.push({ from: checked.fault.offset, to: checked.fault.offset + 1, kind: "wrong" });
  }
  return marks;
}

/**
 * Whether the end of the beginning of a line is inside a string.
 *
 * @param {string} before
 * @returns {boolean}
 */
export function isInString(before) {
  let isInside = false;
  for (let at = 0; at < before.length; at += 1) {
    if (isInside && before[at] === "\\") at += 1;
    else if (before[at] === '"') isInside = !isInside;
  }
  return isInside;
}
