// SPDX-License-Identifier: Apache-2.0

import { freshID, h } from "../core/dom.js";
import { segments } from "../components/button.js";
import { field, input } from "../components/field.js";
import { credentialsOf, endLabel, endOf, isDatabaseURL, localEnd, localName } from "./ends.js";

/** @typedef {import("./ends.js").End} End */

/**
 * The fields of a source or a target: a database of this server, or a URL with a name and a password.
 *
 * @param {object} options
 * @param {string} options.label
 * @param {End | undefined} options.end What it was.
 * @param {string[]} options.databases
 * @param {boolean} options.mayBeNew Whether the database may be one that is not there yet.
 * @param {() => void} options.onchange
 */
export function endField({ label, end, databases, mayBeNew, onchange }) {
  const before = endLabel(end), local = end === undefined ? "" : localName(end), kept = credentialsOf(end);
  let isHere = local !== null;
  const listID = freshID();
  const name = input({ value: local ?? "", list: listID, placeholder: mayBeNew ? "notes-copy" : "notes" });
  const url = input({ type: "url", value: local === null ? before : "",
    placeholder: "https://couch.example.org:6984/notes", inputmode: "url" });
  const user = input({ value: kept.username });
  const password = input({ type: "password", autocomplete: "new-password",
    placeholder: kept.hasPassword ? "kept unless you enter another" : "" });
  const lines = { name: field({ label: "Database", input: name }),
    url: field({ label: "URL of the database", input: url }) };
  const login = h("div.sync-columns", null, field({ label: "User (optional)", input: user }),
    field({ label: "Password", input: password }));
  const asUser = h("p.small.soft", null, "The server opens its own databases as this user. Without one, it opens those "
    + "that are open to all.");
  const show = () => {
    lines.name.hidden = !isHere;
    lines.url.hidden = isHere;
    // CouchDB reaches its own databases by HTTP, too, as a user.
    login.hidden = isHere && localEnd("a") === "a";
    asUser.hidden = !isHere || login.hidden;
  };
  const kind = segments({
    label: `Where the ${label.toLowerCase()} is`, kind: "small", value: isHere ? "here" : "elsewhere",
    options: [{ value: "here", label: "On this server" }, { value: "elsewhere", label: "Elsewhere" }],
    onchange: (value) => { isHere = value === "here"; show(); onchange(); },
  });
  show();
  for (const one of [name, url, user, password]) one.addEventListener("input",
    () => { lines.name.wrong = lines.url.wrong = ""; onchange(); });
  const element = h("fieldset.panel", null, h("div.body.end", null,
    h("div.row.spread", null, h("legend", null, label), kind),
    lines.name, lines.url, login, asUser,
    h("datalist", { id: listID }, databases.map((value) => h("option", { value })))));

  /** @returns {End} */
  const read = () => {
    const text = isHere ? name.value.trim() && localEnd(name.value.trim()) : url.value.trim();
    const isSame = text === before || isHere && name.value.trim() === local;
    // A kept password goes nowhere but to where it was for.
    const secret = password.value || (isSame && user.value === kept.username ? kept.password : "");
    const made = endOf(text, login.hidden ? "" : user.value, secret);
    return isSame && typeof end === "object"
      ? { ...end, ...(typeof made === "string" ? { url: made, auth: undefined } : made) } : made;
  };
  return {
    element, read,
    /** The database here that is named; null for one elsewhere. */
    get local() { return isHere ? name.value.trim() : null; },
    /** @param {string} text */
    set wrong(text) { (isHere ? lines.name : lines.url).wrong = text; },
    /** What is wrong with it, or "". */
    check: () => {
      if (!isHere) return isDatabaseURL(url.value.trim()) ? ""
        : "Enter a URL that begins with http:// or https:// and ends with the database's name.";
      if (!name.value.trim()) return "Choose a database.";
      return mayBeNew || !databases.length || databases.includes(name.value.trim()) ? ""
        : "This server has no such database.";
    },
  };
}
