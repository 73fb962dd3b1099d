// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { isObject } from "../core/json.js";
import { set } from "../core/merge.js";
import { useStyle } from "../core/style.js";

await useStyle("diff");

/** @typedef {{ kind: "same" | "added" | "removed", text: string }} Piece */
/** @typedef {{ before?: string, after?: string }} Line One side is absent where a line was added or removed. */

const CONTEXT = 3;
const AT_ONCE = 1000;
/** A search costs at most about this many steps, whatever is compared. */
const COST = 4_000_000;
/** In longer lines the words are not compared, nor once so many characters were compared of what is drawn at once. */
const LONGEST = 2_000;
const MOST = 50_000;

/**
 * What makes the lines of `b` from those of `a`.
 *
 * @param {string | string[]} a
 * @param {string | string[]} b
 * @returns {Piece[]}
 */
function diffLines(a, b) {
  return difference(typeof a === "string" ? a.split("\n") : a, typeof b === "string" ? b.split("\n") : b);
}

/**
 * Myers' search for the shortest edits, in stages: a search that has gone `limit` edits settles on the way that came
 * furthest, and a new one begins there. So the cost is at most the number of texts times `limit`, and the result is the
 * shortest for texts that differ in fewer places.
 *
 * @param {string[]} a
 * @param {string[]} b
 * @returns {Piece[]}
 */
function difference(a, b) {
  /** @type {Piece[]} */
  const pieces = [];
  const limit = Math.min(256, Math.max(8, Math.floor(COST / (a.length + b.length))));
  let x = 0, y = 0;
  while (x < a.length || y < b.length) {
    const steps = search(a, b, x, y, limit);
    for (const step of steps) {
      if (step === "removed") pieces.push({ kind: step, text: a[x++] });
      else if (step === "added") pieces.push({ kind: step, text: b[y++] });
      else { pieces.push({ kind: step, text: a[x++] }); y += 1; }
    }
  }
  return pieces;
}

/**
 * The steps of one stage. `reached[d][k]` is how far in `a` one comes by `d` edits on the diagonal `k`, which is x - y.
 *
 * @param {string[]} a
 * @param {string[]} b
 * @param {number} fromX
 * @param {number} fromY
 * @param {number} limit
 * @returns {Piece["kind"][]}
 */
function search(a, b, fromX, fromY, limit) {
  const width = a.length - fromX, height = b.length - fromY;
  /** @type {Map<number, number>[]} */
  const reached = [];
  let edits = 0, end = { x: 0, k: 0 };
  search: for (; ; edits += 1) {
    const now = new Map(), last = reached[edits - 1];
    reached.push(now);
    end = { x: 0, k: 0 };
    for (let k = -edits; k <= edits; k += 2) {
      if (k < -height || k > width || edits > 0 && !last.has(k - 1) && !last.has(k + 1)) continue;
      let x = edits === 0 ? 0 : fromAbove(last, k) ? last.get(k + 1) ?? 0 : (last.get(k - 1) ?? 0) + 1;
      while (x < width && x - k < height && a[fromX + x] === b[fromY + x - k]) x += 1;
      if (x > width || x - k > height) continue;
      now.set(k, x);
      if (2 * x - k >= 2 * end.x - end.k) end = { x, k };
      if (x === width && x - k === height) break search;
    }
    if (edits === limit) break;
  }
  /** @type {Piece["kind"][]} */
  const steps = [];
  let { x, k } = end;
  for (; edits > 0; edits -= 1) {
    const last = reached[edits - 1], isAdded = fromAbove(last, k);
    const start = isAdded ? last.get(k + 1) ?? 0 : (last.get(k - 1) ?? 0) + 1;
    for (; x > start; x -= 1) steps.push("same");
    steps.push(isAdded ? "added" : "removed");
    if (isAdded) k += 1; else { k -= 1; x -= 1; }
  }
  for (; x > 0; x -= 1) steps.push("same");
  return steps.reverse();
}

/**
 * Whether the diagonal is best reached by a line of `b` alone.
 *
 * @param {Map<number, number>} last
 * @param {number} k
 * @returns {boolean}
 */
function fromAbove(last, k) { return (last.get(k + 1) ?? -1) > (last.get(k - 1) ?? -1) || !last.has(k - 1); }

/**
 * Two JSON values beside each other, or one below the other where there is little room.
 *
 * @param {any} before
 * @param {any} after
 * @param {{ beforeLabel?: string, afterLabel?: string }} labels
 * @returns {HTMLElement}
 */
export function diffView(before, after, { beforeLabel = "Before", afterLabel = "After" } = {}) {
  const pieces = diffLines(jsonText(before), jsonText(after));
  const lines = (/** @type {Piece["kind"]} */ kind) =>
    plural(pieces.filter((piece) => piece.kind === kind).length, "line");
  const isEqual = pieces.every((piece) => piece.kind === "same");
  const text = isEqual ? "Both are equal." : `${lines("added")} added, ${lines("removed")} removed.`;
  const body = h("tbody");
  drawRows((...rows) => body.append(...rows), rowsOf(pieces));
  return h("div.diff", null, h("p.small.soft", null, text),
    h("table", { dir: "ltr" }, h("caption.unseen", null, `Differences: ${beforeLabel}, ${afterLabel}`),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, beforeLabel), h("th", { scope: "col" }, afterLabel))),
      body));
}

/**
 * A value as lines of JSON with sorted keys; `_id` and `_rev` go first.
 *
 * @param {any} value
 * @returns {string}
 */
function jsonText(value) { return value === undefined ? "" : JSON.stringify(sorted(value, 0), null, 2); }

/**
 * @param {any} value
 * @param {number} depth
 * @returns {any}
 */
function sorted(value, depth) {
  if (depth > 200) return value;
  if (Array.isArray(value)) return value.map((one) => sorted(one, depth + 1));
  if (!isObject(value)) return value;
  const rank = (/** @type {string} */ key) => key === "_id" ? 0 : key === "_rev" ? 1 : 2;
  const result = {};
  const keys = Object.keys(value).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  for (const key of keys) set(result, key, sorted(value[key], depth + 1));
  return result;
}

/**
 * Rows of the table: lines, or how many equal lines are folded.
 *
 * @param {Piece[]} pieces
 * @returns {(Line | Line[])[]}
 */
function rowsOf(pieces) {
  /** @type {(Line | Line[])[]} */
  const rows = [];
  for (let at = 0; at < pieces.length;) {
    const isSame = pieces[at].kind === "same";
    let end = at;
    while (end < pieces.length && (pieces[end].kind === "same") === isSame) end += 1;
    const run = pieces.slice(at, end);
    if (!isSame) for (const line of pair(run)) rows.push(line);
    else {
      const lines = run.map(({ text }) => ({ before: text, after: text }));
      const head = at === 0 ? 0 : CONTEXT, tail = end === pieces.length ? 0 : CONTEXT;
      const folded = lines.slice(head, lines.length - tail);
      if (folded.length < 3) rows.push(...lines);
      else rows.push(...lines.slice(0, head), folded, ...lines.slice(lines.length - tail));
    }
    at = end;
  }
  return rows;
}

/**
 * Puts lines that name the same property beside each other, and those without a name by their order.
 *
 * @param {Piece[]} run
 * @returns {Line[]}
 */
function pair(run) {
  const before = run.filter((piece) => piece.kind === "removed").map((piece) => piece.text);
  const after = run.filter((piece) => piece.kind === "added").map((piece) => piece.text);
  const name = (/** @type {string} */ text) => text.match(/^\s*(?:"(?:[^"\\]|\\.)*":|)/)?.[0];
  /** @type {Map<string | undefined, number>} */
  const lastAfter = new Map(after.map((text, index) => [name(text), index]));
  /** @type {Line[]} */
  const lines = [];
  let y = 0;
  for (const text of before) {
    const last = lastAfter.get(name(text)) ?? -1;
    if (last < y) { lines.push({ before: text }); continue; }
    while (name(after[y]) !== name(text)) lines.push({ after: after[y++] });
    lines.push({ before: text, after: after[y++] });
  }
  return [...lines, ...after.slice(y).map((one) => ({ after: one }))];
}

/**
 * @param {(...rows: HTMLElement[]) => void} add
 * @param {(Line | Line[])[]} rows
 */
function drawRows(add, rows) {
  const part = rows.slice(0, AT_ONCE), rest = rows.slice(AT_ONCE);
  const budget = { characters: MOST };
  add(...part.map((row) => Array.isArray(row) ? foldRow(row) : lineRow(row, budget)));
  if (!rest.length) return;
  add(buttonRow(`Show ${plural(rest.length, "more row")}`, (row) => {
    drawRows((...more) => row.before(...more), rest);
    row.remove();
  }));
}

/**
 * @param {Line[]} lines
 * @returns {HTMLElement}
 */
function foldRow(lines) {
  return buttonRow(`Show ${plural(lines.length, "equal line")}`, (row) => {
    drawRows((...more) => row.before(...more), lines);
    row.remove();
  });
}

/**
 * @param {string} label
 * @param {(row: HTMLElement) => void} call
 * @returns {HTMLElement}
 */
function buttonRow(label, call) {
  const row = h("tr.fold", null, h("td", { colspan: 2 },
    h("button.button.plain.small", { type: "button", onclick: () => call(row) }, label)));
  return row;
}

/**
 * @param {Line} line
 * @param {{ characters: number }} budget How many characters may still be compared word by word.
 * @returns {HTMLElement}
 */
function lineRow({ before, after }, budget) {
  if (before === after) return h("tr.same", null, h("td", null, before), h("td", null, after));
  let words = null;
  if (before !== undefined && after !== undefined) {
    budget.characters -= before.length + after.length;
    if (budget.characters > 0) words = difference(wordsOf(before), wordsOf(after));
  }
  return h("tr", null, side("removed", before, words), side("added", after, words));
}

/**
 * @param {"added" | "removed"} kind
 * @param {string | undefined} text
 * @param {Piece[] | null} words Those of the line and of the one beside it.
 * @returns {HTMLElement}
 */
function side(kind, text, words) {
  if (text === undefined) return h("td.none");
  const [label, sign, tag] = kind === "added" ? ["Added: ", "+", "ins"] : ["Removed: ", "−", "del"];
  const isMarked = words?.some((word) => word.kind === "same" && word.text.trim());
  return h("td", { class: kind }, h("span.unseen", null, label), h("span.sign", { "aria-hidden": "true" }, sign),
    !isMarked ? text : runs(words ?? [], kind).map((run) =>
      run.kind === "same" ? run.text : h(/** @type {"ins"} */ (tag), null, run.text)));
}

/**
 * The words of one side, those of a kind that follow each other as one.
 *
 * @param {Piece[]} words
 * @param {"added" | "removed"} kind
 * @returns {Piece[]}
 */
function runs(words, kind) {
  /** @type {Piece[]} */
  const result = [];
  for (const word of words) {
    if (word.kind !== "same" && word.kind !== kind) continue;
    const last = result[result.length - 1];
    if (last?.kind === word.kind) last.text += word.text; else result.push({ ...word });
  }
  return result;
}

/**
 * @param {string} text
 * @returns {string[]}
 */
function wordsOf(text) { return text.length > LONGEST ? [text] : text.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^]/gu) ?? []; }
