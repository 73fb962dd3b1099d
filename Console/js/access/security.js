// SPDX-License-Identifier: Apache-2.0

import { isDivan } from "../api/server.js";
import { tag } from "../components/states.js";

/**
 * Who may use a database, by its `_security` and a user's name and roles, as CouchDB and Divan decide it.
 *
 * @typedef {{ names: string[], roles: string[] }} Group
 * @typedef {{ admins: Group, members: Group }} Security
 * @typedef {{ name: string | null, roles: string[] }} User
 * @typedef {{ isForAll: boolean, requiresUser: boolean }} Policy Who may use a database without members.
 * @typedef {"none" | "own" | "member" | "admin"} Level
 * @typedef {{ level: Level, why: string }} Rights
 */

/** What the levels are called. */
const LEVELS = /** @type {const} */ ({
  none: ["No access", ""], own: ["Own document", "info"], member: ["Read and write", "success"],
  admin: ["Administer", "accent"],
});

/** @param {Level} level */
export const levelTag = (level) => tag(LEVELS[level][0], LEVELS[level][1]);

const SYSTEM = ["_users", "_replicator", "_global_changes"];
const lists = new Intl.ListFormat("en");

/**
 * Names in a sentence keep their own direction.
 *
 * @param {string} text
 */
const isolate = (text) => `\u2068${text}\u2069`;

/**
 * The parts of a security object that count. What has another form counts as empty.
 *
 * @param {any} object
 * @returns {Security}
 */
export function readSecurity(object) {
  const texts = (/** @type {any} */ value) =>
    Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  const group = (/** @type {any} */ value) => ({ names: texts(value?.names), roles: texts(value?.roles) });
  return { admins: group(object?.admins), members: group(object?.members ?? object?.readers) };
}

/**
 * What the configuration says about clients; without one, what holds unless it says otherwise.
 *
 * @param {any} configuration
 * @returns {Policy}
 */
export function readPolicy(configuration) {
  const isForAll = ["everyone", "admin_local"].includes(configuration?.couchdb?.default_security);
  const sections = ["chttpd", "httpd", "chttpd_auth", "couch_httpd_auth"];
  return {
    isForAll: isForAll || !isDivan(),
    requiresUser: sections.some((name) => configuration?.[name]?.require_valid_user === "true"),
  };
}

/** @param {Group} group */
const isEmpty = (group) => !group.names.length && !group.roles.length;

/**
 * What lets a user into a group, in words; null when nothing does.
 *
 * @param {Group} group
 * @param {User} user
 * @returns {string | null}
 */
function entry(group, user) {
  if (user.name !== null && group.names.includes(user.name)) return `the name ${isolate(user.name)}`;
  const role = user.roles.find((one) => group.roles.includes(one));
  return role === undefined ? null : `the role ${isolate(role)}`;
}

/**
 * What a user may do in a database, and by what.
 *
 * @param {string} database
 * @param {Security} security
 * @param {User} user
 * @param {Policy} policy
 * @returns {Rights}
 */
export function rightsOf(database, security, user, policy) {
  if (user.roles.includes("_admin")) return { level: "admin", why: "Server administrators have full access." };
  if (user.name === null && policy.requiresUser) {
    return { level: "none", why: "The server requires every client to sign in (require_valid_user)." };
  }
  const asAdmin = entry(security.admins, user);
  const asMember = isEmpty(security.members) ? null : entry(security.members, user);
  if (SYSTEM.includes(database) && (isDivan() || database === "_users")) {
    return database === "_users" && user.name !== null
      && (asAdmin || asMember || isEmpty(security.members) && !isEmpty(security.admins))
      ? { level: "own", why: "Users can read and change only their own account." }
      : { level: "none", why: "Only server administrators use this database." };
  }
  if (asAdmin) return { level: "admin", why: `By ${asAdmin}, among the administrators of the database.` };
  if (asMember) return { level: "member", why: `By ${asMember}, among the members.` };
  if (!isEmpty(security.members)) {
    return { level: "none", why: user.name === null && !user.roles.length
      ? "The database has members, and an anonymous client is none of them."
      : "Neither this user nor one of the roles is a member." };
  }
  if (policy.isForAll) return { level: "member", why: "The database has no members, so every client can use it." };
  return user.name === null ? { level: "none", why: "The database has no members, so every signed-in user can use it." }
    : { level: "member", why: "The database has no members, so every signed-in user can use it." };
}

/**
 * @param {Group} group
 * @returns {string[]}
 */
const people = ({ names, roles }) =>
  [...roles.filter((role) => role !== "_admin").map((role) => `everyone with the role ${isolate(role)}`),
    ...names.map(isolate)];

/**
 * What a security object means: who is in each group, such as "the administrators, everyone with the role staff, and
 * ann", and what follows from the whole.
 *
 * @param {string} database
 * @param {Security} security
 * @param {Policy} policy
 * @returns {{ admins: string, members: string, note: string, kind: "info" | "warning" }}
 */
export function meaning(database, { admins, members }, policy) {
  const all = policy.isForAll && !policy.requiresUser ? "every client, even without signing in"
    : "every signed-in user";
  const isSystem = SYSTEM.includes(database) && isDivan();
  const isClosed = !isEmpty(members) && !people(members).length && !people(admins).length;
  let note = "";
  if (isSystem) {
    note = `Only server administrators use ${database}, whatever is set here.`
      + (database === "_users" ? " Users see and change their own account." : "");
  } else if (isClosed) note = "Only server administrators may use this database.";
  else if (isEmpty(members)) {
    note = `${all[0].toUpperCase()}${all.slice(1)}, may read and write this database.`.replace("user,", "user")
      + (isEmpty(admins) ? "" : " Administrators alone do not restrict it: add members, too.");
  }
  return {
    admins: lists.format(["server administrators", ...people(admins)]),
    members: isEmpty(members) ? all : lists.format(["the administrators", ...people(members)]),
    note, kind: isEmpty(members) && !isSystem && all.startsWith("every client") ? "warning" : "info",
  };
}
