// SPDX-License-Identifier: Apache-2.0

import { isDivan, mayWrite, session } from "../api/server.js";
import { button, linkButton } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { searchField } from "../components/field.js";
import { menuButton } from "../components/menu.js";
import { emptyState, loading, note, tag } from "../components/states.js";
import { toast } from "../components/toast.js";
import { debounce, h } from "../core/dom.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { configuration, deleteKey, deleteUser, PREFIX, userDocuments } from "./accounts.js";
import { createDialog, passwordDialog, rolesDialog } from "./user-dialogs.js";

/** @typedef {import("./accounts.js").Doc} Doc */

const PAGE = 50;

/**
 * Who may sign in: administrators of the configuration, and users with a document in `_users`.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function usersPart(ctx) {
  const { signal } = ctx;
  const at = { prefix: ctx.query.get("filter") ?? "", from: ctx.query.get("from") ?? "" };
  const reload = () => { admins.reload(); list.reload(); };
  const admins = loading({ signal, bars: 1, class: "body flush",
    load: async () => Object.entries((await configuration(signal)).admins ?? {}),
    render: (rows) => adminRows(rows, reload) });
  const list = loading({ signal, class: "body flush", load: () => userDocuments({ ...at, limit: PAGE + 1 }, signal),
    render: (docs) => page(docs) });

  /**
   * @param {string} prefix
   * @param {string} [from]
   */
  const show = (prefix, from = "") => {
    Object.assign(at, { prefix, from });
    ctx.setQuery({ part: "users", filter: prefix, from });
    list.reload();
  };
  const filter = searchField({
    placeholder: "Filter by beginning of name", value: at.prefix, oninput: debounce(() => show(filter.input.value)),
  });
  keys(signal, { "/": ["Find a user", () => filter.input.focus()] });

  /**
   * @param {Doc[]} docs
   * @returns {import("../core/dom.js").Children}
   */
  const page = (docs) => {
    const rest = docs[PAGE];
    if (!docs.length) {
      return at.prefix
        ? emptyState({ icon: "user", title: "No matching users", text: "Upper and lower case count." })
        : emptyState({ icon: "user", title: "No users yet",
          text: "A user signs in with a name and a password. Roles give access to databases." });
    }
    return [h("ul.rows", { "aria-label": "Users" }, docs.slice(0, PAGE).map((doc) => userRow(doc, reload))),
      (at.from || rest) && h("div.row.pages", null,
        at.from && button({ label: "First page", icon: "back", kind: "small", onclick: () => show(at.prefix) }),
        rest && button({ label: "Next page", icon: "next", kind: "small",
          onclick: () => show(at.prefix, rest._id.slice(PREFIX.length)) }))];
  };

  const create = mayWrite() && button({ label: "New user", icon: "add", kind: "primary push",
    onclick: () => createDialog(signal).then((made) => { if (made) reload(); }) });
  return [
    h("section.panel", null, h("header", null, h("h2", null, "Users"), filter, create), list),
    h("section.panel", null, h("header", null, h("h2", null, "Administrators of the server")), admins,
      h("p.body.soft.small", null, "From the configuration, ", h("code", null, "_node/_local/_config/admins"),
        isDivan() ? [". You can also add one with ", h("code", null, "divan users --add NAME --admin"), " or ",
          h("code", null, "divan serve --user NAME:PASSWORD"),
          ". Other users that divan users has created can sign in as well, but are not listed here."] : ".")),
  ];
}

/**
 * @param {[string, string][]} rows
 * @param {() => any} reload
 */
function adminRows(rows, reload) {
  if (!rows.length) return h("p.body.soft", null, "No administrators in the configuration.");
  return h("ul.rows", { "aria-label": "Administrators" }, rows.map(([name, text]) => h("li", null,
    h("bdi.strong.grow", null, name), name === session.value?.name && tag("you", "info"),
    text === "-given-" ? tag("set by the host program") : mayWrite() && menuButton({
      title: `What to do with ${name}`, kind: "plain small", items: () => [
        { label: "Change the password", icon: "key", call: () => passwordDialog(name, true).then(reload) },
        { label: "Delete", icon: "delete", danger: true,
          call: () => removeAdmin(name).then((done) => done && reload()) },
      ],
    }))));
}

/**
 * @param {Doc} doc
 * @param {() => any} reload
 */
function userRow(doc, reload) {
  const name = String(doc.name ?? doc._id.slice(PREFIX.length));
  const roles = Array.isArray(doc.roles) ? doc.roles.map(String) : [];
  return h("li", null,
    h("a.strong", { href: link("access", { part: "rights", as: name }), title: "Permissions of this user" },
      h("bdi", null, name)),
    h("span.row.grow", null, roles.map((role) => h("span.tag.accent", null, h("bdi", null, role))),
      !roles.length && h("span.faint.small", null, "no roles")),
    doc._conflicts && tag("conflicting revisions", "danger"),
    !doc.derived_key && tag("no password", "warning"),
    doc.derived_key && isDivan() && doc.pbkdf2_prf !== "sha256"
      && h("span", { title: "The password is hashed with SHA-1. Set a new one." }, tag("cannot sign in", "warning")),
    menuButton({
      title: `What to do with ${name}`, kind: "plain small", items: () => [
        { label: "Show the permissions", icon: "search",
          call: () => { location.hash = link("access", { part: "rights", as: name }); } },
        { label: "Show the document", icon: "document",
          call: () => { location.hash = link("db", "_users", "doc", doc._id); } },
        ...(mayWrite() ? /** @type {import("../components/menu.js").MenuItem[]} */ (["line",
          { label: "Change the roles", icon: "edit",
            call: () => rolesDialog(name, roles, doc._rev).then((isOther) => isOther && reload()) },
          { label: "Change the password", icon: "key",
            call: () => passwordDialog(name, false).then((done) => done && reload()) },
          { label: "Delete", icon: "delete", danger: true,
            call: () => removeUser(doc, name).then((isOther) => isOther && reload()) }]) : []),
      ],
    }));
}

/**
 * @param {Doc} doc
 * @param {string} name
 * @returns {Promise<boolean>} Whether the account is another now than the list shows.
 */
async function removeUser(doc, name) {
  let isOld = false;
  const done = await ask({
    title: `Delete the user ${name}?`, danger: true, action: "Delete the user",
    perform: () => deleteUser(doc, name).catch((error) => { isOld ||= error.status === 409; throw error; }),
    message: "The user can no longer sign in, and open sessions end. The access of databases keeps the name.",
  });
  if (done) toast(`Deleted the user ${name}.`);
  return done || isOld;
}

/** @param {string} name */
async function removeAdmin(name) {
  const isOwn = name === session.value?.name;
  const done = await ask({
    title: `Delete the administrator ${name}?`, danger: true, action: "Delete the administrator",
    typed: isOwn ? name : undefined, perform: () => deleteKey("admins", name),
    message: isOwn ? note("warning", "This is your account: you will no longer be able to sign in.")
      : "The administrator can no longer sign in, and open sessions end.",
  });
  if (done) toast(`Deleted the administrator ${name}.`);
  return done;
}

/** Says that users and permissions have no effect yet. */
export const openNote = () => note("info",
  "This server requires no sign-in: every program on this machine has full access. ",
  "Users and permissions take effect once the server is started with users. ",
  linkButton({ label: "About the server", href: "#/server?part=about", kind: "small plain" }));
