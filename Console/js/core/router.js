// SPDX-License-Identifier: Apache-2.0

/**
 * The address of what is shown: a path and a query behind `#`, so that the console can be served from any folder.
 *
 *     #/db/notes/docs?prefix=a      pattern /db/:db/docs, params { db: "notes" }, query { prefix: "a" }
 *
 * Each state that a person would come back to, or send to another, is in the address: a view calls `setQuery` when its
 * filters change.
 *
 * @typedef {{ path: string, params: Record<string, string>, query: URLSearchParams, pattern: string }} Place
 * @typedef {{ pattern: string, load: () => Promise<{ default: import("../shell.js").View }>, section: string }} Route
 */

/**
 * The hash of a place. Words are encoded; those that are empty are left out of a query.
 *
 * `link("db", name, "docs", { prefix })`
 *
 * @param {...(string | Record<string, string | number | boolean | null | undefined>)} parts
 * @returns {string}
 */
export function link(...parts) {
  const query = new URLSearchParams();
  let path = "";
  for (const part of parts) {
    if (typeof part === "string") { path += `/${encodeURIComponent(part)}`; continue; }
    for (const [key, value] of Object.entries(part)) {
      if (value !== null && value !== undefined && value !== "" && value !== false) query.set(key, String(value));
    }
  }
  const text = query.toString();
  return `#${path || "/"}${text ? `?${text}` : ""}`;
}

/**
 * What the hash of an address says.
 *
 * @param {string} hash
 * @returns {{ words: string[], query: URLSearchParams, path: string }}
 */
export function parse(hash) {
  const text = hash.replace(/^#/, "") || "/";
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const words = path.split("/").filter(Boolean).map((word) => {
    try { return decodeURIComponent(word); } catch { return word; }
  });
  return { words, query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)), path };
}

/**
 * The route of an address, with what its placeholders stand for; null when none fits.
 *
 * @param {Route[]} routes
 * @param {string} hash
 * @returns {{ route: Route, place: Place } | null}
 */
export function match(routes, hash) {
  const { words, query, path } = parse(hash);
  for (const route of routes) {
    const pattern = route.pattern.split("/").filter(Boolean);
    if (pattern.length !== words.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    const fits = pattern.every((word, index) => {
      if (!word.startsWith(":")) return word === words[index];
      params[word.slice(1)] = words[index];
      return true;
    });
    if (fits) return { route, place: { path, params, query, pattern: route.pattern } };
  }
  return null;
}
