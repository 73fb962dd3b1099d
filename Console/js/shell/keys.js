// SPDX-License-Identifier: Apache-2.0

import { openDialog } from "../components/dialog.js";
import { field, input } from "../components/field.js";
import { h } from "../core/dom.js";
import { listed } from "../core/keys.js";
import { link } from "../core/router.js";

/** What lists and grids understand besides the keys of a view. */
const GRIDS = [["ArrowUp ArrowDown", "Move in a list"], ["PageUp PageDown Home End", "Move far in a list"],
  ["Enter", "Open the current line"], ["Space", "Select the current line"],
  ["Escape", "Close a dialog or a menu, or clear the selection"]];

/** Shows the keys of the current view. */
export function showKeys() {
  openDialog({
    title: "Keyboard shortcuts",
    body: h("table.table", null, h("tbody", null,
      [...listed().map(({ keys, does }) => [keys, does]), ...GRIDS].map(([keys, does]) => h("tr", null,
        h("td", null, keys.split(/[ +]/).map((key) => [h("kbd", null, key === "mod" ? "Ctrl" : key), " "])),
        h("td", null, does))))),
  });
}

/** Asks for a database and opens it. */
export function goTo() {
  const name = input({ placeholder: "notes" });
  openDialog({
    title: "Go to a database", action: "Open the database", body: field({ label: "Database", input: name }),
    submit: () => { if (name.value) location.hash = link("db", name.value, "docs"); },
  });
}
