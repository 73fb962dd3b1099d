// SPDX-License-Identifier: Apache-2.0

import { checkbox, field, input } from "../components/field.js";
import { workRegion } from "../components/progress.js";
import { emptyState, note } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { link } from "../core/router.js";
import { allSecurity, configuration, userDocument, userDocuments } from "./accounts.js";
import { listField } from "./list-field.js";
import { levelTag, readPolicy, readSecurity, rightsOf } from "./security.js";

/** @typedef {import("./security.js").User} User */

/**
 * What a user, or a client without a name, may do in each database, and why.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function rightsPart(ctx) {
  const { signal } = ctx;
  const name = input({ value: ctx.query.get("as") ?? "", placeholder: "ann", oninput: debounce(() => choose(), 300) });
  const known = h("datalist", { id: "known-users" });
  name.setAttribute("list", known.id);
  const roles = listField({ label: "Roles", values: [],
    hint: "From the user's document. A token or a proxy can give others: add them to see what they allow.",
    onchange: () => show() });
  const nameless = checkbox("Anonymous client",
    { checked: ctx.query.get("nameless") === "true", onchange: () => choose() });
  const line = field({ label: "User", input: name }), found = h("p.soft.small", { "aria-live": "polite" }),
    result = h("div");
  /** @type {{ databases: { database: string, object: any }[], table: any } | null} */
  let all = null;

  /** Takes the roles of the user who is named. */
  const choose = async () => {
    const text = name.value.trim(), isNameless = nameless.input.checked;
    name.disabled = isNameless;
    roles.hidden = isNameless;
    ctx.setQuery({ part: "rights", as: text, nameless: isNameless });
    if (!all) return;
    fill(found);
    if (text && !isNameless) {
      let trouble = "";
      const doc = await userDocument(text, signal).catch((error) => { trouble = error.message; return null; });
      if (signal.aborted || text !== name.value.trim()) return;
      const isAdmin = all.table.admins?.[text] !== undefined;
      roles.values = isAdmin ? ["_admin"] : doc && Array.isArray(doc.roles) ? doc.roles : [];
      if (isAdmin) fill(found, "This is a server administrator.");
      else if (trouble) fill(found, `Cannot read the roles of this user. ${trouble}`);
      else if (!doc) fill(found, "No document in _users has this name. ",
        "A token, a proxy or the host program can define such a user: add the roles.");
    }
    show();
  };

  const show = () => {
    const text = name.value.trim();
    if (!all) return;
    fill(result, text || nameless.input.checked
      ? table(all, { name: nameless.input.checked ? null : text, roles: nameless.input.checked ? [] : roles.values })
      : emptyState({ icon: "user", title: "Enter a user name",
        text: "You then see what the user may do in each database, and which name or role allows it." }));
  };

  userDocuments({ limit: 200 }, signal)
    .then((docs) => fill(known, docs.map((doc) => h("option", { value: String(doc.name) })))).catch(() => {});
  return [
    h("section.panel", null, h("header", null, h("h2", null, "User permissions")),
      h("div.body.column", null, h("div.grid", null, h("div.column.tight", null, line, nameless, found), roles),
        known)),
    h("section.panel", null, workRegion(signal, async (stop, line) => {
      const [databases, table] = await Promise.all([allSecurity(stop, line.count),
        configuration(stop).catch(() => ({}))]);
      all = { databases, table };
      await choose();
      return result;
    })),
    note("info", "This follows from the _security objects. ",
      "A paired device uses only the databases that it was paired for. ",
      "A validate_doc_update function can reject single writes, ",
      "and the host program can have more rules, such as to hide documents. ",
      "Only administrators of a database change its design documents and settings."),
  ];
}

/**
 * @param {{ databases: { database: string, object: any }[], table: any }} all
 * @param {User} user
 */
function table({ databases, table: configured }, user) {
  const policy = readPolicy(configured);
  const rows = databases.map(({ database, object }) => ({
    database, rights: object ? rightsOf(database, readSecurity(object), user, policy)
      : { level: /** @type {const} */ ("none"), why: "The server did not return the _security object." },
  }));
  const open = rows.filter(({ rights }) => rights.level === "member" || rights.level === "admin").length;
  return [
    h("p.body.strong", { role: "status" },
      `${user.name ?? "An anonymous client"} may use ${count(open)} of ${count(rows.length)} databases`),
    h("div.scroll-x", null, h("table.table.rights", null,
      h("thead", null, h("tr", null, ["Database", "Allows", "Reason"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, rows.map(({ database, rights: { level, why } }) => h("tr", null,
        h("td", null, h("a", { href: link("db", database, "access") }, h("bdi", null, database))),
        h("td", null, levelTag(level)), h("td.soft", null, why)))))),
  ];
}
