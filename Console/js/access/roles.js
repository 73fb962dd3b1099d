// SPDX-License-Identifier: Apache-2.0

import { workRegion } from "../components/progress.js";
import { emptyState, note } from "../components/states.js";
import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { link } from "../core/router.js";
import { allSecurity, userDocuments } from "./accounts.js";
import { readSecurity } from "./security.js";

/** So many users are looked at for their roles. */
const MOST = 1000;
const KNOWN = new Map([
  ["_admin", "The role of server administrators. As a member role it closes a database to all others."],
  ["_metrics", "Gives access to the metrics of the server and nothing else. A token or a proxy can assign it."],
]);

/**
 * The roles that occur, with their users and databases.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function rolesPart({ signal }) {
  return h("section.panel", null, h("header", null, h("h2", null, "Roles"),
    h("p.soft.small", null, "Assign a role to users, then name it in the access of a database.")),
    workRegion(signal, async (stop, line) => {
      const [users, databases] = await Promise.all([userDocuments({ limit: MOST + 1 }, stop),
        allSecurity(stop, line.count)]);
      return [users.length > MOST && note("warning", `Only the first ${plural(MOST, "user")} are included.`),
        table(gather(users.slice(0, MOST), databases))];
    }));
}

/**
 * @typedef {{ users: string[], admins: string[], members: string[] }} Uses
 *
 * @param {import("./accounts.js").Doc[]} users
 * @param {{ database: string, object: any }[]} databases
 * @returns {Map<string, Uses>}
 */
function gather(users, databases) {
  /** @type {Map<string, Uses>} */
  const uses = new Map();
  const of = (/** @type {string} */ role) => {
    let one = uses.get(role);
    if (!one) uses.set(role, one = { users: [], admins: [], members: [] });
    return one;
  };
  for (const { name, roles } of users) {
    for (const role of Array.isArray(roles) ? roles : []) of(String(role)).users.push(String(name));
  }
  for (const { database, object } of databases) {
    const { admins, members } = readSecurity(object);
    for (const role of admins.roles) of(role).admins.push(database);
    for (const role of members.roles) of(role).members.push(database);
  }
  return new Map([...uses].sort(([a], [b]) => a < b ? -1 : 1));
}

/** @param {Map<string, Uses>} uses */
function table(uses) {
  if (!uses.size) {
    return emptyState({ icon: "key", title: "No roles yet" });
  }
  const heads = ["Role", "Users", "Administers", "Member of"];
  const toDatabase = (/** @type {string} */ name) => link("db", name, "access");
  return h("div.scroll-x", null, h("table.table", null,
    h("thead", null, h("tr", null, heads.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, [...uses].map(([role, { users, admins, members }]) => h("tr", null,
      h("td", null, h("bdi.strong", null, role), KNOWN.has(role) && h("p.soft.small", null, KNOWN.get(role))),
      h("td", null, some(users, (name) => link("access", { part: "rights", as: name }))),
      h("td", null, some(admins, toDatabase)), h("td", null, some(members, toDatabase)))))));
}

/**
 * The first names as links, and how many more there are.
 *
 * @param {string[]} names
 * @param {(name: string) => string} href
 */
function some(names, href) {
  if (!names.length) return h("span.faint", null, "none");
  return h("span.row", null, names.slice(0, 5).map((name) => h("a", { href: href(name) }, h("bdi", null, name))),
    names.length > 5 && h("span.soft", null, `and ${names.length - 5} more`));
}
