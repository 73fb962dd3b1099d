// SPDX-License-Identifier: Apache-2.0

import { Signal } from "../core/signal.js";
import { api, hooks } from "./client.js";

/**
 * What the console knows about the server and the user: asked when it starts, and again after signing in.
 *
 * @typedef {{ version: string, vendor: { name: string, version?: string }, features: string[], uuid: string }} Welcome
 * @typedef {{
 *   name: string | null, roles: string[], isAdmin: boolean, isRequired: boolean, handlers: string[],
 * }} Session
 */

/**
 * What `GET /` says.
 *
 * @type {Signal<Welcome | null>}
 */
export const server = new Signal(/** @type {Welcome | null} */ (null));

/**
 * Who uses the console.
 *
 * @type {Signal<Session | null>}
 */
export const session = new Signal(/** @type {Session | null} */ (null));

/**
 * Whether the server answered the last request.
 *
 * @type {Signal<boolean>}
 */
export const isReachable = new Signal(true);

hooks.reachable = (answers) => { isReachable.value = answers; };

/**
 * Whether the server is a Divan, which has more than CouchDB's API.
 *
 * @returns {boolean}
 */
export function isDivan() { return server.value?.vendor?.name === "Divan"; }

/**
 * What the server is called, for a person.
 *
 * @returns {string}
 */
export function serverName() {
  const name = server.value?.vendor?.name ?? "CouchDB";
  return name === "The Apache Software Foundation" ? "CouchDB" : name;
}

/**
 * Whether the server says that it can do something, such as `search`.
 *
 * @param {string} name
 * @returns {boolean}
 */
export function has(name) { return server.value?.features?.includes(name) ?? false; }

/**
 * Whether the server answers searches in text indexes of a kind. A CouchDB has a service of its own for each.
 *
 * @param {"search" | "nouveau"} kind
 * @returns {boolean}
 */
export function searches(kind) { return has(kind) || isDivan() && has("search"); }

/**
 * Whether the console may offer to change something: the server takes writes.
 *
 * @returns {boolean}
 */
export function mayWrite() { return !has("read-only"); }

/** Asks the server who it is and who this is. */
export async function refresh() {
  // A CouchDB with `require_valid_user` says nothing to others, not even who they are.
  const unlessRefused = (/** @type {any} */ error) => { if (error.status === 401) return null; throw error; };
  server.value = await api.get("/").catch(unlessRefused);
  const answer = await api.get("/_session").catch(unlessRefused);
  const { name, roles } = answer?.userCtx ?? { name: null, roles: [] };
  const isAdmin = roles.includes("_admin");
  session.value = {
    name,
    roles,
    isAdmin,
    isRequired: name === null && !isAdmin,
    handlers: answer?.info?.authentication_handlers ?? [],
  };
}

/**
 * @param {string} name
 * @param {string} password
 */
export async function signIn(name, password) {
  await api.post("/_session", { name, password });
  await refresh();
}

export async function signOut() {
  await api.delete("/_session");
  // What this user wrote and did not save is not for the next one at this browser.
  for (const key of Object.keys(localStorage)) if (key.startsWith("divan.draft:")) localStorage.removeItem(key);
  await refresh();
}
