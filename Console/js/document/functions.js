// SPDX-License-Identifier: Apache-2.0

import { parseExact, writeExact } from "../components/json-text.js";
import { emptyState } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { get, isObject, set } from "../core/merge.js";

/**
 * The functions of a design document as code, each in a field of its own that writes it back into the document.
 *
 * @param {import("../components/json-editor.js").JSONEditor} editor
 * @returns {HTMLElement & { refresh: () => void }}
 */
export function functionsPanel(editor) {
  const body = h("div.body.column");
  const element = h("section.panel", { "aria-label": "Functions" },
    h("header", null, h("h2", null, "Functions")), body);
  const refresh = () => {
    if (body.contains(document.activeElement) || editor.error) return;
    const found = functionsOf(parseExact(editor.text));
    fill(body, found.length ? found.map(({ path, code }) => field(path, code)) : emptyState({
      icon: "index", title: "No functions",
      text: "Views, filters and validators that the document has are shown here as code.",
    }));
  };
  const field = (/** @type {string[]} */ path, /** @type {string} */ code) => {
    /** @type {HTMLTextAreaElement} */
    const area = h("textarea.input.code", {
      spellcheck: "false", autocapitalize: "off", dir: "ltr", "aria-label": path.join(", "),
      readOnly: editor.readOnly, rows: Math.min(24, code.split("\n").length + 1),
      oninput: debounce(() => write(path, area.value), 300),
    }, code);
    return h("details", { open: true }, h("summary.code", null, path.join(" › ")), area);
  };
  const write = (/** @type {string[]} */ path, /** @type {string} */ code) => {
    if (editor.error || editor.readOnly) { editor.showError(); return; }
    const value = parseExact(editor.text);
    const place = path.slice(0, -1).reduce((object, key) => get(object, key), value);
    if (!isObject(place)) return;
    set(place, path[path.length - 1], code);
    editor.replace(writeExact(value));
  };
  refresh();
  return Object.assign(element, { refresh });
}

/**
 * Strings that are code: what design documents keep as functions, and others that begin like one.
 *
 * @param {any} document
 * @returns {{ path: string[], code: string }[]}
 */
function functionsOf(document) {
  /** @type {{ path: string[], code: string }[]} */
  const found = [];
  const look = (/** @type {any} */ value, /** @type {string[]} */ path) => {
    if (typeof value === "string") {
      if (/^\s*(?:async\s+)?(?:function\b|\(?[\w\s,]*\)?\s*=>)/.test(value)) found.push({ path, code: value });
    } else if (isObject(value) && path.length < 4) {
      for (const key of Object.keys(value)) look(value[key], [...path, key]);
    }
  };
  look(document, []);
  return found;
}
