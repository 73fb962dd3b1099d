// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { button } from "../components/button.js";
import { emptyState, errorState, loadingState } from "../components/states.js";
import { toast, toastError } from "../components/toast.js";
import { VirtualList } from "../components/virtual-list.js";
import { loadConflicts, rowOf } from "../conflicts/load.js";
import { ConflictQueue } from "../conflicts/queue.js";
import { isUndoable, resolveConflicts, undoResolutions } from "../conflicts/resolve.js";
import { AT_MOST, rulePanel } from "../conflicts/rule-panel.js";
import { ThreeWay } from "../conflicts/three-way.js";
import { debounce, fill, h } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { keys } from "../core/keys.js";
import { useStyle } from "../core/style.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";

await useStyle("conflicts");

/** @type {import("../shell.js").View} */
export default {
  title: (ctx) => `Conflicts in ${ctx.params.db}`,
  crumbs: (ctx) => databaseCrumbs(ctx.params.db, { label: "Conflicts" }),
  render: (ctx) => new ConflictsPage(ctx).element,
};

class ConflictsPage {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.db = ctx.params.db;
    this.id = ctx.query.get("id") ?? "";
    /** @type {ThreeWay | null} */
    this.pane = null;
    this.turn = 0;
    this.isRule = ctx.query.has("rule");
    this.state = h("p.small.soft", { role: "status" });
    this.detail = h("section.detail", { "aria-label": "The open conflict" });
    this.list = new VirtualList({
      label: "Documents in conflict", rowHeight: 40,
      draw: (index, line) => this.drawLine(index, line),
      onRange: (from, to) => this.queue?.need(from, to),
      onCurrent: debounce((index) => this.openAt(index), 120),
      activate: (index) => this.openAt(index),
    });
    this.body = h("div.conflicts.panel", null, this.list.element, this.detail);
    this.rest = h("div", { hidden: true });
    const step = (/** @type {number} */ by) => () => this.step(by);
    this.element = h("div.view.full", null, databaseTabs(this.db, "conflicts"),
      h("div.head", null, h("h1", null, "Conflicts"), this.state,
        h("div.actions", null,
          button({ title: "Previous conflict (p)", icon: "up", onclick: step(-1) }),
          button({ title: "Next conflict (n)", icon: "down", onclick: step(1) }),
          mayWrite() && button({ label: "Apply a rule", icon: "filter", onclick: () => this.showRule() }))),
      this.body, this.rest);
    keys(ctx.signal, {
      n: ["Next conflict", step(1)], p: ["Previous conflict", step(-1)],
      j: ["Next property", () => this.pane?.move(this.pane.at + 1)],
      k: ["Previous property", () => this.pane?.move(this.pane.at - 1)],
      1: ["Take the property from the winner", () => this.pane?.chooseSide(0)],
      2: ["Take the property from side 2", () => this.pane?.chooseSide(1)],
      3: ["Take the property from side 3", () => this.pane?.chooseSide(2)],
      "mod+Enter": ["Resolve the conflict", () => { if (mayWrite()) this.pane?.submit(); }],
    });
    this.queue = new ConflictQueue(this.db, ctx.signal, (changed) => this.update(changed));
    if (this.isRule) this.showRule(); else if (this.id) this.open(this.id);
  }

  /** @param {Set<string>} changed */
  update(changed) {
    const { rows, isSearching, error, searched } = this.queue;
    if (error && !rows.length) {
      fill(this.rest, errorState(error, () => this.queue.start()));
    } else if (!rows.length && !this.id && !this.isRule) {
      fill(this.rest, isSearching ? loadingState() : emptyState({
        icon: "check", title: "No document is in conflict",
        text: "A conflict arises when two replicas change the same document. New conflicts appear here as they arrive.",
      }));
    } else fill(this.rest);
    this.rest.hidden = !this.rest.hasChildNodes();
    this.body.hidden = !this.rest.hidden;
    fill(this.state, plural(rows.length, "conflict"), isSearching && ` so far, ${plural(searched, "change")} read`);
    this.list.setCount(rows.length);
    const index = this.index();
    if (index >= 0) { this.list.current = index; this.list.refresh(); }
    // Where the list and the conflict stand beside each other, the first conflict is opened.
    else if (!this.id && !this.isRule && matchMedia("(min-width: 60.01rem)").matches) this.openAt(0);
    if (changed.has(this.id)) this.recheck();
  }

  /** @param {number} index */
  openAt(index) {
    const id = this.queue.rows[index]?.id;
    if (id && id !== this.id) this.open(id);
  }

  index() { return this.queue?.rows.findIndex((row) => row?.id === this.id) ?? -1; }

  /** @param {number} by */
  step(by) {
    const { rows } = this.queue;
    if (!rows.length) return;
    const index = this.index();
    this.list.show(index < 0 ? 0 : (index + by + rows.length) % rows.length);
  }

  /**
   * @param {number} index
   * @param {HTMLElement} line
   */
  drawLine(index, line) {
    const row = this.queue.rows[index];
    if (row?.id === this.id) line.setAttribute("aria-current", "true"); else line.removeAttribute("aria-current");
    fill(line, h("bdi.cut.grow", { role: "gridcell", title: row?.id }, row?.id ?? "…"),
      row && h("span.small.soft", { role: "gridcell" }, `${row.conflicts.length + 1} sides`));
  }

  /** @param {string} id */
  async open(id) {
    this.id = id;
    this.isRule = false;
    this.ctx.setQuery({ id });
    this.pane = null;
    this.body.classList.add("is-open");
    const turn = ++this.turn;
    const timer = setTimeout(() => fill(this.detail, loadingState()), 150);
    this.list.refresh();
    try {
      const row = await rowOf(this.db, id, this.ctx.signal);
      const [conflict] = row ? await loadConflicts(this.db, [row], this.ctx.signal) : [];
      if (row && !conflict) throw new Error("The server did not return every side of this document.");
      if (turn === this.turn) this.showConflict(conflict);
    } catch (error) {
      if (turn === this.turn && !this.ctx.signal.aborted) fill(this.detail, errorState(error, () => this.open(id)));
    } finally { clearTimeout(timer); }
  }

  /** @param {import("../conflicts/load.js").Conflict | undefined} conflict */
  showConflict(conflict) {
    const back = button({ label: "All conflicts", icon: "back", kind: "small back", onclick: () => this.close() });
    this.notice = h("div", { role: "status" });
    if (!conflict) {
      fill(this.detail, back, emptyState({
        icon: "check", title: "This document is not in conflict", text: "It was resolved, here or by another client.",
      }));
      return;
    }
    this.pane = new ThreeWay({ database: this.db, conflict, resolve: (body) => this.resolve(conflict, body) });
    const index = this.index(), place = `${count(index + 1)} of ${count(this.queue.rows.length)}`;
    fill(this.detail, back, h("div.row.spread", null, h("h2", null, h("bdi", null, conflict.id)),
      index >= 0 && h("span.small.soft", null, place)), this.notice, this.pane.element);
    this.detail.scrollTop = 0;
  }

  close() {
    this.id = "";
    this.turn += 1;
    this.pane = null;
    this.ctx.setQuery({});
    this.body.classList.remove("is-open");
    this.list.refresh();
  }

  /** Another writer changed the open document. It is read again, unless the user has chosen or edited something. */
  recheck() {
    const pane = this.pane;
    if (!pane) { if (this.id) this.open(this.id); return; }
    const row = this.queue.rows.find((one) => one?.id === this.id);
    const revs = pane.conflict.sides.map((side) => side._rev);
    if (row && [row.rev, ...row.conflicts].sort().join() === revs.sort().join()) return;
    if (!pane.isTouched) this.open(this.id);
    else if (this.notice) {
      fill(this.notice, h("div.note.warning", null,
        h("p.grow", null, "The document has changed since it was read. The server will refuse this resolution."),
        button({ label: "Reload the document", kind: "small", onclick: () => this.open(this.id) })));
    }
  }

  /**
   * @param {import("../conflicts/load.js").Conflict} conflict
   * @param {any} body
   */
  async resolve(conflict, body) {
    try {
      const [done] = await resolveConflicts(this.db, [{ conflict, body }]);
      if (done.problem) {
        toast(`${done.problem} The document is shown as it is now.`, {
          kind: "warning", action: isUndoable(done) ? { label: "Undo", call: () => this.undo(done) } : undefined,
        });
        await this.open(conflict.id);
        return;
      }
      toast(`The conflict in ${conflict.id} is resolved.`, { action: { label: "Undo", call: () => this.undo(done) } });
      const { rows } = this.queue, index = this.index();
      const next = rows[index + 1] ?? rows[index - 1];
      rows.splice(index, index < 0 ? 0 : 1);
      if (next) await this.open(next.id); else this.close();
      this.update(new Set());
    } catch (error) { toastError(error); }
  }

  /** @param {import("../conflicts/resolve.js").Resolution} done */
  async undo(done) {
    try {
      const [problem] = await undoResolutions(this.db, [done]);
      if (problem) {
        toast(problem.problem, {
          kind: "danger", action: isUndoable(done) ? { label: "Undo", call: () => this.undo(done) } : undefined,
        });
      } else { toast("The document is in conflict again."); await this.open(done.conflict.id); }
    } catch (error) { toastError(error); }
  }

  showRule() {
    const from = Math.max(0, this.index()), start = this.id;
    this.turn += 1;
    this.isRule = true;
    this.id = "";
    this.pane = null;
    this.body.classList.add("is-open");
    this.list.refresh();
    fill(this.detail, rulePanel({
      database: this.db, ctx: this.ctx, start, rows: () => this.queue.range(from, AT_MOST),
    }));
  }
}
