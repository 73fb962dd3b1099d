// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { field, input, select } from "../components/field.js";
import { parseExact, writeExact } from "../components/json-text.js";
import { note } from "../components/states.js";
import { fill, freshID, h } from "../core/dom.js";
import { directed } from "../core/json.js";
import { fromSelector, isGroup, OPERATORS, toSelector } from "./builder-model.js";

const JOINS = [
  { value: "$and", label: "All of these match" }, { value: "$or", label: "At least one matches" },
  { value: "$nor", label: "None matches" },
];
const DIRECTIONS = [{ value: "asc", label: "ascending" }, { value: "desc", label: "descending" }];
const emptyRule = () => ({ field: "", operator: "$eq", value: "" });

/**
 * Conditions as rows. It writes the text of the request to `_find`, and reads it when it is shown.
 *
 * @param {object} options
 * @param {string} options.text
 * @param {(text: string) => void} options.onChange
 * @param {Promise<string[]>} options.fields
 * @returns {HTMLElement}
 */
export function builder({ text, onChange, fields }) {
  /** @type {any} */
  let request = null;
  try { request = parseExact(text); } catch { /* The note below says it. */ }
  const read = fromSelector(request?.selector);
  if (!read) {
    return note("info",
      "The builder cannot show some parts of this selector. Edit it under Selector, or start with an empty one. ",
      button({ label: "Start with an empty selector", kind: "small", onclick: () => {
        const next = writeExact({ selector: {}, limit: 50 });
        onChange(next);
        element.replaceWith(builder({ text: next, onChange, fields }));
      } }));
  }
  const top = read;
  if (!top.items.length) top.items.push(emptyRule());
  const names = h("datalist", { id: freshID() });
  fields.then((all) => fill(names, all.map((value) => h("option", { value }))), () => {});
  const sort = directed(request.sort).map(([field, direction]) => ({ field, isDescending: direction === "desc" }));
  const made = h("pre.request.code", { tabindex: 0, "aria-label": "The resulting request" }), rows = h("div"),
    order = h("div.field");

  const changed = () => {
    const keys = sort.filter((one) => one.field);
    const next = { ...request, selector: toSelector(top), sort: keys.map((one) =>
      ({ [one.field]: one.isDescending ? "desc" : "asc" })) };
    if (!keys.length) delete next.sort;
    const wanted = wantedFields.value.split(",").map((one) => one.trim()).filter(Boolean);
    if (wanted.length) next.fields = wanted; else delete next.fields;
    if (limit.value) next.limit = Number(limit.value); else delete next.limit;
    request = next;
    fill(made, writeExact(next));
    onChange(writeExact(next));
  };
  const wantedFields = input({ value: (request.fields ?? []).join(", "), placeholder: "All", oninput: changed });
  const limit = input({ type: "number", min: 0, value: request.limit ?? "", placeholder: "25", oninput: changed });

  /**
   * A button that takes an item out of its list.
   *
   * @param {string} title
   * @param {any[]} list
   * @param {any} item
   */
  const removeButton = (title, list, item) => button({ title, icon: "close", kind: "plain small",
    onclick: () => { list.splice(list.indexOf(item), 1); draw(); } });
  /**
   * What is done with the text of an input when it changes.
   *
   * @param {(value: string) => void} take
   * @returns {(event: any) => void}
   */
  const taking = (take) => (event) => { take(event.target.value); changed(); };
  /**
   * @param {import("./builder-model.js").Rule} rule
   * @param {import("./builder-model.js").Group} group
   * @returns {HTMLElement}
   */
  const ruleRow = (rule, group) => {
    const take = taking((value) => { rule.value = value; });
    const yes = [{ value: "true", label: "yes" }, { value: "false", label: "no" }];
    return h("div.rule", { role: "group", "aria-label": "Condition" },
      input({ "aria-label": "Field", placeholder: "Field", list: names.id, value: rule.field,
        oninput: taking((value) => { rule.field = value; }) }),
      select(OPERATORS.map(([value, label]) => ({ value, label })), rule.operator, { "aria-label": "Operator",
        onchange: (/** @type {any} */ event) => { rule.operator = event.target.value; draw(); } }),
      rule.operator === "$exists"
        ? select(yes, rule.value === "false" ? "false" : "true", { "aria-label": "Value", onchange: take })
        : input({ "aria-label": "Value", placeholder: "Value", value: rule.value, oninput: take }),
      removeButton("Remove the condition", group.items, rule));
  };
  /**
   * @param {import("./builder-model.js").Group} group
   * @param {import("./builder-model.js").Group} [parent]
   * @returns {HTMLElement}
   */
  const groupBox = (group, parent) => h("fieldset.group", null, h("legend.unseen", null, "Conditions"),
    h("div.row", null,
      select(JOINS, group.join, { "aria-label": "How the conditions combine",
        onchange: taking((value) => { group.join = /** @type {any} */ (value); }) }),
      parent && removeButton("Remove the group", parent.items, group)),
    group.items.map((item) => isGroup(item) ? groupBox(item, group) : ruleRow(item, group)),
    h("div.row", null,
      addButton("Condition", () => group.items.push(emptyRule())),
      addButton("Group", () => group.items.push({
        join: group.join === "$or" ? "$and" : "$or", items: [emptyRule()],
      }))));
  /**
   * @param {string} label
   * @param {() => void} add
   */
  const addButton = (label, add) => button({ label, icon: "add", kind: "small plain", onclick: () => {
    add();
    draw();
    const inputs = (label === "Sort field" ? order : rows).querySelectorAll("input[list]");
    /** @type {HTMLElement | undefined} */ ([...inputs].pop())?.focus();
  } });
  const draw = () => {
    fill(rows, groupBox(top));
    fill(order, h("span.label", null, "Sort by"),
      sort.map((one) => h("div.rule.order", { role: "group", "aria-label": "Sort" },
        input({ "aria-label": "Sort field", placeholder: "Field", list: names.id, value: one.field,
          oninput: taking((value) => { one.field = value; }) }),
        select(DIRECTIONS, one.isDescending ? "desc" : "asc", { "aria-label": "Direction",
          onchange: taking((value) => { one.isDescending = value === "desc"; }) }),
        removeButton("Remove the sort field", sort, one))),
      h("div", null, addButton("Sort field", () => sort.push({ field: "", isDescending: false }))));
    changed();
  };
  const element = h("div.column", null, names, rows,
    h("p.small.soft", null, "A value is JSON or a plain text: 5 is a number, \"5\" a text. Commas separate several."),
    order, h("div.pair", null, field({ label: "Fields", input: wantedFields, hint: "Separated by commas" }),
      field({ label: "Limit", input: limit })),
    made);
  draw();
  return element;
}
