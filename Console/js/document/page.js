// SPDX-License-Identifier: Apache-2.0

import { ApiError } from "../api/client.js";
import { isReachable, mayWrite } from "../api/server.js";
import { errorState, loadingState, note } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { keys } from "../core/keys.js";
import { short } from "../core/revision.js";
import { dropDraft, hasDrafts, newDraft } from "./drafts.js";
import { follow, heard, reached } from "./feed.js";
import { show, update } from "./layout.js";
import { deletedState, missingState } from "./missing.js";
import { tellCarried } from "./own.js";
import { save } from "./saving.js";
import { empty, load, loadDeleted, loadWhole } from "./store.js";
import { keepNow } from "./unsaved.js";

/** @typedef {import("./store.js").Stored} Stored */

/**
 * The page of a document.
 *
 * ## Invariants
 *
 * 1. `base` is the stored revision that the text in the editor was made from; a save is based on its `rev`.
 * 2. Text that differs from that of `base` is in a draft, or a guard asks before the page is left.
 * 3. `newer` is a revision that another writer saved after `base`, or null.
 */
export class DocumentPage {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.database = ctx.params.db;
    this.isNew = ctx.params.id === "_new";
    this.id = ctx.params.id;
    this.shownRev = ctx.query.get("rev") ?? "";
    this.isReadOnly = !mayWrite() || this.shownRev !== "";
    /** @type {Stored} */
    this.base = empty(this.isNew ? "" : this.id);
    /** @type {string | null} */
    this.newer = null;
    /** Where the browser keeps what is not saved. */
    this.draft = newDraft(this.database, this.id);
    /** Changes of the panel's or the page's own that are on their way. */
    this.working = 0;
    /** @type {Set<string>} */
    this.ownRevs = new Set();
    this.isOffering = this.isSaving = this.isFollowing = this.wasAway = false;
    /** @type {import("../components/json-editor.js").JSONEditor | undefined} */
    this.editor = undefined;
    /** @type {HTMLElement | undefined} What shows the document as a tree. */
    this.reader = undefined;
    /** @type {AbortController | undefined} Ends what the tree does. */
    this.turn = undefined;
    /** @type {HTMLInputElement | undefined} */
    this.idField = undefined;
    /** @type {ReturnType<typeof import("./functions.js").functionsPanel> | null} */
    this.functions = null;
    /** @type {import("./attachments.js").AttachmentsPanel | null} */
    this.attachments = null;
    /** @type {HTMLElement | undefined} */
    this.facts = undefined;
    /** @type {HTMLButtonElement | null} */
    this.saveButton = null;
    /** @type {HTMLButtonElement | null} */
    this.reviewButton = null;
    /** @type {{ rev: string, isDeleted: boolean } | undefined} */
    this.pending = undefined;
    this.isReading = ctx.query.get("mode") === "read";
    this.head = h("div.head");
    this.notes = h("div.column");
    this.body = h("div.document-body", null, loadingState());
    this.element = h("div.view.document", null, this.head, this.notes, this.body);
    this.keep = debounce(() => keepNow(this), 300);
    keys(ctx.signal, { "mod+s": ["Save the document", () => save(this)] });
    ctx.signal.addEventListener("abort", () => keepNow(this), { once: true });
    window.addEventListener("pagehide", () => keepNow(this), { signal: ctx.signal });
    isReachable.follow((answers) => reached(this, answers), ctx.signal);
    this.open();
  }

  get isChanged() { return this.editor !== undefined && !this.isReadOnly && this.editor.text !== this.base.text; }

  /** Loads what the address names and shows it. */
  async open() {
    const { signal, query } = this.ctx;
    fill(this.notes);
    try {
      if (this.isNew) {
        const from = query.get("from");
        const source = from ? await loadWhole(this.database, from, { signal }) : null;
        this.base = { ...empty(""), attachments: source?.attachments ?? "" };
        show(this, source?.text ?? "{\n  \n}");
        if (source) tellCarried(this, source);
        return;
      }
      this.base = await load(this.database, this.id, { rev: this.shownRev || undefined, signal });
      const use = this.isReadOnly ? null : query.get("use");
      const used = use ? await load(this.database, this.id, { rev: use, signal }) : null;
      if (this.base.isDeleted && !this.shownRev) throw new ApiError(404, "not_found", "deleted", "");
      show(this, this.base.text);
      if (used) {
        this.editor?.replace(used.text);
        this.tell("use", note("info", `This is the text of revision ${short(used.rev)}. `
          + "Save it to make a new revision."));
      }
      if (!this.shownRev) follow(this);
    } catch (error) { if (!signal.aborted) await this.openAbsent(error); }
  }

  /** Opens the document anew: what the editor has is no unsaved work. */
  async reopen() {
    this.editor = undefined;
    this.newer = null;
    this.isReadOnly = false;
    await this.open();
  }

  /** @param {unknown} error */
  async openAbsent(error) {
    const { status, reason } = /** @type {ApiError} */ (error);
    const again = () => this.open();
    fill(this.head, h("h1.cut", { dir: "auto" }, this.isNew ? "New document" : this.id));
    if (status !== 404 || this.isNew || this.shownRev || /database|no_db/i.test(String(reason))) {
      fill(this.body, errorState(error, again));
      return;
    }
    try {
      const tombstone = await loadDeleted(this.database, this.id, this.ctx.signal);
      fill(this.body, tombstone ? deletedState(this.database, tombstone, again)
        : missingState(this.database, this.id, () => this.create()));
    } catch (failure) {
      if (/** @type {ApiError} */ (failure).status === 404) {
        fill(this.body, missingState(this.database, this.id, () => this.create()));
      } else if (!this.ctx.signal.aborted) fill(this.body, errorState(failure, again));
    }
    if (hasDrafts(this.database, this.id)) {
      this.tell("draft", note("info", "You have unsaved changes to a document with this ID. "
        + "Create or restore it to see them."));
    }
  }

  /** Begins a document with the ID of the address. */
  create() {
    this.base = empty(this.id);
    show(this, "{\n  \n}");
    this.editor?.focus();
  }

  /**
   * A note above the document, one for each subject; null removes it.
   *
   * @param {string} subject
   * @param {HTMLElement | null} [element]
   */
  tell(subject, element = null) {
    [...this.notes.children].find((one) => /** @type {HTMLElement} */ (one).dataset.subject === subject)?.remove();
    if (!element) return;
    element.dataset.subject = subject;
    this.notes.append(element);
  }

  changed() {
    this.tell("own");
    update(this);
    this.functions?.refresh();
    this.keep();
  }

  /** The unsaved work is of no more use: it was saved, or the document goes. */
  discard() {
    this.isReadOnly = true;
    dropDraft(this.draft);
    this.ctx.guard(null);
  }

  /**
   * Notes that the page itself changes the document, so that revisions which the feed tells of are looked at after.
   *
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async busy(work) {
    this.working += 1;
    try { return await work(); } finally {
      this.working -= 1;
      if (this.working === 0 && this.pending) heard(this, this.pending);
    }
  }
}
