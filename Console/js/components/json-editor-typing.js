// SPDX-License-Identifier: Apache-2.0

import { isInString } from "./json-editor-lines.js";

/**
 * What a key does in a text beyond its character: closes brackets, indents. Null when the text area does it by itself.
 *
 * @typedef {{ from: number, to: number, text: string, caret: number, end?: number }} Change
 *   `caret` to `end` is selected then.
 */
const PAIRS = /** @type {Record<string, string>} */ ({ "{": "}", "[": "]", '"': '"' });

/**
 * @param {string} key
 * @param {boolean} isShifted
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @returns {Change | null}
 */
export function typed(key, isShifted, text, from, to) {
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const before = text.slice(start, from), next = text[to] ?? "";
  const isString = isInString(before);
  if (key === "Enter") return isString ? null : breakLine(text, before, from, to);
  if (key === "Tab") return indent(text, start, from, to, isShifted);
  if (key === "Backspace" && from === to && PAIRS[text[from - 1]] === next && next && !(isString && next !== '"')) {
    return { from: from - 1, to: to + 1, text: "", caret: from - 1 };
  }
  if (from === to && key === next && (key === '"' ? isString && !before.endsWith("\\") : key === "}" || key === "]")) {
    return isString === (key === '"') ? { from, to, text: "", caret: from + 1 } : null;
  }
  if (PAIRS[key] && !isString && (from !== to || !next || /[\s,}\]]/.test(next))) {
    const inside = key === '"' ? "" : text.slice(from, to);
    return { from, to, text: key + inside + PAIRS[key], caret: from + 1, end: from + 1 + inside.length };
  }
  if ((key === "}" || key === "]") && from === to && /^ +$/.test(before)) {
    const less = Math.max(0, before.length - 2);
    return { from: start, to, text: " ".repeat(less) + key, caret: start + less + 1 };
  }
  return null;
}

/**
 * @param {string} text
 * @param {string} before
 * @param {number} from
 * @param {number} to
 * @returns {Change}
 */
function breakLine(text, before, from, to) {
  const base = before.match(/^ */)?.[0] ?? "";
  const opens = /[{[]\s*$/.test(before), closes = /^[ \t]*[}\]]/.test(text.slice(to, to + 200));
  const inner = `\n${base}${opens ? "  " : ""}`;
  return { from, to, text: opens && closes ? `${inner}\n${base}` : inner, caret: from + inner.length };
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} from
 * @param {number} to
 * @param {boolean} isBack
 * @returns {Change | null}
 */
function indent(text, start, from, to, isBack) {
  if (!isBack && !text.slice(from, to).includes("\n")) return { from, to, text: "  ", caret: from + 2 };
  const old = text.slice(start, to);
  const changed = isBack ? old.replace(/^ {1,2}/gm, "") : old.replace(/^/gm, "  ");
  const first = (changed.match(/^ */)?.[0].length ?? 0) - (old.match(/^ */)?.[0].length ?? 0);
  const end = start + changed.length;
  return { from: start, to, text: changed, caret: Math.min(end, Math.max(start, from + first)), end };
}
