// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { diffView } from "../components/diff.js";
import { field, input, select } from "../components/field.js";
import { showExact } from "../components/json-text.js";
import { workRegion } from "../components/progress.js";
import { errorState, figure, note } from "../components/states.js";
import { h } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { link } from "../core/router.js";
import { contentOf, loadConflicts } from "./load.js";
import { isUndoable, resolveConflicts, undoResolutions } from "./resolve.js";
import { decide, OUTCOMES } from "./rules.js";

/** @typedef {import("./resolve.js").Resolution} Resolution */

export const AT_MOST = 500;
const BATCH = 100, EXAMPLES = 5;

const KINDS = [
  { value: "winner", label: "Keep the winner" },
  { value: "latest", label: "Keep the side with the latest value of a property" },
  { value: "equals", label: "Keep the side whose property equals a value" },
  { value: "merge", label: "Merge where no property is disputed" },
];
const OTHERWISE = [
  { value: "skip", label: "Leave it in conflict" },
  { value: "winner", label: "Keep the winner" },
  { value: "other", label: "Keep the other side" },
];

/**
 * Resolves many conflicts by a rule: a preview, the work with progress, a report, and undo.
 *
 * @param {object} options
 * @param {string} options.database
 * @param {import("../shell.js").Context} options.ctx
 * @param {string} options.start The document that the rule starts at; "" for the first.
 * @param {() => Promise<import("./load.js").Row[]>} options.rows The conflicts to work on.
 * @returns {HTMLElement}
 */
export function rulePanel({ database, ctx, start, rows }) {
  const { query, signal } = ctx;
  const kind = select(KINDS, query.get("rule") ?? "merge", { onchange: () => arrange() });
  const property = input({ value: query.get("property") ?? "", placeholder: "updated_at", oninput: () => arrange() });
  const value = input({ value: query.get("value") ?? "", placeholder: "\"ann\"", oninput: () => arrange() });
  const otherwise = select(OTHERWISE, query.get("otherwise") ?? "skip", { onchange: () => arrange() });
  const propertyField = field({ label: "Property", input: property, hint: "Use a dot for nesting, such as meta.date" });
  const valueField = field({ label: "Value", input: value, hint: "JSON or plain text" });
  const otherwiseField = field({ label: "Where a property is disputed", input: otherwise });
  const result = workRegion(signal);

  const arrange = () => {
    propertyField.hidden = kind.value !== "latest" && kind.value !== "equals";
    valueField.hidden = kind.value !== "equals";
    otherwiseField.hidden = kind.value !== "merge";
    propertyField.wrong = "";
    result.run(async () => null);
    ctx.setQuery({
      rule: kind.value, property: propertyField.hidden ? "" : property.value,
      value: valueField.hidden ? "" : value.value,
      otherwise: otherwiseField.hidden ? "" : otherwise.value,
    });
  };

  const preview = () => {
    if (!propertyField.hidden && !property.value) {
      propertyField.wrong = "Enter a property.";
      property.focus();
      return;
    }
    const rule = /** @type {import("./rules.js").Rule} */ ({
      kind: kind.value, property: property.value, value: value.value, otherwise: otherwise.value,
    });
    result.run(async (stop, line) => {
      const wanted = await rows();
      /** @type {import("./rules.js").Decision[]} */
      const decisions = [];
      for (let at = 0; at < wanted.length; at += BATCH) {
        line.count(at, wanted.length, "Read ");
        const conflicts = await loadConflicts(database, wanted.slice(at, at + BATCH), stop);
        decisions.push(...conflicts.map((conflict) => decide(rule, conflict)));
      }
      return previewOf(decisions, wanted.length - decisions.length);
    });
  };

  /**
   * @param {import("./rules.js").Decision[]} decisions
   * @param {number} unread
   */
  const previewOf = (decisions, unread) => {
    const active = decisions.filter((one) => one.outcome !== "skipped");
    const counts = Object.entries(OUTCOMES).map(([outcome, label]) =>
      figure(label, count(decisions.filter((one) => one.outcome === outcome).length)));
    return [
      h("div.row.figures", null, counts),
      unread > 0 && note("warning", `${plural(unread, "document")} will not change: the server did not return every `
        + "side."),
      active.length > 0 && h("div.row", null, button({
        label: `Resolve ${plural(active.length, "conflict")}`, icon: "check", kind: "primary",
        onclick: () => apply(active),
      })),
      decisions.slice(0, EXAMPLES).map(({ conflict, outcome, body }) => h("details", null,
        h("summary", null, h("bdi.code", null, conflict.id), ` — ${OUTCOMES[outcome]}`),
        body && showExact(diffView(contentOf(conflict.sides[0]), body,
          { beforeLabel: "Winner", afterLabel: "Result" })))),
      decisions.length > EXAMPLES
        && h("p.small.soft", null, `These are the first ${EXAMPLES} of ${count(decisions.length)}.`),
    ];
  };

  /** @param {import("./rules.js").Decision[]} decisions */
  const apply = async (decisions) => {
    const sides = decisions.reduce((sum, one) => sum + one.conflict.sides.length - 1, 0);
    const isSure = await ask({
      title: `Resolve ${plural(decisions.length, "conflict")}`, action: `Delete ${plural(sides, "side")}`, danger: true,
      message: h("p", null, `${plural(sides, "side")} will be deleted. You can undo it until you leave this page.`),
    });
    if (!isSure) return;
    /** @type {Resolution[]} */
    const done = [];
    await inBatches("Resolved ", decisions, async (batch) => {
      done.push(...await resolveConflicts(database, batch));
    }, () => {
      const failed = done.filter((one) => one.problem), rest = decisions.length - done.length;
      return [
        note(failed.length || rest ? "warning" : "success",
          `${plural(done.length - failed.length, "conflict")} resolved.`,
          failed.length > 0 && ` ${count(failed.length)} could not be resolved.`,
          rest > 0 && ` The other ${count(rest)} were not tried.`),
        problemList(failed.map(({ conflict, problem }) => ({ id: conflict.id, problem }))),
        undoButton(done.filter(isUndoable)),
      ];
    });
  };

  /** @param {Resolution[]} changed */
  const undoButton = (changed) => changed.length > 0 && h("div.row", null, button({
    label: `Undo ${plural(changed.length, "resolution")}`, icon: "undo", onclick: () => undo(changed),
  }));

  /** @param {Resolution[]} changed */
  const undo = async (changed) => {
    /** @type {{ id: string, problem: string }[]} */
    const problems = [];
    let undone = 0;
    await inBatches("Undone ", changed, async (batch) => {
      problems.push(...await undoResolutions(database, batch));
      undone += batch.length;
    }, () => [
      note(problems.length ? "warning" : "success",
        `${plural(undone - problems.length, "document")} in conflict again.`,
        problems.length > 0 && ` ${count(problems.length)} could not be undone.`),
      problemList(problems), undoButton(changed.filter(isUndoable)),
    ]);
  };

  /**
   * Writes in batches, then shows the report, also of a part. The rule cannot be changed meanwhile, since that would
   * take the report away.
   *
   * @template T
   * @param {string} verb
   * @param {T[]} items
   * @param {(batch: T[]) => Promise<void>} write
   * @param {() => import("../core/dom.js").Children} report
   */
  const inBatches = async (verb, items, write, report) => {
    form.inert = true;
    await result.run(async (stop, line) => {
      try {
        for (let at = 0; at < items.length && !stop.aborted; at += BATCH) {
          line.count(at, items.length, verb);
          await write(items.slice(at, at + BATCH));
        }
        return report();
      } catch (error) { return [errorState(error), report()]; }
    });
    form.inert = false;
  };

  const form = h("div.column", null,
    h("div.grid", { style: { "--cell": "22rem" } },
      field({ label: "Rule", input: kind }), propertyField, valueField, otherwiseField),
    h("div.row", null, button({ label: "Preview", icon: "search", onclick: preview })));
  arrange();
  return h("section.column", { "aria-label": "Apply a rule" },
    h("div.row.spread", null, h("h2", null, `Apply a rule to the next ${AT_MOST}`),
      button({
        title: "Close", icon: "close", kind: "plain small",
        onclick: () => { ctx.go(link("db", database, "conflicts")); },
      })),
    h("p.soft", null, "The rule starts at ", h("bdi", null, start || "the first conflict"),
      ". Nothing is saved until you have seen the preview."),
    form, result);
}

/** @param {{ id: string, problem: string }[]} problems */
function problemList(problems) {
  return problems.length > 0 && h("ul.column.tight.small", null, problems.slice(0, 100).map(({ id, problem }) =>
    h("li", null, h("bdi.code", null, id), ` — ${problem}`)));
}
