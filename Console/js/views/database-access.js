// SPDX-License-Identifier: Apache-2.0

import { configuration } from "../access/accounts.js";
import { listField } from "../access/list-field.js";
import { isOpenToAll } from "../access/permission.js";
import { levelTag, meaning, readPolicy, readSecurity, rightsOf } from "../access/security.js";
import { openNote } from "../access/users.js";
import { api, path } from "../api/client.js";
import { mayWrite, session } from "../api/server.js";
import { button, linkButton } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { jsonView } from "../components/json-view.js";
import { menuButton } from "../components/menu.js";
import { loading, note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";

await useStyle("access");

/** @typedef {import("../access/security.js").Security} Security */

/** @type {import("../shell.js").View} */
export default {
  title: ({ params }) => `Access of ${params.db}`,
  crumbs: ({ params }) => databaseCrumbs(params.db, { label: "Access" }),
  render: (ctx) => {
    const { db } = ctx.params, { signal } = ctx;
    /** @type {HTMLElement & { reload: () => Promise<void> }} */
    const body = loading({
      signal, load: async () => {
        // Only administrators see the configuration; for others counts what holds as long as nothing is set.
        const [object, configured] = await Promise.all([api.get(path(db, "_security"), { signal }),
          session.value?.isAdmin ? configuration(signal).catch(() => ({})) : {}]);
        return { object, policy: readPolicy(configured) };
      },
      render: ({ object, policy }) => {
        const { element, store } = editor(ctx, object, policy, () => body.reload());
        save = store;
        return element;
      },
    });
    let save = async () => {};
    keys(signal, { "mod+s": ["Save the access", () => save()] });
    return h("div.view.access", null, databaseTabs(db, "access"),
      h("h1.unseen", null, `Access to ${db}`), isOpenToAll() && openNote(), body);
  },
};

/**
 * The lists of a security object, with what they mean.
 *
 * @param {import("../shell.js").Context} ctx
 * @param {any} object
 * @param {import("../access/security.js").Policy} policy
 * @param {() => any} reload
 */
function editor(ctx, object, policy, reload) {
  const { db } = ctx.params, stored = readSecurity(object);
  const user = session.value ?? { name: null, roles: [] }, own = rightsOf(db, stored, user, policy);
  const mayEdit = mayWrite() && own.level === "admin";
  const words = h("div.body.column", { "aria-live": "polite" });
  const lists = /** @type {const} */ (["admins", "members"]).flatMap((group) =>
    /** @type {const} */ (["names", "roles"]).map((kind) => ({
      group, kind, line: listField({
        label: kind === "names" ? "Names" : "Roles", values: stored[group][kind], disabled: !mayEdit,
        onchange: () => show(),
      }),
    })));
  /** @returns {Security} */
  const current = () => {
    const security = readSecurity({});
    for (const { group, kind, line } of lists) security[group][kind] = line.values;
    return security;
  };
  const isChanged = () => JSON.stringify(current()) !== JSON.stringify(stored);

  const show = () => {
    const now = current(), { admins, members, note: text, kind } = meaning(db, now, policy), changed = isChanged();
    fill(words, h("dl.facts", null,
      h("dt", null, "Administer"), h("dd", null, admins), h("dt", null, "Read and write"), h("dd", null, members)),
    text && note(kind, text));
    save.disabled = undo.disabled = !changed;
    ctx.guard(changed ? () => ask({
      title: "Leave without saving?", action: "Leave without saving", danger: true,
      message: "Your changes to the access of the database are not saved.",
    }) : null);
  };
  /** @param {Security} security */
  const put = (security) => {
    for (const { group, kind, line } of lists) line.values = security[group][kind];
    show();
  };

  let isStoring = false;
  const store = async () => {
    if (isStoring) return;
    isStoring = true;
    try { await storeOnce(); } finally { isStoring = false; }
  };
  const storeOnce = async () => {
    const next = current();
    if (!mayEdit || !isChanged()) return;
    fill(wrong);
    if (rightsOf(db, next, user, policy).level !== "admin" && !await ask({
      title: "Give up your administrator rights?", danger: true, action: "Save the access",
      message: "You will no longer administer this database, so you cannot undo this.",
    })) return;
    // What the object says beside the lists is kept. CouchDB 1 called the members readers.
    const { readers, ...rest } = object;
    const changed = {
      ...rest, admins: { ...object.admins, ...next.admins }, members: { ...object.members ?? readers, ...next.members },
    };
    try {
      // A security object has no revision by which the server could refuse to replace what another client has saved.
      const now = await api.get(path(db, "_security"), { signal: ctx.signal });
      if (JSON.stringify(now) !== JSON.stringify(object)) {
        fill(wrong, note("danger", "Another client has changed this access. Your changes are not saved. ",
          "Reload the access, then make them again. ",
          button({ label: "Reload the access", icon: "refresh", kind: "small", onclick: reload })));
        return;
      }
      await api.put(path(db, "_security"), changed, { signal: ctx.signal });
      ctx.guard(null);
      toast(`Saved the access of ${db}.`);
      await reload();
    } catch (error) { fill(wrong, note("danger", /** @type {Error} */ (error).message)); }
  };
  const wrong = h("div");
  const save = button({ label: "Save the access", icon: "save", kind: "primary", onclick: store });
  const undo = button({ label: "Undo the changes", icon: "undo", onclick: () => put(stored) });
  const both = (/** @type {import("../access/security.js").Group} */ group) => ({ admins: group, members: group });
  const template = menuButton({
    label: "Use a template", icon: "down", items: () => [
      { label: "Server administrators only", call: () => put(both({ names: [], roles: ["_admin"] })) },
      { label: policy.isForAll ? "Every client" : "Every signed-in user", call: () => put(readSecurity({})) },
      user.name !== null && { label: "Only you", call: () => put(both({ names: [String(user.name)], roles: [] })) },
    ],
  });
  const panel = (/** @type {string} */ group, /** @type {string} */ title, /** @type {string} */ hint) =>
    h("section.panel", null, h("header", null, h("h2", null, title), h("p.soft.small", null, hint)),
      h("div.body.column", null, lists.filter((one) => one.group === group).map(({ line }) => line)));
  const toRights = linkButton({
    label: "User permissions", icon: "search", kind: "plain", href: link("access", { part: "rights" }),
  });
  show();
  const element = [
    h("section.panel", null,
      h("header", null, h("h2", null, "Who may use this database"),
        h("span.push.row", null, h("span.soft.small", { title: own.why }, "You: "), levelTag(own.level))), words),
    h("div.grid.halves", null, panel("members", "Members", "read and write documents"),
      panel("admins", "Administrators", "also change design documents, settings and this access")),
    wrong,
    mayEdit ? h("div.row", null, save, undo, template, session.value?.isAdmin && toRights)
      : note("info", mayWrite() ? "Only administrators of this database can change its access."
        : "This server is read-only."),
    h("details.raw", null, h("summary", null, "Security object as JSON"), jsonView(object)),
  ];
  return { element, store };
}
