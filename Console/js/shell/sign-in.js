// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { serverName, session, signIn } from "../api/server.js";
import { openDialog } from "../components/dialog.js";
import { field, input } from "../components/field.js";
import { h } from "../core/dom.js";

/**
 * The form that asks for a name and a password before anything else.
 *
 * @param {() => void} then
 * @returns {HTMLFormElement}
 */
export function signInForm(then) {
  const name = input({ name: "name", autocomplete: "username", required: true });
  const password = input({ name: "password", type: "password", autocomplete: "current-password", required: true });
  const line = field({ label: "Password", input: password });
  const submit = h("button.button.primary", { type: "submit" }, "Sign in");
  return h("form.panel", {
    onsubmit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      submit.disabled = true;
      line.wrong = "";
      try {
        await signIn(name.value, password.value);
        then();
      } catch (error) {
        line.wrong = /** @type {Error} */ (error).message;
      } finally {
        submit.disabled = false;
      }
    },
  },
  h("div.row", null,
    h("img", { src: "icon.svg", alt: "", width: 32, height: 32 }),
    h("h1", null, `Sign in to ${serverName()}`)),
  field({ label: "Name", input: name }), line, submit);
}

let isAsking = false;

/** Asks the user to sign in again where the session has ended: what is on the page stays. */
export async function askToSignIn() {
  if (isAsking || !session.value?.name || document.querySelector(".gate")) return;
  isAsking = true;
  try {
    // A server answers 401 also where a user who is signed in lacks a right: then the session has not ended.
    const name = await api.get("/_session").then((answer) => answer.userCtx.name, (error) => {
      if (error.status === 401) return null;
      throw error;
    });
    if (name === null) await showSessionEnd();
  } catch { /* The banner tells that the server does not answer. */ } finally { isAsking = false; }
}

async function showSessionEnd() {
  const name = input({ autocomplete: "username", value: session.value?.name ?? "" });
  const password = input({ type: "password", autocomplete: "current-password" });
  await openDialog({
    title: "Your session has ended", action: "Sign in",
    body: [
      h("p", null, "Sign in again to go on. Nothing on this page is lost."),
      field({ label: "Name", input: name }),
      field({ label: "Password", input: password }),
    ],
    submit: () => signIn(name.value, password.value),
  });
}
