// SPDX-License-Identifier: Apache-2.0

import { path } from "../api/client.js";
import { writeExactly } from "../api/exact.js";
import { has } from "../api/server.js";
import { button, segments } from "../components/button.js";
import { openDialog, Refusal } from "../components/dialog.js";
import { checkbox, field, input, select, textarea } from "../components/field.js";
import { parseExact } from "../components/json-text.js";
import { fill, h } from "../core/dom.js";
import { parseObject } from "../core/json.js";

/**
 * Asks for an index and creates it.
 *
 * @param {string} database
 * @param {boolean} isPartitioned
 * @param {string[]} properties Names to propose for the fields.
 * @param {AbortSignal} signal
 * @returns {Promise<{ id: string, name: string, result: string } | undefined>}
 */
export function createIndex(database, isPartitioned, properties, signal) {
  /** @type {"json" | "text"} */
  let kind = "json";
  const proposals = h("datalist", { id: "index-fields" }, properties.map((name) => h("option", { value: name })));
  const lines = h("div.column.tight");
  const wrong = h("p.wrong", { role: "alert" });
  const order = select([{ value: "asc", label: "ascending" }, { value: "desc", label: "descending" }], "asc");
  const addLine = () => {
    const name = input({ "aria-label": "Field", placeholder: "customer or place.city", list: proposals.id,
      class: "grow" });
    const type = select(["string", "number", "boolean"].map((value) => ({ value, label: value })), "string",
      { "aria-label": "Type", style: { "inline-size": "auto" }, hidden: kind === "json" });
    const line = h("div.row.nowrap", null, name, type, button({ title: "Remove this field", icon: "close",
      kind: "plain small", onclick: () => {
        if (lines.children.length > 1) line.remove(); else name.value = "";
        lines.querySelector("input")?.focus();
      } }));
    lines.append(line);
    return name;
  };
  addLine();
  const hint = h("p.hint");
  const orderField = field({ label: "Direction", input: order,
    hint: "It applies to all fields: an index cannot mix directions." });
  const everything = checkbox("Index all fields", { onchange: () => show() });
  const show = () => {
    for (const one of lines.querySelectorAll("select")) one.hidden = kind === "json";
    orderField.hidden = kind === "text";
    everything.hidden = kind === "json";
    fields.hidden = kind === "text" && everything.input.checked;
    fill(hint, kind === "json" ? "A query uses the index if its selector has the first field. "
      + "Put fields that are compared with one value before those with ranges."
      : "Queries find words in these fields with $text.");
  };
  const fields = h("fieldset.field", null, h("legend.label", null, "Fields"), lines,
    h("div.row", null, button({ label: "Add a field", icon: "add", kind: "small", onclick: () => addLine().focus() })),
    hint, wrong, proposals);
  const filter = textarea({ rows: 3, class: "code", placeholder: '{"type": "order"}' });
  const filterField = field({ label: "Only documents that match (optional)", input: filter,
    hint: "A selector as JSON. Queries use such an index only if they name it in use_index." });
  const name = input({ placeholder: "chosen by the server" }), ddoc = input({ placeholder: "chosen by the server" });
  const partitioned = checkbox("For queries within one partition", { checked: isPartitioned });
  show();
  return openDialog({
    title: "New index", action: "Create the index", signal,
    body: [
      has("search") && segments({ label: "Kind of index", value: kind,
        options: [{ value: "json", label: "JSON index" }, { value: "text", label: "Text index" }],
        onchange: (value) => { kind = /** @type {any} */ (value); show(); } }),
      fields, everything, orderField, filterField,
      h("div.grid", null, field({ label: "Name (optional)", input: name }),
        field({ label: "Design document (optional)", input: ddoc })), isPartitioned && partitioned,
    ],
    submit: async () => {
      const chosen = [...lines.children].map((line) => ({ name: line.querySelector("input")?.value.trim() ?? "",
        type: line.querySelector("select")?.value })).filter((one) => one.name);
      const isAll = kind === "text" && everything.input.checked;
      wrong.textContent = chosen.length || isAll ? "" : "Enter a field.";
      filterField.wrong = "";
      let selector;
      try { if (filter.value.trim()) selector = parseObject(filter.value, "The selector", parseExact); } catch (error) {
        filterField.wrong = /** @type {Error} */ (error).message;
      }
      if (wrong.textContent || filterField.wrong) {
        (wrong.textContent ? lines.querySelector("input") : filter)?.focus();
        throw new Refusal();
      }
      return writeExactly("POST", path(database, "_index"), {
        type: kind, ...(name.value && { name: name.value }),
        ...(ddoc.value && { ddoc: ddoc.value.replace("_design/", "") }),
        ...(isPartitioned && { partitioned: partitioned.input.checked }),
        index: {
          ...(kind === "json" ? { fields: chosen.map((one) => (order.value === "asc" ? one.name
            : { [one.name]: "desc" })) } : isAll ? {} : { fields: chosen }),
          ...(selector && { partial_filter_selector: selector }),
        },
      });
    },
  });
}
