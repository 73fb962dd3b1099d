// SPDX-License-Identifier: Apache-2.0

/**
 * Unsaved work, kept in the browser: it outlives a reload, a crash and a closed window. Each page that is opened has a
 * draft of its own, so that two tabs with the same document keep both texts.
 *
 * @typedef {{ rev: string, base: string, text: string, time: number }} Draft `base` is the text of revision `rev`;
 *   empty when there was no room for it.
 */
const PREFIX = "divan.draft:";
const LOCK = "divan.tab:";
const MOST = 50;
const LONGEST = 2_000_000;
const OLDEST = 90 * 86400e3;

/** What this tab is called. Reloading keeps the name; a duplicated tab finds its lock held, and takes another. */
const tab = await nameTab();

/** @returns {Promise<string>} */
async function nameTab() {
  let name = "";
  try { name = sessionStorage.getItem(LOCK) ?? ""; } catch { /* Such a browser keeps no drafts either. */ }
  if (!name || !await lock(name)) {
    name = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
    await lock(name);
  }
  try { sessionStorage.setItem(LOCK, name); } catch { /* As above. */ }
  return name;
}

/**
 * Holds the lock of a tab as long as the page lives. A reloaded page may have to wait for the one before it.
 *
 * @param {string} name
 * @returns {Promise<boolean>}
 */
function lock(name) {
  return new Promise((resolve) => {
    // Browsers have locks on secure pages only. Without them other tabs' drafts are offered, too.
    if (!navigator.locks) { resolve(true); return; }
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    navigator.locks.request(LOCK + name, { signal: stop.signal }, () => {
      resolve(true);
      return new Promise(() => {});
    }).catch(() => resolve(false));
  });
}

/** @returns {string[]} */
function allKeys() {
  try { return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX)); } catch { return []; }
}

/**
 * @param {string} key
 * @returns {string[]} Database, ID, and tab.
 */
function partsOf(key) { try { return JSON.parse(key.slice(PREFIX.length)); } catch { return []; } }

/**
 * @param {string} key
 * @returns {Draft | null}
 */
function read(key) {
  try {
    const draft = JSON.parse(localStorage.getItem(key) ?? "null");
    return draft && ["rev", "base", "text"].every((name) => typeof draft[name] === "string") ? draft : null;
  } catch { return null; }
}

/**
 * The key of a new draft.
 *
 * @param {string} database
 * @param {string} id
 * @returns {string}
 */
export function newDraft(database, id) { return PREFIX + JSON.stringify([database, id, tab, Date.now()]); }

/**
 * Whether there is unsaved work on a document, in this tab or another one.
 *
 * @param {string} database
 * @param {string} id
 * @returns {boolean}
 */
export function hasDrafts(database, id) { return keysOf(database, id).length > 0; }

/**
 * @param {string} database
 * @param {string} id
 * @returns {string[]}
 */
function keysOf(database, id) {
  return allKeys().filter((key) => {
    const [itsDatabase, itsID] = partsOf(key);
    return itsDatabase === database && itsID === id;
  });
}

/**
 * The drafts of a document that no other open tab has, the newest first.
 *
 * @param {string} database
 * @param {string} id
 * @returns {Promise<(Draft & { key: string })[]>}
 */
export async function freeDrafts(database, id) {
  const held = (await navigator.locks?.query())?.held ?? [], names = new Set(held.map(({ name }) => name));
  return keysOf(database, id).flatMap((key) => {
    const owner = partsOf(key)[2], draft = owner === tab || !names.has(LOCK + owner) ? read(key) : null;
    return draft ? [{ ...draft, key }] : [];
  }).sort((a, b) => b.time - a.time);
}

/**
 * Keeps a draft. Drafts of three months ago go first; those that are newer are never given up for room.
 *
 * @param {string} own Its key.
 * @param {Omit<Draft, "time">} draft
 * @returns {string} Why it could not be kept; empty when it is.
 */
export function keepDraft(own, draft) {
  const time = Date.now();
  try {
    let size = draft.text.length, number = 0;
    for (const key of allKeys()) {
      if (key === own) continue;
      const other = read(key);
      if (!other || time - other.time > OLDEST) { localStorage.removeItem(key); continue; }
      size += other.text.length + other.base.length;
      number += 1;
    }
    if (number >= MOST) return `It already keeps ${MOST} drafts.`;
    if (size > LONGEST) return "Its drafts have more than two million characters together.";
    const base = size + draft.base.length > LONGEST ? "" : draft.base;
    try { localStorage.setItem(own, JSON.stringify({ ...draft, base, time })); } catch {
      localStorage.setItem(own, JSON.stringify({ ...draft, base: "", time }));
    }
    return "";
  } catch { return "It has no storage left, or allows this page none."; }
}

/** @param {string} key */
export function dropDraft(key) {
  try { localStorage.removeItem(key); } catch {
    // A browser that keeps nothing has nothing to remove.
  }
}
