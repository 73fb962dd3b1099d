// SPDX-License-Identifier: Apache-2.0

import { followChanges } from "../api/changes.js";
import { ApiError } from "../api/client.js";
import { isReachable, mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { openDialog } from "../components/dialog.js";
import { field, input } from "../components/field.js";
import { jsonEditor } from "../components/json-editor.js";
import { parseExact, showExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { errorState, loadingState, note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { debounce, fill, h } from "../core/dom.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { AttachmentsPanel } from "./attachments.js";
import { draftOf } from "./drafts.js";
import { factsPanel } from "./facts.js";
import { functionsPanel } from "./functions.js";
import { documentHead } from "./head.js";
import { linkDocuments } from "./links.js";
import { differenceOf, short } from "./merge.js";
import { deletedState, missingState } from "./missing.js";
import { heard, merge, reached, tellNewer } from "./others.js";
import { refusesOwn, tellCarried } from "./own.js";
import { empty, idIn, load, loadDeleted, loadWhole, save, saveMessage } from "./store.js";
import { dropOwn, keepNow, offerDraft } from "./unsaved.js";

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
    /**
     * The text of the draft that this page has kept or taken over.
     *
     * @type {string | null}
     */
    this.kept = null;
    /** Changes of the panel's or the page's own that are on their way. */
    this.working = 0;
    /** @type {Set<string>} */
    this.ownRevs = new Set();
    this.isOffering = this.isSaving = this.isFollowing = this.wasAway = false;
    /** @type {import("../components/json-editor.js").JSONEditor | undefined} */
    this.editor = undefined;
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
    keys(ctx.signal, { "mod+s": ["Save the document", () => this.save()] });
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
        this.show(source?.text ?? "{\n  \n}");
        if (source) tellCarried(this, source);
        return;
      }
      this.base = await load(this.database, this.id, { rev: this.shownRev || undefined, signal });
      const use = this.isReadOnly ? null : query.get("use");
      const used = use ? await load(this.database, this.id, { rev: use, signal }) : null;
      if (this.base.isDeleted && !this.shownRev) throw new ApiError(404, "not_found", "deleted", "");
      this.show(this.base.text);
      if (used) {
        this.editor?.replace(used.text);
        this.tell("use", note("info", `This is the text of revision ${short(used.rev)}. `
          + "Save it to make it the newest one."));
      }
      if (!this.shownRev) this.follow();
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
    if (draftOf(this.database, this.id)) {
      this.tell("draft", note("info", "There is unsaved work for this ID. "
        + "Create or restore the document to see it."));
    }
  }

  /** Begins a document with the ID of the address. */
  create() {
    this.base = empty(this.id);
    this.show("{\n  \n}");
    this.editor?.focus();
  }

  /** @param {string} text */
  show(text) {
    const editor = jsonEditor({
      text, label: "Document as JSON", readOnly: this.isReadOnly, onChange: () => this.changed(),
    });
    this.editor = editor;
    this.idField = input({ placeholder: "The server chooses one", dir: "auto", oninput: () => this.changed() });
    this.reader = h("div.panel.document-reader", {
      hidden: true, tabindex: 0, role: "region", "aria-label": "Document as a tree",
    });
    this.functions = this.base.id.startsWith("_design/") ? functionsPanel(editor) : null;
    this.attachments = this.isNew || !this.base.rev ? null : new AttachmentsPanel({
      database: this.database, id: this.id, mayWrite: !this.isReadOnly, signal: this.ctx.signal,
      rev: () => this.base.rev, revise: (rev) => this.revise(rev), busy: (work) => this.busy(work),
    });
    this.facts = h("div");
    fill(this.body,
      h("div.document-main", null,
        this.isNew && field({
          label: "ID", input: this.idField, hint: "The name of the document in its database. It never changes.",
        }),
        editor, this.reader, this.functions),
      h("div.document-side", null,
        this.attachments?.element
          ?? (!this.isReadOnly && h("p.small.soft", null, "Save the document to attach files to it.")),
        this.facts));
    this.setMode(this.isReading);
    this.showBase();
    if (this.shownRev) this.tellRevision();
    if (!this.isReadOnly) offerDraft(this);
  }

  /** Shows what belongs to the stored revision. */
  showBase() {
    fill(this.head, documentHead(this));
    this.attachments?.show(this.base.meta._attachments ?? {});
    if (this.facts && this.base.rev) fill(this.facts, factsPanel(this.database, this.base));
    this.functions?.refresh();
    this.update();
  }

  /**
   * @param {boolean} isReading
   * @returns {void}
   */
  setMode(isReading) {
    if (!this.editor || !this.reader) return;
    if (isReading && this.editor.error) { this.editor.showError(); this.setMode(false); return; }
    this.isReading = isReading;
    this.editor.hidden = isReading;
    this.reader.hidden = !isReading;
    this.turn?.abort();
    if (!isReading) return;
    this.turn = new AbortController();
    this.ctx.signal.addEventListener("abort", () => this.turn?.abort(), { once: true });
    const tree = showExact(jsonView(parseExact(this.editor.text), { open: 3 }));
    fill(this.reader, tree);
    linkDocuments(tree, this.database, this.id, this.turn.signal);
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

  tellRevision() {
    const back = link("db", this.database, "doc", this.id);
    this.tell("revision", note("info", h("div.row", null,
      h("span.grow", null, `You read revision ${short(this.base.rev)}`
        + `${this.base.isDeleted ? ", a tombstone" : ""}. It cannot be changed.`),
      h("a.button.small", { href: back }, "Open the current revision"),
      mayWrite() && h("a.button.small", {
        href: link("db", this.database, "doc", this.id, { use: this.base.rev }),
      }, "Use this text for a new revision"))));
  }

  changed() {
    this.tell("own");
    this.update();
    this.functions?.refresh();
    this.keep();
  }

  /** Whether there is something to save. */
  update() {
    const { isChanged } = this;
    if (this.saveButton) this.saveButton.disabled = !isChanged && this.base.rev !== "";
    if (this.reviewButton) this.reviewButton.disabled = !isChanged;
  }

  /** The unsaved work is of no more use: the document goes. */
  discard() {
    this.isReadOnly = true;
    dropOwn(this);
    this.ctx.guard(null);
  }

  /**
   * @param {string} before
   * @param {string} after
   * @param {string} beforeLabel
   * @param {string} afterLabel
   * @returns {HTMLElement}
   */
  difference(before, after, beforeLabel, afterLabel) {
    try { return differenceOf(before, after, { beforeLabel, afterLabel }); } catch {
      return h("div.column", null,
        note("warning", "The text is not valid JSON yet, so that it is shown as it is."),
        h("pre.panel.document-reader", null, after));
    }
  }

  /** Shows what a save changes, then saves if the user wants. */
  async review() {
    const { editor } = this;
    if (!editor || this.hasFault()) return;
    const isSaved = await openDialog({
      title: "Review changes", wide: true, action: "Save", signal: this.ctx.signal,
      body: this.difference(this.base.text, editor.text,
        this.base.rev ? `Revision ${short(this.base.rev)}` : "Nothing stored", "Your text"),
      submit: () => true,
    });
    if (isSaved) await this.save();
  }

  hasFault() {
    const error = this.editor?.error;
    if (!error && /^\s*\{/.test(this.editor?.text ?? "")) return refusesOwn(this);
    this.setMode(false);
    this.editor?.showError();
    toast(error ? `The document is not saved. Line ${error.line}: ${error.message}`
      : "A document is an object: it begins with { and ends with }.", { kind: "danger" });
    return true;
  }

  get savedID() { return this.base.id || this.idField?.value || idIn(this.editor?.text ?? "{}"); }

  async save() {
    const { editor, base } = this;
    if (this.isOffering) toast("Choose first whether you continue with your unsaved work.", { kind: "info" });
    if (!editor || this.isReadOnly || this.isOffering || this.isSaving || this.hasFault()) return;
    if (!this.isChanged && base.rev) { toast("There are no changes to save.", { kind: "info" }); return; }
    if (this.newer) { await merge(this); return; }
    const text = editor.text, id = this.savedID;
    this.isSaving = true;
    this.tell("error");
    try {
      await this.busy(async () => {
        const answer = await save(this.database, { id, rev: base.rev, attachments: base.attachments, text });
        this.ownRevs.add(answer.rev);
        if (this.isNew || !base.rev) { this.created(answer.id); return; }
        this.base = { ...base, rev: answer.rev, text };
        if (editor.text === text) dropOwn(this);
        toast(`Saved as revision ${short(answer.rev)}.`);
        await this.revise(answer.rev);
      });
    } catch (error) { await this.notSaved(error, base.rev); } finally { this.isSaving = false; }
    keepNow(this);
  }

  /**
   * @param {unknown} error
   * @param {string} [rev] The revision that the save was based on.
   */
  async notSaved(error, rev = this.base.rev) {
    if (/** @type {ApiError} */ (error).status === 409 && this.base.rev) {
      this.newer = "unknown";
      await merge(this, rev);
      return;
    }
    const text = /** @type {ApiError} */ (error).status === 409
      ? "There is a document with this ID already. Choose another ID." : saveMessage(error);
    this.tell("error", note("danger", h("div.row.nowrap.top", null,
      h("span.grow", null, text),
      button({ title: "Dismiss", icon: "close", kind: "plain small", onclick: () => this.tell("error") }))));
    this.notes.lastElementChild?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} id */
  created(id) {
    dropOwn(this);
    this.isReadOnly = true;
    this.ctx.guard(null);
    toast(`The document ${id} is saved.`);
    if (this.isNew) this.ctx.go(link("db", this.database, "doc", id));
    else this.reopen();
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

  /**
   * Takes the newest revision as the base, with the text of the editor kept when it has changed.
   *
   * @param {string | null} rev A revision of the page's own; null for one of another writer.
   */
  async revise(rev) {
    const { editor } = this;
    if (!editor) return;
    if (rev) this.ownRevs.add(rev);
    const fresh = await load(this.database, this.id, { signal: this.ctx.signal }).catch(() => null);
    // The page may have saved meanwhile: an answer from before that says nothing.
    if (!fresh || rev && parseInt(fresh.rev) < parseInt(this.base.rev)) return;
    const isOther = fresh.rev !== this.base.rev && !this.ownRevs.has(fresh.rev);
    if (isOther && this.isChanged && fresh.text !== this.base.text) {
      this.newer = fresh.rev;
      tellNewer(this);
      return;
    }
    // What is stored differs by the order of properties at most from what was just saved: the user's text stays as it
    // was typed.
    const isTyped = !isOther && rev !== null;
    if (!isTyped && !this.isChanged) editor.text = fresh.text;
    this.base = isTyped ? { ...fresh, text: this.base.text } : fresh;
    if (this.isReading) this.setMode(true);
    this.showBase();
  }

  /** Follows the feed, to learn of revisions of other writers. */
  async follow() {
    if (this.isFollowing) return;
    this.isFollowing = true;
    await followChanges(this.database, {
      signal: this.ctx.signal, query: { filter: "_doc_ids", doc_ids: [this.id] },
      onChange: (change) => {
        const rev = change.changes[0]?.rev ?? "";
        if (this.working > 0) this.pending = { rev, isDeleted: change.deleted === true };
        else heard(this, { rev, isDeleted: change.deleted === true });
      },
    });
  }
}
