// SPDX-License-Identifier: Apache-2.0

import { signOut } from "../api/server.js";
import { button } from "../components/button.js";
import { menuButton } from "../components/menu.js";
import { toastError } from "../components/toast.js";
import { h } from "../core/dom.js";
import { showKeys } from "./keys.js";

/**
 * Who is signed in, and what the user chooses for all of the console.
 *
 * @param {import("../api/server.js").Session | null} value
 * @returns {import("../core/dom.js").Children}
 */
export function account(value) {
  const who = value?.name
    ? menuButton({
      label: value.name, icon: "user", kind: "plain small",
      items: () => [{
        label: "Sign out", icon: "signOut",
        call: () => signOut().then(() => location.reload()).catch(toastError),
      }],
    })
    : value?.isAdmin && h("span.tag.wide-only", {
      title: "Every program on this machine has full access to this server without signing in.",
    }, "No sign-in required");
  const scheme = menuButton({
    title: "Light or dark", icon: "scheme", kind: "plain small",
    items: () => [["auto", "Same as the system"], ["light", "Light"], ["dark", "Dark"]].map(([name, label]) => ({
      label, checked: readScheme() === name,
      call: () => { localStorage.setItem("divan.scheme", name); applyScheme(name); },
    })),
  });
  return [who, scheme, button({
    title: "Keyboard shortcuts", icon: "menu", kind: "plain small", onclick: () => { showKeys(); },
    props: { class: "wide-only" },
  })];
}

/** @returns {string} */
function readScheme() { return localStorage.getItem("divan.scheme") ?? "auto"; }

/**
 * Shows the console light or dark, or as the system wants it.
 *
 * @param {string} scheme
 */
export function applyScheme(scheme = readScheme()) {
  if (scheme === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}
