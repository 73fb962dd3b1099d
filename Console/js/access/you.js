// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { mayWrite, session, signOut } from "../api/server.js";
import { button } from "../components/button.js";
import { loading, tag } from "../components/states.js";
import { toastError } from "../components/toast.js";
import { h } from "../core/dom.js";
import { passwordDialog } from "./user-dialogs.js";

/** How the server has recognised a user, by the word that it says. */
const METHODS = new Map([
  ["cookie", "a session, started with a name and a password"], ["default", "a name and a password in each request"],
  ["jwt", "a token"], ["proxy", "a proxy in front of the server"], ["certificate", "a client certificate"],
  ["device", "the key of a paired device"],
]);

/**
 * The session that the console has.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
export function youPart({ signal }) {
  return h("section.panel", null, h("header", null, h("h2", null, "Your session")), loading({
    signal, class: "body column", load: () => api.get("/_session", { signal }), render: ({ userCtx, info }) => {
      const by = info?.authenticated;
      const line = (/** @type {string} */ label, /** @type {import("../core/dom.js").Children[]} */ ...value) =>
        [h("dt", null, label), h("dd", null, value)];
      return [
        h("dl.facts", null,
          line("Name", userCtx.name === null ? h("span.soft", null, "none") : h("bdi.strong", null, userCtx.name)),
          line("Roles", userCtx.roles.length ? h("span.row", null,
            userCtx.roles.map((/** @type {string} */ role) => tag(role, role === "_admin" ? "accent" : "")))
            : h("span.soft", null, "none")),
          line("Authenticated by", METHODS.get(by) ?? by ?? (session.value?.isAdmin
            ? "nothing: this server requires no sign-in" : "nothing")),
          line("The server accepts", session.value?.handlers.map((one) => METHODS.get(one) ?? one).join("; ")),
          line("Accounts in", h("code", null, info?.authentication_db ?? "_users"))),
        userCtx.name !== null && h("div.row", null,
          by === "cookie" && button({ label: "Sign out", icon: "signOut",
            onclick: () => signOut().then(() => location.reload(), toastError) }),
          mayWrite() && !session.value?.isAdmin
            && button({ label: "Change the password", icon: "key",
            onclick: () => passwordDialog(userCtx.name, false) })),
        by && by !== "cookie"
          && h("p.soft.small", null,
          "The console cannot sign you out: the browser, or a proxy, authenticates each request."),
      ];
    },
  }));
}
