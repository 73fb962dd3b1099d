// SPDX-License-Identifier: Apache-2.0

import { button } from "../components/button.js";
import { diffView } from "../components/diff.js";
import { openDialog } from "../components/dialog.js";
import { parseExact, showExact, writeExact } from "../components/json-text.js";
import { note } from "../components/states.js";
import { fill, freshID, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { get, merge3, set } from "../core/merge.js";
import { short } from "../core/revision.js";

/**
 * Shows what differs between two texts.
 *
 * @param {string} before
 * @param {string} after
 * @param {{ beforeLabel: string, afterLabel: string }} labels
 * @returns {HTMLElement}
 */
export function differenceOf(before, after, labels) {
  return showExact(diffView(parseExact(before), parseExact(after), labels));
}

/**
 * Merges the text of the user with that of another writer. What only one of them changed is taken over; where both
 * changed a property, the user chooses.
 *
 * @param {{ base: string, mine: string, theirs: string, theirRev: string, signal: AbortSignal }} sides
 * @returns {Promise<string | undefined>} The merged text; undefined when the user goes on editing.
 */
export function openMerge({ base, mine, theirs, theirRev, signal }) {
  const theirValue = parseExact(theirs);
  const { merged, conflicts } = merge3(parseExact(base), parseExact(mine), theirValue);
  const takesTheirs = conflicts.map(() => false);
  const result = () => {
    let value = structuredClone(merged);
    conflicts.forEach((conflict, index) => {
      value = put(value, conflict.path, takesTheirs[index] ? conflict.theirs : conflict.mine);
    });
    return value;
  };
  const preview = h("div");
  const show = () => fill(preview, showExact(diffView(theirValue, result(), {
    beforeLabel: `Revision ${short(theirRev)}`, afterLabel: "Merged document",
  })));
  const rows = conflicts.map((conflict, index) => conflictRow(conflict, (isTheirs) => {
    takesTheirs[index] = isTheirs;
    show();
  }));
  const all = (/** @type {boolean} */ isTheirs) => {
    for (const row of rows) row.choose(isTheirs);
    takesTheirs.fill(isTheirs);
    show();
  };
  show();
  return openDialog({
    title: "Merge with the other revision", wide: true, action: "Save the merged document", signal,
    body: [
      conflicts.length
        ? note("warning", `Another writer saved revision ${short(theirRev)}. `
          + `${plural(conflicts.length, "property", "properties")} changed on both sides: choose which value to save. `
          + "All other changes of both sides are kept.")
        : note("success", `Another writer saved revision ${short(theirRev)}. `
          + "Your changes and theirs are to different properties, so both are kept."),
      conflicts.length > 1 && h("div.row", null,
        button({ label: "Use all of your values", kind: "small", onclick: () => all(false) }),
        button({ label: "Use all of their values", kind: "small", onclick: () => all(true) })),
      ...rows,
      h("h3", null, "Changes to their revision"), preview,
    ],
    submit: () => writeExact(result()),
  });
}

/**
 * @param {import("../core/merge.js").Conflict} conflict
 * @param {(isTheirs: boolean) => void} onChoose
 * @returns {HTMLElement & { choose: (isTheirs: boolean) => void }}
 */
function conflictRow({ path, base, mine, theirs }, onChoose) {
  const name = freshID();
  const option = (/** @type {string} */ label, /** @type {any} */ value, /** @type {boolean} */ isTheirs) => {
    const box = h("input", { type: "radio", name, checked: !isTheirs, onchange: () => onChoose(isTheirs) });
    return {
      box,
      element: h("label.merge-side", null, h("span.row", null, box, h("strong", null, label)), shown(value)),
    };
  };
  const own = option("Yours", mine, false), other = option("Theirs", theirs, true);
  const row = h("fieldset.merge-row", null,
    h("legend", null,
      h("code", null, path.map((part) => part === "" ? '""' : part).join(" › ") || "The whole document")),
    h("div.merge-sides", null, own.element, other.element),
    h("details.small.soft", null, h("summary", null, "Value before both changes"), shown(base)));
  return Object.assign(row, {
    choose: (/** @type {boolean} */ isTheirs) => { (isTheirs ? other : own).box.checked = true; },
  });
}

/**
 * @param {any} value
 * @returns {HTMLElement}
 */
function shown(value) {
  return value === undefined ? h("em.soft", null, "No value") : h("pre", { dir: "auto" }, writeExact(value));
}

/**
 * Sets what is at a path.
 *
 * @param {any} value
 * @param {(string | number)[]} path
 * @param {any} item
 * @returns {any}
 */
function put(value, path, item) {
  if (!path.length) return item;
  let place = value;
  for (const key of path.slice(0, -1)) place = get(place, String(key));
  set(place, String(path[path.length - 1]), item);
  return value;
}
