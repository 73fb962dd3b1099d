// SPDX-License-Identifier: Apache-2.0

import { followChanges } from "../api/changes.js";
import { api, documentPath, nullIfMissing } from "../api/client.js";
import { deleteDocument, getDocument, leafRevisions } from "../api/couch.js";
import { readExact, writeExactly } from "../api/exact.js";
import { mayWrite } from "../api/server.js";
import { button, linkButton } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { ask } from "../components/dialog.js";
import { diffView } from "../components/diff.js";
import { field, select } from "../components/field.js";
import { showExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { buildTree, revisionTree } from "../components/revision-tree.js";
import { emptyState, loading, tag } from "../components/states.js";
import { toast } from "../components/toast.js";
import { debounce, fill, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { byWinner, generation, pathOf } from "../core/revision.js";
import { link } from "../core/router.js";
import { databaseCrumbs } from "../shell/database.js";

/** @typedef {{ leaves: any[], tree: Map<string, import("../components/revision-tree.js").Revision> }} History */

/** For how many leaves the server is asked which bodies it still has. */
const ASKED = 40;
/** How many other revisions a CouchDB is asked for, with their bodies: it does not tell which of them it has. */
const UNTOLD = 100;

/** @type {import("../shell.js").View} */
export default {
  title: (ctx) => `History of ${ctx.params.id}`,
  crumbs: ({ params: { db, id } }) =>
    databaseCrumbs(db, { label: id, href: link("db", db, "doc", id) }, { label: "History" }),
  render: (ctx) => new HistoryPage(ctx).element,
};

class HistoryPage {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    const { params: { db, id }, query, signal } = ctx;
    this.ctx = ctx;
    this.chosen = query.get("a") ?? "";
    this.other = query.get("b") ?? "";
    this.detail = h("section.panel", { "aria-label": "The chosen revision" });
    this.revisions = revisionTree({
      label: `Revisions of ${id}`,
      onChoose: (rev, isOther) => isOther ? this.choose(this.chosen, rev) : this.choose(rev, ""),
    });
    this.state = h("p.small.soft", { role: "status" });
    this.body = loading({ signal, load: () => this.load(), render: (history) => this.show(history) });
    this.element = h("div.view", null,
      h("div.head", null, h("h1", null, "History of ", h("bdi", null, id)), this.state,
        h("div.actions", null,
          linkButton({ label: "Open the document", icon: "document", href: link("db", db, "doc", id) }))),
      this.body);
    const reload = debounce(() => this.body.reload(), 300);
    followChanges(db, { signal, query: { filter: "_doc_ids", doc_ids: [id], style: "all_docs" }, onChange: reload });
  }

  /** @returns {Promise<History>} */
  async load() {
    const { params: { db, id }, signal } = this.ctx;
    const leaves = (await leafRevisions(db, id, { signal })).flatMap(({ ok }) => ok ? [ok] : []).sort(byWinner);
    // Without its revision for the winner: a CouchDB tells of the bodies in no other case.
    const infos = await Promise.all(leaves.slice(0, ASKED).map((leaf, index) =>
      getDocument(db, id, { rev: index || leaf._deleted ? leaf._rev : undefined, revs_info: true }, { signal })
        .catch(() => leaf)));
    const stored = new Set(leaves.map((leaf) => leaf._rev)), told = new Set(stored);
    for (const { rev, status } of infos.flatMap((info) => info._revs_info ?? [])) {
      told.add(rev);
      if (status !== "missing") stored.add(rev);
    }
    const untold = leaves.slice(0, ASKED).filter((_, index) => !infos[index]._revs_info).flatMap(pathOf)
      .filter((rev) => !told.has(rev)).slice(0, UNTOLD);
    if (untold.length) {
      const query = { open_revs: [...new Set(untold)] };
      for (const { ok } of await api.get(documentPath(db, id), { query, signal })) if (ok) stored.add(ok._rev);
    }
    return { leaves, tree: buildTree(leaves, stored) };
  }

  /** @param {History} history */
  show(history) {
    this.history = history;
    const { leaves, tree } = history;
    if (!leaves.length) return emptyState({ icon: "history", title: "The document has no revisions" });
    const live = leaves.filter((leaf) => !leaf._deleted).length;
    fill(this.state, `${plural(tree.size, "revision")}, ${plural(live, "live branch", "live branches")}`);
    if (!tree.has(this.chosen)) this.chosen = leaves[0]._rev;
    if (!tree.has(this.other)) this.other = "";
    this.choose(this.chosen, this.other);
    return h("div.history", null,
      h("section.panel", null, this.revisions, h("p.small.soft.body", null,
        "Arrow keys move, Enter chooses. Shift+Enter or Shift+click compares.")),
      this.detail);
  }

  /**
   * @param {string} chosen
   * @param {string} other The revision to compare with, or "".
   */
  choose(chosen, other) {
    if (!this.history) return;
    [this.chosen, this.other] = [chosen, other === chosen ? "" : other];
    this.ctx.setQuery({ a: this.chosen, b: this.other });
    this.revisions.show(this.history.tree, this.chosen, this.other);
    this.showDetail(this.history);
  }

  /** @param {History} history */
  showDetail({ leaves, tree }) {
    const revision = tree.get(this.chosen), { chosen, other } = this;
    if (!revision) return;
    const { leaf, isStored } = revision;
    const isDeleted = leaves.find((one) => one._rev === chosen)?._deleted;
    const kind = /** @type {const} */ ({ winner: "accent", live: "warning", deleted: "danger", "": "" })[leaf];
    const winner = isDeleted ? "winner, deleted" : "winner";
    const name = { winner, live: "conflict", deleted: "deleted", "": "earlier" }[leaf];
    const stored = [...tree.keys()].filter((rev) => rev !== chosen && tree.get(rev)?.isStored)
      .sort((a, b) => generation(b) - generation(a)).map((rev) => ({ value: rev, label: rev }));
    const compare = select([{ value: "", label: "Nothing" }, ...stored], other,
      { onchange: () => this.choose(chosen, compare.value) });
    fill(this.detail,
      h("header", null, h("h2.code.grow", null, chosen), tag(name, kind),
        button({
          title: "Copy the revision", icon: "copy", kind: "plain small",
          onclick: () => copyText(chosen, "The revision"),
        })),
      h("div.body.column", null,
        h("div.row", null, field({ label: "Compare with", input: compare }),
          mayWrite() && leaf !== "winner" && isStored && !isDeleted
            && button({ label: "Make this the current revision", icon: "undo", onclick: () => this.restore(chosen) }),
          mayWrite() && leaf && !isDeleted && button({
            label: leaf === "winner" ? "Delete the winner" : "Delete this branch", icon: "delete", kind: "danger",
            onclick: () => this.remove(chosen),
          })),
        loading({
          signal: this.ctx.signal,
          load: () => Promise.all([chosen, other].map((rev) => rev && this.bodyOf(rev))),
          render: ([one, two]) => one === null || two === null ? emptyState({
            icon: "document", title: "The body is gone",
            text: `The server knows that revision ${one === null ? chosen : other} existed. `
              + "Its body was removed by compaction.",
          }) : showExact(two ? diffView(two, one, { beforeLabel: other, afterLabel: chosen }) : jsonView(one)),
        })));
  }

  /**
   * The body of a revision, as a value of `parseExact`; null if the server no longer has it.
   *
   * @param {string} rev
   * @param {boolean} [attachments] With their data.
   * @returns {Promise<any>}
   */
  async bodyOf(rev, attachments = false) {
    const { params: { db, id }, signal } = this.ctx;
    return readExact("GET", documentPath(db, id), { query: { rev, attachments }, signal }).catch(nullIfMissing);
  }

  /** @param {string} rev */
  async restore(rev) {
    const { db, id } = this.ctx.params, winner = this.history?.leaves[0]._rev;
    const isLeaf = this.history?.tree.get(rev)?.leaf;
    const done = await ask({
      title: "Make this the current revision", action: "Save the body as a new revision",
      message: [h("p", null, `The body of ${rev} is saved on top of ${winner}. `
        + "The present body stays in the history until the database is compacted."),
        isLeaf && h("p", null, "The branch stays as a conflict until you delete it.")],
      perform: async () => {
        const body = await this.bodyOf(rev, true);
        if (!body) throw new Error("The server no longer has this body: compaction removed it.");
        const { rev: saved } = await writeExactly("PUT", documentPath(db, id), { ...body, _rev: winner });
        this.choose(this.chosen, "");
        this.chosen = saved;
      },
    });
    if (done) { toast("The body is saved as the current revision."); await this.body.reload(); }
  }

  /** @param {string} rev */
  async remove(rev) {
    const { db, id } = this.ctx.params;
    const other = this.history?.leaves.find((leaf) => leaf._rev !== rev && !leaf._deleted);
    const isWinner = this.history?.leaves[0]._rev === rev;
    const done = await ask({
      title: isWinner ? "Delete the winner" : "Delete this branch", action: "Delete the revision", danger: true,
      message: h("p", null, !isWinner ? "The conflict of this branch is resolved. The winner stays as it is."
        : other ? `Revision ${other._rev} becomes the winner.`
          : "The document has no other live branch, so the document is deleted."),
      perform: () => deleteDocument(db, id, rev),
    });
    if (done) { toast("The revision was deleted."); await this.body.reload(); }
  }
}
