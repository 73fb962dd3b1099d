// SPDX-License-Identifier: Apache-2.0

import { designDocuments, designName } from "../api/couch.js";
import { searches } from "../api/server.js";
import { checkbox, field, input, select } from "../components/field.js";
import { emptyState, loading } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { link } from "../core/router.js";

/**
 * A field that writes into a part of the question.
 *
 * @param {any} part
 * @param {string} name
 * @param {string} label
 * @param {() => void} changed
 * @param {Record<string, any>} [props] Of the input; `hint` goes below it.
 */
function entry(part, name, label, changed, props) {
  const { hint, ...rest } = props ?? {};
  const box = input({ value: part[name] ?? "", ...rest, oninput: () => {
    if (box.value) part[name] = box.value; else delete part[name];
    changed();
  } });
  return field({ label, input: box, hint });
}

/**
 * @param {any} part
 * @param {string} name
 * @param {string} label
 * @param {() => void} changed
 */
function tick(part, name, label, changed) {
  const box = checkbox(label, { checked: Boolean(part[name]), onchange: () => { part[name] = box.input.checked
    || undefined; changed(); } });
  return box;
}

/**
 * Keys, ranges and groups of a view, or of all documents.
 *
 * @param {{ database: string, part: import("./question.js").ViewPart, signal: AbortSignal, changed: () => void }}
 *   options
 * @returns {HTMLElement}
 */
export function viewForm({ database, part, signal, changed }) {
  return loading({ signal, load: (until) => designDocuments(database, until), render: (docs) => {
    const views = docs.filter((doc) => doc.language !== "query").flatMap((doc) => Object.entries(doc.views ?? {})
      .map(([name, view]) => ({ value: `${designName(doc)}/${name}`, label: `${designName(doc)} / ${name}`,
        reduce: /** @type {any} */ (view)?.reduce })));
    if (part.view && !views.some((one) => one.value === part.view)) views.push({ value: part.view,
      label: `${part.view} (not found)`, reduce: null });
    const choice = select([{ value: "", label: "All documents, by ID" }, ...views], part.view,
      { onchange: () => { part.view = choice.value; draw(); changed(); } });
    const reduction = h("div.column"), documents = h("span");
    const draw = () => {
      const reduce = views.find((one) => one.value === part.view)?.reduce;
      const isReduced = Boolean(reduce) && part.reduce !== "rows";
      // The server has no documents for reduced results, and one result for each of several keys.
      if (isReduced) delete part.docs;
      if (isReduced && part.keys) part.level = "exact";
      fill(documents, !isReduced && tick(part, "docs", "Include documents", changed));
      if (!reduce) { delete part.reduce; delete part.level; fill(reduction); return; }
      const how = select([{ value: "", label: `Reduced by ${reduce.startsWith("_") ? reduce : "a function"}` },
        { value: "rows", label: "Not reduced: the rows" }], part.reduce ?? "", {
        onchange: () => { part.reduce = how.value || undefined; draw(); changed(); } });
      const all = [{ value: "", label: "One result for all rows" }, ...[1, 2, 3, 4, 5].map((n) =>
        ({ value: String(n), label: `Level ${n}: the first ${n === 1 ? "item" : `${n} items`} of the key` })),
        { value: "exact", label: "Each key separately" }];
      const level = select(part.keys ? all.slice(-1) : all, part.level ?? "",
          { onchange: () => { part.level = level.value || undefined; changed(); } });
      fill(reduction, h("div.pair", null, field({ label: "Result", input: how }), part.reduce !== "rows"
        && field({ label: "Groups", input: level })));
    };
    draw();
    const json = "JSON. A text needs no quotes.";
    return [field({ label: "View", input: choice }), reduction,
      h("div.pair", null, entry(part, "key", "Key", changed, { hint: json }), entry(part, "keys", "Keys",
        () => { draw(); changed(); }, { hint: '["a", "b"]' })),
      h("div.pair", null, entry(part, "start", "From key", changed, { placeholder: '["a"]' }),
        entry(part, "end", "To key", changed, { placeholder: '["a", {}]' })),
      h("div.pair", null, entry(part, "limit", "Limit", changed, { type: "number", min: 0 }),
        entry(part, "skip", "Skip", changed, { type: "number", min: 0 })),
      h("div.row", null, tick(part, "descending", "Descending", changed), documents)];
  } });
}

/**
 * A search in a full-text index that a design document declares.
 *
 * @param {{ database: string, part: import("./question.js").TextPart, signal: AbortSignal, changed: () => void }}
 *   options
 * @returns {HTMLElement}
 */
export function textForm({ database, part, signal, changed }) {
  return loading({ signal, load: (until) => designDocuments(database, until), render: (docs) => {
    const kinds = /** @type {const} */ ([["indexes", "search"], ["nouveau", "nouveau"]])
      .filter(([, kind]) => searches(kind));
    const indexes = docs.filter((doc) => doc.language !== "query").flatMap((doc) =>
      kinds.flatMap(([member, kind]) => Object.keys(doc[member] ?? {}).map((name) => ({
        value: `_${kind}/${encodeURIComponent(designName(doc))}/${encodeURIComponent(name)}`,
        label: `${designName(doc)} / ${name} (_${kind})`,
      }))));
    if (!kinds.length) {
      return emptyState({ icon: "search", title: "This server has no text search",
        text: "A CouchDB has it as a service of its own, which this server does not name among its features." });
    }
    if (!indexes.length) {
      return emptyState({ icon: "search", title: "There is no text index",
        text: "A design document declares one under \"indexes\" or \"nouveau\". A selector with $text needs an "
          + "index of the type text.",
        action: h("a.button", { href: link("db", database, "indexes") }, "Go to the indexes") });
    }
    if (!indexes.some((one) => one.value === part.index)) { part.index = indexes[0].value; changed(); }
    const choice = select(indexes, part.index, { onchange: () => { part.index = choice.value; delete part.bookmark;
      changed(); } });
    const fresh = () => { delete part.bookmark; changed(); };
    return [field({ label: "Text index", input: choice }),
      entry(part, "text", "Search for", fresh, { placeholder: "lamp AND \"a phrase\"",
        hint: "Words, \"phrases\", field:word, AND, OR, NOT, prefix*" }),
      h("div.pair", null, entry(part, "limit", "Limit", fresh, { type: "number", min: 1, max: 200 }),
        entry(part, "counts", "Counts of", fresh, { placeholder: "type, author", hint: "Fields with facets" })),
      h("div.row", null, tick(part, "docs", "Include documents", fresh))];
  } });
}
