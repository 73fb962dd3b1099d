// SPDX-License-Identifier: Apache-2.0

/**
 * The number before the hyphen of a revision; 0 where there is none.
 *
 * @param {any} rev
 * @returns {number}
 */
export function generation(rev) { return Number.parseInt(rev, 10) || 0; }

/** The number that a sequence begins with: `5202-x2294q2` of CouchDB 2 and later, `5202` of others. */
export const sequenceNumber = generation;

/**
 * A revision with eight characters behind its number, which tell it from the others of its document.
 *
 * @param {string} rev
 * @returns {string}
 */
export function short(rev) { return rev.slice(0, rev.indexOf("-") + 9); }

/**
 * Sorts leaves as CouchDB chooses the winner: live ones first, then the longest history, then the greatest ID.
 *
 * @param {{ _rev: string, _deleted?: boolean }} a
 * @param {{ _rev: string, _deleted?: boolean }} b
 * @returns {number}
 */
export function byWinner(a, b) {
  return Number(!!a._deleted) - Number(!!b._deleted)
    || generation(b._rev) - generation(a._rev) || (a._rev < b._rev ? 1 : -1);
}

/**
 * The revisions that a leaf names in `_revisions`, itself first.
 *
 * @param {any} leaf
 * @returns {string[]}
 */
export function pathOf(leaf) {
  const { start, ids } = leaf._revisions ?? { start: generation(leaf._rev), ids: [leaf._rev.replace(/^\d+-/, "")] };
  return ids.map((/** @type {string} */ one, /** @type {number} */ index) => `${start - index}-${one}`);
}
