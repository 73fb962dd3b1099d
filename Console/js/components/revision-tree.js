// SPDX-License-Identifier: Apache-2.0

import { fill, h, svg } from "../core/dom.js";
import { count } from "../core/format.js";
import { generation, pathOf, short } from "../core/revision.js";
import { useStyle } from "../core/style.js";

await useStyle("history");

/**
 * @typedef {object} Revision
 * @property {string} rev
 * @property {string | null} parent
 * @property {string[]} children
 * @property {number} lane The column of its branch; 0 is that of the winner.
 * @property {"winner" | "live" | "deleted" | ""} leaf What kind of leaf it is, if it is one.
 * @property {boolean} isStored Whether the server still has its body.
 *
 * @typedef {object} Row
 * @property {Revision} revision One revision, or the latest of a folded run.
 * @property {string[]} folded
 * @property {string | null} parent Of the row.
 */

const ROW = 30, LANE = 20, LEFT = 16, SHORTEST_FOLD = 4;
const WORDS = { winner: "winner", live: "conflict", deleted: "deleted", "": "" };

/**
 * Merges the branches of leaves, which are sorted, into a tree.
 *
 * @param {any[]} leaves
 * @param {Set<string>} stored
 * @returns {Map<string, Revision>}
 */
export function buildTree(leaves, stored) {
  /** @type {Map<string, Revision>} */
  const tree = new Map();
  leaves.forEach((leaf, lane) => {
    const path = pathOf(leaf);
    path.forEach((rev, index) => {
      const child = index ? path[index - 1] : null;
      const known = tree.get(rev);
      const revision = known ?? { rev, parent: null, children: [], lane, leaf: "", isStored: stored.has(rev) };
      revision.parent ??= path[index + 1] ?? null;
      if (child && !revision.children.includes(child)) revision.children.push(child);
      tree.set(rev, revision);
    });
    const own = tree.get(leaf._rev);
    if (own) own.leaf = lane === 0 ? "winner" : leaf._deleted ? "deleted" : "live";
  });
  return tree;
}

/**
 * The tree of a document's revisions, the latest above. Up and down go along a branch, left and right to the next
 * branch, Enter chooses, with Shift as the one to compare with.
 *
 * @param {{ label: string, onChoose: (rev: string, isOther: boolean) => void }} options
 * @returns {HTMLElement & { show: (tree: Map<string, Revision>, chosen: string, other: string) => void }}
 */
export function revisionTree({ label, onChoose }) {
  const element = h("div.revisions", { role: "listbox", tabindex: 0, "aria-label": label });
  /** @type {Set<string>} */
  const unfolded = new Set();
  /** @type {Map<string, Revision>} */
  let tree = new Map();
  /** @type {Row[]} */
  let rows = [];
  let current = "", chosen = "", other = "";

  const draw = () => {
    rows = rowsOf(tree, unfolded);
    if (!rows.some((row) => row.revision.rev === current)) current = rows[0]?.revision.rev ?? "";
    const places = new Map(rows.map((row, index) => [row.revision.rev, index]));
    const lanes = Math.max(0, ...rows.map((row) => row.revision.lane)) + 1;
    fill(element, svg("svg", { width: LEFT + lanes * LANE + 250, height: rows.length * ROW },
      rows.map((row, index) => svg("rect", { "data-rev": row.revision.rev, y: index * ROW, width: "100%", height: ROW },
        svg("title", null, row.folded.length ? "Show these revisions" : row.revision.rev))),
      rows.map((row, index) => edge(row, index, rows, places)),
      rows.map((row, index) => line(row, index, LEFT + lanes * LANE))));
    mark();
  };
  const mark = () => {
    for (const one of /** @type {NodeListOf<SVGElement>} */ (element.querySelectorAll("[data-rev]"))) {
      one.classList.toggle("current", one.dataset.rev === current);
      one.classList.toggle("other", one.dataset.rev === other);
      one.setAttribute("aria-selected", String(one.dataset.rev === chosen || one.dataset.rev === other));
      if (one.id && one.dataset.rev === current) element.setAttribute("aria-activedescendant", one.id);
    }
  };
  /**
   * @param {Row} row
   * @param {number} index
   * @param {number} left Where the text begins.
   */
  const line = (row, index, left) => {
    const { rev, leaf, lane, isStored } = row.revision;
    const x = LEFT + lane * LANE, y = index * ROW + ROW / 2;
    const isFold = row.folded.length > 0;
    const state = isFold ? "" : [WORDS[leaf], isStored ? "" : "body compacted"].filter(Boolean).join(", ");
    const text = isFold ? `… ${count(row.folded.length)} revisions …` : `${short(rev)}…`;
    return svg("g", {
      id: `rev-${rev}`, role: "option", "data-rev": rev,
      class: `${leaf} ${isStored ? "" : "gone"} ${isFold ? "fold" : ""}`,
      "aria-label": isFold ? `${row.folded.length} revisions, folded` : `${rev} ${state}`,
    },
    !isFold && svg("circle", { cx: x, cy: y, r: leaf ? 7 : 5 }),
    leaf === "deleted" && svg("path", { d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6` }),
    svg("text", { x: left, y: y + 4 }, text, svg("tspan", { dx: 10 }, state)));
  };
  /**
   * @param {Row} row
   * @param {boolean} isOther
   */
  const choose = (row, isOther) => {
    current = row.revision.rev;
    if (!row.folded.length) { onChoose(current, isOther); return; }
    for (const rev of row.folded) unfolded.add(rev);
    draw();
  };
  element.addEventListener("click", (event) => {
    const rev = event.target instanceof SVGElement ? event.target.dataset.rev : undefined;
    const row = rows.find((one) => one.revision.rev === rev);
    if (row) choose(row, event.shiftKey);
  });
  element.addEventListener("keydown", (event) => {
    const at = rows.findIndex((row) => row.revision.rev === current);
    const to = event.key === "Enter" ? at : neighbour(rows, at, event.key);
    if (at < 0 || to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (event.key === "Enter") { choose(rows[at], event.shiftKey); return; }
    current = rows[to].revision.rev;
    mark();
    element.querySelector("rect.current")?.scrollIntoView({ block: "nearest" });
  });
  /**
   * @param {Map<string, Revision>} newTree
   * @param {string} newChosen
   * @param {string} newOther
   */
  const show = (newTree, newChosen, newOther) => {
    const isNew = newTree !== tree;
    current ||= newChosen;
    [tree, chosen, other] = [newTree, newChosen, newOther];
    if (isNew) draw(); else mark();
  };
  return Object.assign(element, { show });
}

/**
 * The rows, by generation. A straight run of inner revisions is one row, which stands at the place of its latest.
 *
 * @param {Map<string, Revision>} tree
 * @param {Set<string>} unfolded
 * @returns {Row[]}
 */
function rowsOf(tree, unfolded) {
  const sorted = [...tree.values()].sort((a, b) => generation(b.rev) - generation(a.rev) || a.lane - b.lane);
  const mayFold = (/** @type {Revision} */ one) =>
    one.children.length === 1 && one.parent !== null && !tree.get(one.children[0])?.leaf && !unfolded.has(one.rev);
  /** @type {Set<string>} */
  const hidden = new Set();
  /** @type {Row[]} */
  const rows = [];
  for (const revision of sorted) {
    if (hidden.has(revision.rev)) continue;
    /** @type {Revision[]} */
    const run = [];
    for (let one = tree.get(revision.rev); one && mayFold(one); one = tree.get(one.parent ?? "")) run.push(one);
    if (run.length < SHORTEST_FOLD) { rows.push({ revision, folded: [], parent: revision.parent }); continue; }
    for (const one of run) hidden.add(one.rev);
    rows.push({ revision, folded: run.map((one) => one.rev), parent: run[run.length - 1].parent });
  }
  return rows;
}

/**
 * The line from a row down to its parent's.
 *
 * @param {Row} row
 * @param {number} index
 * @param {Row[]} rows
 * @param {Map<string, number>} places
 * @returns {SVGElement | null}
 */
function edge({ revision, parent, folded }, index, rows, places) {
  const to = places.get(parent ?? "");
  if (to === undefined) return null;
  const x = LEFT + revision.lane * LANE, endX = LEFT + rows[to].revision.lane * LANE;
  const y = index * ROW + ROW / 2, end = to * ROW + ROW / 2, middle = end - ROW / 2;
  return svg("path", {
    class: folded.length ? "edge dashed" : "edge",
    d: `M${x} ${y}V${end - ROW}C${x} ${middle} ${endX} ${middle} ${endX} ${end}`,
  });
}

/**
 * The row that a key leads to, or null.
 *
 * @param {Row[]} rows
 * @param {number} at
 * @param {string} key
 * @returns {number | null}
 */
function neighbour(rows, at, key) {
  const { revision, parent } = rows[at];
  /** @param {(row: Row, index: number) => boolean} fits */
  const find = (fits) => {
    const found = rows.flatMap((row, index) => fits(row, index) ? [index] : []);
    return found.length ? found.reduce((best, one) => Math.abs(one - at) < Math.abs(best - at) ? one : best) : at;
  };
  switch (key) {
    case "ArrowDown": return find((row) => row.revision.rev === parent);
    case "ArrowUp": return find((row, index) => index < at && row.parent === revision.rev);
    case "ArrowLeft": return find((row) => row.revision.lane === revision.lane - 1);
    case "ArrowRight": return find((row) => row.revision.lane === revision.lane + 1);
    case "Home": return 0;
    case "End": return rows.length - 1;
    default: return null;
  }
}
