// SPDX-License-Identifier: Apache-2.0

import { root } from "../api/client.js";
import { isDivan } from "../api/server.js";

/**
 * The source or the target of a replication: the name of a database here, a URL, or an object with a URL and
 * credentials.
 *
 * @typedef {string | {
 *   url: string, auth?: { basic?: { username: string, password: string } }, headers?: Record<string, string>,
 * }} End
 */

/**
 * The text of an end without credentials and query, to be shown. A password in which `/`, `?` or `#` is not encoded
 * stands behind the host, so all up to the last `@` is left out.
 *
 * @param {End | null | undefined} end
 * @returns {string}
 */
export function endLabel(end) {
  const raw = typeof end === "string" ? end : end?.url, text = typeof raw === "string" ? raw : "";
  // Not by `new URL`, which changes the rest of the text, and knows nothing of names.
  const scheme = /^[a-z0-9+.-]+:\/\//i.exec(text)?.[0] ?? "", rest = text.slice(scheme.length),
    at = rest.lastIndexOf("@");
  return scheme + (/[?#]/.test(rest.slice(0, at + 1)) ? "…" : rest.slice(at + 1).replace(/[?#].*$/s, ""));
}

/**
 * The name of the database here that an end means; null when it is elsewhere.
 *
 * @param {End | null | undefined} end
 * @returns {string | null}
 */
export function localName(end) {
  const text = endLabel(end);
  if (!text) return null;
  if (!text.includes("://")) return text;
  try {
    const url = new URL(text);
    const isHere = url.host === root.host || isLoopback(url.hostname) && isLoopback(root.hostname)
      && url.port === root.port;
    const words = url.pathname.slice(root.pathname.length - 1).split("/").filter(Boolean);
    return isHere && url.pathname.startsWith(root.pathname) && words.length === 1 ? decodeURIComponent(words[0]) : null;
  } catch { return null; }
}

/** @param {string} host */
const isLoopback = (host) => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);

/**
 * Whether a text can be a URL of a database elsewhere.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function isDatabaseURL(text) {
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && url.pathname.length > 1;
  } catch { return false; }
}

/**
 * The end of a database here, in the way that the server wants it: CouchDB 3 takes URLs only.
 *
 * @param {string} name
 * @returns {string}
 */
export const localEnd = (name) => isDivan() ? name : new URL(encodeURIComponent(name), root).href;

/**
 * An end with a user's name and password, or without. Credentials within a URL move to where logs do not show them.
 *
 * @param {string} text
 * @param {string} username
 * @param {string} password
 * @returns {End}
 */
export function endOf(text, username, password) {
  let place = text;
  if (text.includes("://")) {
    try {
      const url = new URL(text);
      if (url.username) {
        username ||= decodeURIComponent(url.username);
        password ||= decodeURIComponent(url.password);
        place = endLabel(text);
      }
    } catch { /* The server says what is wrong with it. */ }
  }
  return username ? { url: place, auth: { basic: { username, password } } } : place;
}

/**
 * The name that an end's credentials have, and whether there is a password.
 *
 * @param {End | null | undefined} end
 * @returns {{ username: string, hasPassword: boolean, password: string }}
 */
export function credentialsOf(end) {
  const basic = typeof end === "object" && end ? end.auth?.basic : undefined;
  if (basic) return { username: basic.username, password: basic.password, hasPassword: Boolean(basic.password) };
  try {
    const url = new URL(typeof end === "string" ? end : end?.url ?? "");
    const password = decodeURIComponent(url.password);
    return { username: decodeURIComponent(url.username), password, hasPassword: Boolean(password) };
  } catch { return { username: "", password: "", hasPassword: false }; }
}

const HIDDEN = "•••";

/**
 * A document of `_replicator` to be shown: passwords and the values of header fields are replaced.
 *
 * @param {any} document
 * @returns {any}
 */
export function withoutSecrets(document) {
  const shown = { ...document };
  for (const name of ["source", "target"]) {
    const end = shown[name];
    if (typeof end === "string") shown[name] = hideInURL(end);
    else if (end && typeof end === "object") {
      shown[name] = { ...end, url: hideInURL(end.url ?? "") };
      if (end.auth) shown[name].auth = hideTexts(end.auth, "username");
      if (end.headers) shown[name].headers = hideTexts(end.headers);
    }
  }
  for (const name of ["proxy", "source_proxy", "target_proxy"]) {
    if (typeof shown[name] === "string") shown[name] = hideInURL(shown[name]);
  }
  return shown;
}

/** @param {string} url */
function hideInURL(url) {
  const [, scheme, rest] = /^([a-z0-9+.-]+:\/\/)?(.*)$/is.exec(String(url)) ?? ["", "", ""];
  const at = rest.lastIndexOf("@"), head = rest.slice(0, at + 1),
    tail = rest.slice(at + 1).replace(/\?.*$/s, `?${HIDDEN}`);
  if (/[?#]/.test(head)) return (scheme ?? "") + HIDDEN;
  return (scheme ?? "") + head.replace(/^([^:@/]*)[:/].*@$/s, `$1:${HIDDEN}@`) + tail;
}

/**
 * @param {any} value
 * @param {string} [except]
 * @returns {any}
 */
function hideTexts(value, except) {
  if (typeof value !== "object" || value === null) return HIDDEN;
  return Object.fromEntries(Object.entries(value).map(([key, one]) =>
    [key, key === except ? one : hideTexts(one, except)]));
}
