// SPDX-License-Identifier: Apache-2.0

import { followChanges } from "../api/changes.js";
import { api, ApiError, documentPath } from "../api/client.js";
import { note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { short } from "../core/revision.js";
import { setMode, showBase } from "./layout.js";
import { tellNewer } from "./others.js";
import { load } from "./store.js";

/** What other writers do to a document that is open, and a server that goes away. */

/** @typedef {import("./page.js").DocumentPage} Page */

/**
 * Follows the feed, to learn of revisions of other writers.
 *
 * @param {Page} page
 */
export async function follow(page) {
  if (page.isFollowing) return;
  page.isFollowing = true;
  await followChanges(page.database, {
    signal: page.ctx.signal, query: { filter: "_doc_ids", doc_ids: [page.id] },
    onChange: ({ changes, deleted }) => {
      const change = { rev: changes[0]?.rev ?? "", isDeleted: deleted === true };
      if (page.working > 0) page.pending = change; else heard(page, change);
    },
  });
}

/**
 * Takes the newest revision as the base, with the text of the editor kept when it has changed.
 *
 * @param {Page} page
 * @param {string | null} rev A revision of the page's own; null for one of another writer.
 */
export async function revise(page, rev) {
  const { editor } = page;
  if (!editor) return;
  if (rev) page.ownRevs.add(rev);
  const fresh = await load(page.database, page.id, { signal: page.ctx.signal }).catch(() => null);
  // The page may have saved meanwhile: an answer from before that says nothing.
  if (!fresh || rev && parseInt(fresh.rev) < parseInt(page.base.rev)) return;
  const isOther = fresh.rev !== page.base.rev && !page.ownRevs.has(fresh.rev);
  if (isOther && page.isChanged && fresh.text !== page.base.text) {
    page.newer = fresh.rev;
    tellNewer(page);
    return;
  }
  // What is stored differs by the order of properties at most from what was just saved: the user's text stays as it
  // was typed.
  const isTyped = !isOther && rev !== null;
  if (!isTyped && !page.isChanged) editor.text = fresh.text;
  page.base = isTyped ? { ...fresh, text: page.base.text } : fresh;
  if (page.isReading) setMode(page, true);
  showBase(page);
}

/**
 * Takes notice of a revision that the page did not save.
 *
 * @param {Page} page
 * @param {{ rev: string, isDeleted: boolean }} change
 */
export async function heard(page, { rev, isDeleted }) {
  page.pending = undefined;
  if (rev === page.base.rev || page.ownRevs.has(rev) || !page.base.rev) return;
  if (isDeleted && !page.isChanged) { await page.openAbsent(new ApiError(404, "not_found", "deleted", "")); return; }
  if (isDeleted) {
    page.newer = rev;
    page.tell("newer", note("warning", "Another writer deleted this document while you edit it. "
      + "Your text stays here. Save it to bring the document back."));
    return;
  }
  const isChanged = page.isChanged;
  await revise(page, null);
  if (!isChanged && page.base.rev === rev) {
    toast(`Another writer saved revision ${short(rev)}, which is shown now.`, { kind: "info" });
  }
}

/**
 * The server has gone away, or answers again.
 *
 * @param {Page} page
 * @param {boolean} answers
 */
export async function reached(page, answers) {
  if (!answers) {
    page.wasAway = true;
    page.tell("away", page.isChanged
      ? note("warning", "The server does not answer. Your unsaved changes stay here and are kept in this browser.")
      : null);
    return;
  }
  const { wasAway } = page;
  page.wasAway = false;
  page.tell("away");
  if (!wasAway || page.isNew || page.shownRev || !page.base.rev) return;
  // The feed goes on from now: what happened meanwhile is asked for.
  const headers = await api.head(documentPath(page.database, page.id), { signal: page.ctx.signal }).catch(() => null);
  const rev = headers?.get("ETag")?.replace(/"/g, "");
  if (rev) heard(page, { rev, isDeleted: false });
}
