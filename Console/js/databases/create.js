// SPDX-License-Identifier: Apache-2.0

import { api, path } from "../api/client.js";
import { openDialog, Refusal } from "../components/dialog.js";
import { checkbox, field, input } from "../components/field.js";
import { h } from "../core/dom.js";

/**
 * Why a database cannot have a name, by CouchDB's rule; empty when it can.
 *
 * @param {string} name
 * @param {Set<string>} taken
 * @returns {string}
 */
function reasonAgainst(name, taken) {
  if (taken.has(name)) return "A database with this name exists.";
  if (/^[a-z][a-z0-9_$()+/-]*$/.test(name)) return name.length > 238 ? "A name has at most 238 characters." : "";
  if (/[A-Z]/.test(name)) return "Use lowercase letters only.";
  if (!/^[a-z]/.test(name)) return "Begin with a letter from a to z.";
  const [wrong] = /** @type {RegExpMatchArray} */ (name.match(/[^a-z0-9_$()+/-]/u));
  const what = /\s/.test(wrong) ? "A space" : `The character ${wrong}`;
  return `${what} is not allowed. Use a to z, 0 to 9 and _ $ ( ) + - /.`;
}

/**
 * Asks for the name of a new database and creates it.
 *
 * @param {Set<string>} taken
 * @param {AbortSignal} signal
 * @returns {Promise<string | undefined>} Its name.
 */
export function createDatabase(taken, signal) {
  const box = input({ placeholder: "notes", dir: "ltr", autofocus: true,
    oninput: () => { line.wrong = box.value ? reasonAgainst(box.value, taken) : ""; } });
  const line = field({ label: "Name", input: box,
    hint: "It begins with a letter. Lowercase letters, digits and _ $ ( ) + - / may follow. "
      + "You cannot rename it later." });
  const partitioned = checkbox("Partitioned");
  return openDialog({
    title: "New database", action: "Create the database", signal,
    body: [line, h("div.column.tight", null, partitioned,
      h("p.small.soft", null, "Each document ID then begins with a partition and a colon, such as ",
        h("code", null, "oslo:order-17"),
        ". Queries of one partition read only that part. You cannot change this later."))],
    submit: async () => {
      line.wrong = box.value ? reasonAgainst(box.value, taken) : "Type a name.";
      if (line.wrong) { box.focus(); throw new Refusal(); }
      await api.put(path(box.value), undefined, { query: partitioned.input.checked ? { partitioned: true } : {} });
      return box.value;
    },
  });
}
