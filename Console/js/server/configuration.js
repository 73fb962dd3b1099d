// SPDX-License-Identifier: Apache-2.0

import { configuration, CONFIGURATION, deleteKey, setKey } from "../access/accounts.js";
import { api } from "../api/client.js";
import { isDivan, mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { ask, openDialog, Refusal } from "../components/dialog.js";
import { checkbox, field, input, searchField, select, textarea } from "../components/field.js";
import { emptyState, loading, note, tag } from "../components/states.js";
import { toast, toastError } from "../components/toast.js";
import { debounce, fill, h } from "../core/dom.js";
import { keys } from "../core/keys.js";
import { isSecret, KNOWN, known, refusal } from "./keys-known.js";

/** @typedef {Record<string, Record<string, string>>} Table */

/**
 * The keys of the configuration, to read and to change.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function configurationPart(ctx) {
  const rows = h("div");
  /** @type {Table} */
  let table = {};
  const body = loading({ signal: ctx.signal, class: "flush", load: () => configuration(ctx.signal),
    render: (answer) => { table = answer; draw(); return rows; } });
  const filter = searchField({ placeholder: "Filter sections, keys and values", value: ctx.query.get("filter") ?? "",
    oninput: debounce(() => draw()) });
  const unset = checkbox("Show keys that are not set",
    { checked: ctx.query.get("unset") === "true", onchange: () => draw() });
  keys(ctx.signal, { "/": ["Find a key", () => filter.input.focus()] });

  const draw = () => {
    const text = filter.input.value.toLowerCase(), showsUnset = unset.input.checked;
    ctx.setQuery({ part: "configuration", filter: filter.input.value, unset: showsUnset });
    /** @type {Map<string, [key: string, text: string | undefined][]>} */
    const sections = new Map();
    const add = (/** @type {string} */ section, /** @type {string} */ key, /** @type {string | undefined} */ value) => {
      const all = `${section}/${key} ${isSecret(section, key) ? "" : value ?? ""} ${known(section, key)?.means ?? ""}`;
      if (all.toLowerCase().includes(text)) sections.set(section, [...sections.get(section) ?? [], [key, value]]);
    };
    for (const [section, keys] of Object.entries(table)) {
      for (const [key, value] of Object.entries(keys)) add(section, key, value);
    }
    for (const { section, key } of showsUnset ? KNOWN : []) {
      if (table[section]?.[key] === undefined) add(section, key, undefined);
    }
    const byName = (/** @type {[string, any]} */ [a], /** @type {[string, any]} */ [b]) => a < b ? -1 : 1;
    fill(rows, sections.size
      ? [...sections].sort(byName).map(([section, keys]) => h("section", null,
        h("h3.section", null, section),
        h("ul.rows", { "aria-label": section },
          keys.sort(byName).map(([key, value]) => row(section, key, value, body.reload)))))
      : emptyState({ icon: "search", title: "No matching keys",
        text: "Keys that are not set are hidden unless you choose to show them." }));
  };

  return [
    h("section.panel", null, h("header", null, h("h2", null, "Configuration"), filter, unset,
      mayWrite() && h("span.row.push", null,
        button({ title: "Reload the configuration files", icon: "refresh", kind: "plain",
          onclick: () => api.post(`${CONFIGURATION}/_reload`).then(() => body.reload(), toastError) }),
        button({ label: "Set a key", icon: "add", kind: "primary",
          onclick: () => edit("", "", undefined, body.reload) }))), body),
    note("info", "Changes apply from the next request. Secrets and hashes are hidden.",
      isDivan() && [" Keys marked “no effect” are stored for programs that set up a CouchDB; ",
        "the options of divan serve apply instead."]),
  ];
}

/**
 * @param {string} section
 * @param {string} key
 * @param {string | undefined} text
 * @param {() => any} reload
 */
function row(section, key, text, reload) {
  const about = known(section, key), isIdle = isDivan() && !about
    && !["admins", "jwt_keys", "jwt_auth", "cors", "vendor"].includes(section) && text !== undefined;
  return h("li", null, h("div.column.tight", null, h("code.strong", null, key),
    about && h("span.soft.small", null, `${about.means}.`)),
    h("code.grow", { class: text === undefined ? "faint" : "" },
      text === undefined ? "not set" : text === "-given-" ? "set by the host program"
        : isSecret(section, key) ? "••••••••" : text),
    isIdle && tag("no effect"),
    mayWrite() && text !== "-given-" && h("span.row.nowrap", null,
      button({ title: `Change ${section}/${key}`, icon: "edit", kind: "plain small",
        onclick: () => edit(section, key, text, reload) }),
      text !== undefined && button({ title: `Delete ${section}/${key}`, icon: "delete", kind: "plain small",
        onclick: () => remove(section, key, reload) })));
}

/**
 * Asks for a value, with what it decides and what it was.
 *
 * @param {string} section
 * @param {string} key
 * @param {string | undefined} text
 * @param {() => any} reload
 */
async function edit(section, key, text, reload) {
  const isNew = !key, about = known(section, key), secret = isSecret(section, key), kind = about?.kind ?? "text";
  const sectionBox = input({ value: section, placeholder: "chttpd" }),
    keyBox = input({ value: key, placeholder: "enable_cors" });
  const words = kind === "flag" ? ["true", "false"] : Array.isArray(kind) ? kind : null;
  const choices = [...new Set([...text ? [text] : [], ...words ?? []])].map((value) => ({ value, label: value }));
  const box = words ? select(choices, text ?? words[0])
    : secret && section !== "jwt_keys" ? input({ type: "password", autocomplete: "new-password", autofocus: true })
      : kind === "count" ? input({ value: text ?? "", inputmode: "numeric", autofocus: true })
        : textarea({ value: secret ? "" : text ?? "", rows: 2 });
  const line = field({ label: isNew ? "Value" : "New value", input: box, hint: about && `${about.means}.` });
  const kept = checkbox("Keep the value after a restart", { checked: true });
  const done = await openDialog({
    title: isNew ? "Set a key" : `Change ${section}/${key}`, action: isNew ? "Set the key" : "Change the key",
    body: [isNew && [field({ label: "Section", input: sectionBox }), field({ label: "Key", input: keyBox })],
      text !== undefined && !secret && h("p.soft", null, "Current value: ", h("code", null, text)), line, kept,
      about?.isRisky && note("warning",
        "This decides who can sign in. Test it in another window before you close this one.")],
    submit: async () => {
      const [inSection, ofKey] = isNew ? [sectionBox.value.trim(), keyBox.value.trim()] : [section, key];
      line.wrong = !inSection || !ofKey ? "Enter a section and a key." : refusal(known(inSection, ofKey), box.value);
      if (line.wrong) throw new Refusal();
      try { await setKey(inSection, ofKey, box.value, kept.input.checked); } catch (error) {
        line.wrong = /** @type {Error} */ (error).message;
        throw new Refusal();
      }
      toast(`Set ${inSection}/${ofKey}.`);
      return true;
    },
  });
  if (done) await reload();
}

/**
 * @param {string} section
 * @param {string} key
 * @param {() => any} reload
 */
async function remove(section, key, reload) {
  const done = await ask({
    title: `Delete ${section}/${key}?`, danger: true, action: "Delete the key", perform: () => deleteKey(section, key),
    message: section === "admins" ? `The administrator ${key} can no longer sign in.`
      : "The server uses the default from the next request.",
  });
  if (!done) return;
  toast(`Deleted ${section}/${key}.`);
  await reload();
}
