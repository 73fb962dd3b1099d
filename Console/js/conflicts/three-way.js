// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { button, linkButton } from "../components/button.js";
import { diffView } from "../components/diff.js";
import { field, textarea } from "../components/field.js";
import { parseExact, showExact, stringifyExact, writeExact } from "../components/json-text.js";
import { note, tag } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { cut, plural } from "../core/format.js";
import { isObject } from "../core/json.js";
import { get, isEqual, set } from "../core/merge.js";
import { short } from "../core/revision.js";
import { link } from "../core/router.js";
import { contentOf, mergeSides } from "./load.js";

/** How much of a value a cell shows. */
const SHOWN = 600;

/**
 * One conflict: the properties that differ, of which each side's value can be chosen, and the merged document, which
 * can be edited.
 */
export class ThreeWay {
  /**
   * @param {object} options
   * @param {string} options.database
   * @param {import("./load.js").Conflict} options.conflict
   * @param {(body: any) => Promise<void>} options.resolve
   */
  constructor({ database, conflict, resolve }) {
    this.conflict = conflict;
    this.resolve = resolve;
    this.isTouched = false;
    this.at = 0;
    const { merged, properties, equal } = mergeSides(conflict);
    this.properties = properties;
    /**
     * The values of the cells of each row.
     *
     * @type {any[][]}
     */
    this.offers = [];
    this.rows = properties.map((property, index) => this.row(property, index));
    const isUnknown = conflict.base === undefined, disputed = properties.filter((one) => one.isDisputed).length;
    this.text = textarea({
      rows: 12, class: "code", dir: "ltr", value: writeExact(merged),
      oninput: () => { this.isTouched = true; this.check(); },
    });
    this.preview = field({
      label: "The merged document", input: this.text, hint: "You can edit it. The console adds _id and _rev.",
    });
    this.changes = h("div");
    this.check = debounce(() => this.showChanges(), 200);
    const heads = conflict.sides.map((side, index) => h("th", { scope: "col" },
      this.sideName(index), " ", h("kbd", null, index + 1),
      h("span.code.faint", { title: side._rev }, short(side._rev))));
    this.element = h("div.column", null,
      isUnknown && note("info", "The common ancestor is not stored any more, so the console cannot tell which side "
        + "changed a property. Each difference is disputed."),
      h("p", { role: "status" }, plural(properties.length, "property differs", "properties differ"),
        `, ${disputed} disputed, ${equal} equal.`),
      properties.length > 0 && h("div.panel.scroll-x", null, h("table.sides", null,
        h("caption.unseen", null, "Properties by side"),
        h("thead", null, h("tr", null,
          h("th", { scope: "col" }, "Property"), !isUnknown && h("th", { scope: "col" }, "Ancestor"), heads)),
        h("tbody", null, this.rows))),
      this.preview,
      h("details", { ontoggle: () => this.showChanges() },
        h("summary", null, "Changes to the winner"), this.changes),
      h("div.row.resolve", null,
        mayWrite() && button({
          label: `Resolve: delete ${plural(conflict.sides.length - 1, "side")}`, icon: "check", kind: "primary",
          onclick: () => this.submit(),
        }),
        linkButton({ label: "History", icon: "history", href: link("db", database, "doc", conflict.id, "history") })));
    this.move(0);
  }

  /** @param {number} index */
  sideName(index) { return index ? `Side ${index + 1}` : "Winner"; }

  /**
   * @param {import("./load.js").Property} property
   * @param {number} index
   */
  row(property, index) {
    const { key, values, base, merged, isDisputed } = property;
    const isMixed = values.every((value) => !isEqual(value, merged));
    /** @type {any[]} */
    const offers = this.offers[index] = [];
    const cell = (/** @type {any} */ value, /** @type {string} */ side) => offers.push(value) && h("button.choice", {
      type: "button", "aria-pressed": String(isEqual(value, merged)),
      "aria-label": `${side}: ${cut(shown(value), 200)}`,
      onclick: () => { this.move(index); this.choose(value); },
    }, h("span.side", null, side), h("code", { dir: "auto" }, cut(shown(value), SHOWN)));
    return h("tr", { dataset: { state: isDisputed ? "disputed" : "merged" } },
      h("th", { scope: "row" }, h("bdi.code", null, key),
        isDisputed ? tag("disputed", "warning") : tag("merged", "success"),
        isMixed && cell(merged, "Merged")),
      this.conflict.base !== undefined && h("td", null, cell(base, "Ancestor")),
      values.map((value, side) => h("td", null, cell(value, this.sideName(side)))));
  }

  /**
   * Makes another property the current one.
   *
   * @param {number} to
   */
  move(to) {
    if (!this.rows.length) return;
    this.at = Math.max(0, Math.min(to, this.rows.length - 1));
    this.rows.forEach((row, index) => row.classList.toggle("current", index === this.at));
    if (this.element?.isConnected) this.rows[this.at].scrollIntoView({ block: "nearest" });
  }

  /**
   * Takes the value of a side for the current property, by its number from 0.
   *
   * @param {number} side
   */
  chooseSide(side) {
    const property = this.properties[this.at];
    if (property && side < property.values.length) this.choose(property.values[side]);
  }

  /** @param {any} value */
  choose(value) {
    const body = this.read();
    if (!body) { this.text.focus(); return; }
    const property = this.properties[this.at];
    this.isTouched = true;
    set(body, property.key, value);
    this.text.value = writeExact(body);
    this.showChanges();
  }

  /** The body that is in the preview; null and a message if it is no JSON object. */
  read() {
    try {
      const body = parseExact(this.text.value);
      const reserved = isObject(body) && Object.keys(body).find((key) => key.startsWith("_") && key !== "_attachments");
      this.preview.wrong = !isObject(body) ? "A document is a JSON object."
        : reserved ? `The property name ${reserved} is reserved.` : "";
      return this.preview.wrong ? null : body;
    } catch (error) {
      this.preview.wrong = `This is not JSON: ${/** @type {Error} */ (error).message}`;
      return null;
    }
  }

  /** Marks the values that the preview has, and draws the difference if it is open. */
  showChanges() {
    const body = this.read();
    if (!body) return;
    this.properties.forEach((property, index) => {
      const value = get(body, property.key);
      this.rows[index].querySelectorAll(".choice").forEach((one, at) =>
        one.setAttribute("aria-pressed", String(isEqual(this.offers[index][at], value))));
    });
    const isOpen = this.changes.closest("details")?.open;
    const winner = contentOf(this.conflict.sides[0]);
    fill(this.changes, isOpen && showExact(diffView(winner, body, { beforeLabel: "Winner", afterLabel: "Merged" })));
  }

  async submit() {
    const body = this.read();
    if (body) await this.resolve(body); else this.text.focus();
  }
}

/**
 * @param {any} value
 * @returns {string}
 */
function shown(value) { return value === undefined ? "absent" : stringifyExact(value); }
