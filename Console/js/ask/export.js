// SPDX-License-Identifier: Apache-2.0

import { numberOf, plain } from "../components/json-text.js";
import { asText, valueAt } from "./rows.js";

/**
 * Rows as CSV of RFC 4180, which holds the values exactly.
 *
 * A spreadsheet takes a cell that begins with `=`, `+`, `-`, `@`, a tab or a line end for a formula, and a formula of a
 * hostile document could read other cells or open an address. With `isSafe` an apostrophe goes before such a text,
 * which spreadsheets show as text; the value is then no longer exact, so that the user chooses. Numbers stay as they
 * are.
 *
 * @param {import("./rows.js").Result} result
 * @param {boolean} isSafe
 * @returns {string}
 */
export function toCSV({ items, columns }, isSafe) {
  const cell = (/** @type {any} */ value) => {
    let text = asText(value);
    if (isSafe && numberOf(value) === undefined && /^[=+\-@\t\r\n]/.test(text)) text = `'${text}`;
    return /[",\r\n]|^\s|\s$|^'/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map(plain), ...items.map((item) => columns.map((column) => valueAt(item, column)))]
    .map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
