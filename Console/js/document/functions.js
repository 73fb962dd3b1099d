// SPDX-License-Identifier: Apache-2.0

import { parseExact, writeExact } from "../components/json-text.js";
import { emptyState } from "../components/states.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { isObject } from "../core/json.js";
import { get, set } from "../core/merge.js";

/**
 * @typedef {{ path: string[], known: any, area: HTMLTextAreaElement, element: HTMLElement }} Field
 *   `known`: what the document has at the path as far as the field knows.
 */

/**
 * The functions of a design document as code, each in a field of its own that writes it back into the document at each
 * key. A field writes only over the code that it has shown: that of another writer stays.
 *
 * @param {import("../components/json-editor.js").JSONEditor} editor
 * @returns {HTMLElement & { refresh: () => void }}
 */
export function functionsPanel(editor) {
  /** @type {Field[]} */
  let fields = [];
  const body = h("div.body.column", {
    onfocusout: (/** @type {FocusEvent} */ event) => {
      if (!body.contains(/** @type {Node | null} */ (event.relatedTarget))) refresh();
    },
  });
  const element = h("section.panel", { "aria-label": "Functions" },
    h("header", null, h("h2", null, "Functions")), body);
  const refresh = () => {
    // What is typed here has no place in a text that is not valid.
    const isLocked = editor.readOnly || editor.error !== null;
    for (const { area } of fields) area.readOnly = isLocked;
    if (editor.error) return;
    const value = parseExact(editor.text);
    for (const field of fields) show(field, value);
    if (body.contains(document.activeElement)) return;
    const found = functionsOf(value), names = JSON.stringify(found.map(({ path }) => path));
    if (fields.length && names === JSON.stringify(fields.map(({ path }) => path))) return;
    fields = found.map(({ path, code }) => fieldOf(path, code));
    fill(body, fields.length ? fields.map((field) => field.element) : emptyState({
      icon: "index", title: "No functions",
      text: "The views, filters and validators of the document are shown here as code.",
    }));
  };
  const fieldOf = (/** @type {string[]} */ path, /** @type {string} */ code) => {
    /** @type {HTMLTextAreaElement} */
    const area = h("textarea.input.code", {
      spellcheck: "false", autocapitalize: "off", dir: "ltr", "aria-label": path.join(", "),
      readOnly: editor.readOnly, rows: Math.min(24, code.split("\n").length + 1), oninput: () => write(field),
    }, code);
    /** @type {Field} */
    const field = {
      path, known: code, area,
      element: h("details", { open: true }, h("summary.code", null, path.join(" › ")), area),
    };
    return field;
  };
  /**
   * Shows what the document has by now, unless that is what the field knows.
   *
   * @param {Field} field
   * @param {any} value
   */
  const show = (field, value) => {
    const code = at(value, field.path);
    if (code === field.known) return;
    field.known = code;
    field.area.value = typeof code === "string" ? code : "";
  };
  /** @param {Field} field */
  const write = (field) => {
    const { path, area } = field;
    if (editor.error || editor.readOnly) { area.value = field.known ?? ""; editor.showError(); return; }
    const value = parseExact(editor.text), place = at(value, path.slice(0, -1));
    if (at(value, path) !== field.known || !isObject(place)) {
      show(field, value);
      toast(`Another change replaced the code of ${path.join(" › ")}. It is shown now. Make your change again.`,
        { kind: "warning" });
      return;
    }
    field.known = area.value;
    set(place, path[path.length - 1], area.value);
    editor.replace(writeExact(value));
  };
  refresh();
  return Object.assign(element, { refresh });
}

/**
 * What a document has at a path.
 *
 * @param {any} value
 * @param {string[]} path
 * @returns {any}
 */
function at(value, path) { return path.reduce((object, key) => get(object, key), value); }

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
