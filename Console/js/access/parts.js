// SPDX-License-Identifier: Apache-2.0

import { session } from "../api/server.js";
import { linkTabs } from "../components/tabs.js";
import { h } from "../core/dom.js";
import { link } from "../core/router.js";
import { notPermitted } from "./permission.js";

/**
 * @typedef {import("../shell.js").Context} Context
 *
 * @typedef {object} Part
 * @property {string} part Its word in the address, `?part=…`.
 * @property {string} label
 * @property {import("../components/icon.js").IconName} icon
 * @property {(ctx: Context) => import("../core/dom.js").Children} render
 * @property {string} [role] Which role may see it beside `_admin`; `*` is for every user.
 * @property {boolean} [isFull] It scrolls inside.
 */

/**
 * A view of some parts, of which the address names one. Without a name it is the first one that the user may see.
 *
 * @param {{ place: string, label: string, parts: Part[], refusal: string, above?: () => any }} options
 * @returns {import("../shell.js").View}
 */
export function viewOfParts({ place, label, parts, refusal, above }) {
  const mayShow = (/** @type {Part} */ { role }) => role === "*" || session.value?.isAdmin
    || (role !== undefined && session.value?.roles.includes(role));
  const chosen = (/** @type {Context} */ { query }) => parts.find(({ part }) => part === query.get("part"))
    ?? parts.find(mayShow) ?? parts[0];
  return {
    title: (ctx) => chosen(ctx).label,
    crumbs: (ctx) => [{ label, href: link(place) }, { label: chosen(ctx).label }],
    render: (ctx) => {
      const current = chosen(ctx);
      return h("div.view", { class: `${place} ${current.isFull ? "full" : ""}` },
        h("div.head", null, h("h1", null, label)),
        linkTabs({ label: `Parts of ${label}`,
          tabs: parts.map((one) => ({ label: one.label, icon: one.icon, href: link(place, { part: one.part }),
          isCurrent: one === current })) }),
        above?.(), mayShow(current) ? current.render(ctx) : notPermitted(refusal));
    },
  };
}
