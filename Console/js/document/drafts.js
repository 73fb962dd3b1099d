// SPDX-License-Identifier: Apache-2.0

/**
 * Unsaved work, kept in the browser: it outlives a reload, a crash and a closed window.
 *
 * @typedef {{ rev: string, base: string, text: string, time: number }} Draft `base` is the text of revision `rev`;
 *   empty when there was no room for it.
 */
const PREFIX = "divan.draft:";
const MOST = 50;
const LONGEST = 2_000_000;
const OLDEST = 90 * 86400e3;

/**
 * @param {string} database
 * @param {string} id
 * @returns {string}
 */
const keyOf = (database, id) => PREFIX + JSON.stringify([database, id]);

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
 * @param {string} database
 * @param {string} id
 * @returns {Draft | null}
 */
export function draftOf(database, id) { return read(keyOf(database, id)); }

/**
 * Keeps a draft. Drafts of three months ago go first; those that are newer are never given up for room.
 *
 * @param {string} database
 * @param {string} id
 * @param {Omit<Draft, "time">} draft
 * @returns {string} Why it could not be kept; empty when it is.
 */
export function keepDraft(database, id, draft) {
  const own = keyOf(database, id), time = Date.now();
  try {
    const others = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX) && key !== own);
    let size = draft.text.length, number = 0;
    for (const key of others) {
      const other = read(key);
      if (!other || time - other.time > OLDEST) { localStorage.removeItem(key); continue; }
      size += other.text.length + other.base.length;
      number += 1;
    }
    if (number >= MOST) return `There are drafts of ${MOST} other documents already.`;
    if (size > LONGEST) return "The drafts in this browser are larger than two million characters.";
    const base = size + draft.base.length > LONGEST ? "" : draft.base;
    try { localStorage.setItem(own, JSON.stringify({ ...draft, base, time })); } catch {
      localStorage.setItem(own, JSON.stringify({ ...draft, base: "", time }));
    }
    return "";
  } catch { return "The browser has no room for it, or keeps nothing for this page."; }
}

/**
 * @param {string} database
 * @param {string} id
 */
export function dropDraft(database, id) {
  try { localStorage.removeItem(keyOf(database, id)); } catch {
    // A browser that keeps nothing has nothing to remove.
  }
}
