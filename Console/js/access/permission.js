// SPDX-License-Identifier: Apache-2.0

import { session } from "../api/server.js";
import { emptyState } from "../components/states.js";

/**
 * What a part of the console shows to a user who may not see it. Such parts ask the server nothing, since it answers
 * 401, which would look like the end of a session.
 *
 * @param {string} what
 * @returns {HTMLElement}
 */
export function notPermitted(what) {
  const { name, roles } = session.value ?? { name: null, roles: [] };
  const as = name === null ? "You are not signed in."
    : `You are signed in as ${name}, ${roles.length ? `with the roles ${roles.join(", ")}` : "without roles"}.`;
  return emptyState({ icon: "lock", title: "Only for server administrators", text: `${what} ${as}` });
}

/**
 * Whether the server asks no client for a name.
 *
 * @returns {boolean}
 */
export function isOpenToAll() { return session.value?.name === null && session.value.isAdmin; }
