// SPDX-License-Identifier: Apache-2.0

import { databaseInfo, sampleFields } from "../api/couch.js";
import { askExactly } from "../api/exact.js";
import { mayWrite, searches } from "../api/server.js";
import { button, segments } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { field, input } from "../components/field.js";
import { jsonEditor } from "../components/json-editor.js";
import { menuButton } from "../components/menu.js";
import { emptyState, errorState, loadingState, note } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";
import { builder } from "../ask/builder.js";
import { explainView } from "../ask/explain.js";
import { textForm, viewForm } from "../ask/forms.js";
import { readQuestion, requestOf, writeQuestion } from "../ask/question.js";
import { resultView } from "../ask/results.js";
import { readAnswer } from "../ask/rows.js";
import { openSaved, saveQuery } from "../ask/saved.js";
import { curl, javaScript, swift } from "../ask/snippets.js";

await useStyle("ask");

/**
 * What to do about an error of the server.
 *
 * @type {Record<string, string>}
 */
const HELP = {
  no_usable_index: "Choose Explain: it shows which index would help, and can create it.",
  invalid_operator: "Check how the operator is written. The builder lists the usual ones.",
  query_parse_error: "Check the options: groups need a reduce, and the first key must not come after the last.",
  not_found: "Check the names of the design document and of its view or index.",
};

/** @type {[import("../ask/question.js").Mode, string][]} */
const MODES = [["selector", "Selector"], ["builder", "Builder"], ["view", "View"], ["text", "Text"]];

/** The workbench of one database: a question on one side, its answer on the other. */
class Workbench {
  /** @param {import("../shell.js").Context} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.database = ctx.params.db;
    this.question = readQuestion(ctx.query);
    const { x, y = "", how = "sum", as = "table" } = Object.fromEntries(ctx.query);
    /** @type {import("../ask/results.js").Look} */
    this.look = { as: /** @type {any} */ (as), axes: x === undefined ? {} : { x, y, how } };
    this.isExplained = ctx.query.has("explain");
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {Promise<string[]> | null} */
    this.fields = null;
    this.form = h("div.column");
    this.wrong = h("div");
    this.partition = h("div");
    this.output = h("section.output", { "aria-label": "Results" }, emptyState({
      icon: "ask", title: "Ask this database", text: ["Write a query and choose Run, or press ",
        h("kbd", null, "Ctrl"), " ", h("kbd", null, "Enter"), "."],
    }));
    this.runButton = button({ label: "Run", icon: "play", kind: "primary", onclick: () => { this.run(); } });
    this.cancelButton = button({ label: "Cancel", icon: "stop", props: { hidden: true }, onclick: () =>
      this.cancel() });
    this.explainButton = button({ label: "Explain", icon: "info", onclick: () => this.explain() });
  }

  render() {
    const { ctx, database, question } = this;
    keys(ctx.signal, {
      "mod+Enter": ["Run the query", () => { this.run(); }],
      "mod+s": ["Save the query", () => { if (mayWrite()) this.save(); }],
    });
    this.drawForm();
    databaseInfo(database, ctx).then((info) => { if (info.props?.partitioned) this.drawPartition(); }, () => {});
    // Questions only read, so the one of an address is asked at once.
    if (ctx.query.has("q")) this.isExplained ? this.explain() : this.run();
    const hasText = searches("search") || searches("nouveau") || question.mode === "text";
    return h("div.view", null, databaseTabs(database, "ask"),
      h("div.head", null, h("h1.unseen", null, `Ask ${database}`),
        segments({
          label: "Ask by", value: question.mode, options: MODES.filter(([value]) => value !== "text"
            || hasText).map(([value, label]) => ({ value, label })),
          onchange: (mode) => { question.mode = mode; this.isExplained = false; this.writeAddress(); this.drawForm(); },
        }),
        h("div.actions", null,
          button({ label: "Saved queries", icon: "history", kind: "plain", onclick: () =>
            openSaved(database, { signal: ctx.signal, load: (saved) => this.load(saved) }) }),
          mayWrite() && button({ label: "Save", icon: "save", kind: "plain", onclick: () => this.save() }),
          menuButton({ label: "Copy as", icon: "copy", kind: "plain", items: () =>
            ["curl", "Swift", "JavaScript"].map((language) =>
              ({ label: language, call: () => this.copy(language) })) }))),
      h("div.bench", null,
        h("section.question.panel", { "aria-label": "Query" }, this.partition, this.form, this.wrong,
          h("div.row", null, this.runButton, this.cancelButton, this.explainButton)),
        this.output));
  }

  drawForm() {
    const { question, database, ctx } = this, changed = () => this.changed();
    fill(this.wrong);
    this.explainButton.hidden = question.mode === "view" || question.mode === "text";
    if (question.mode === "view") fill(this.form, viewForm({ database, part: question.view, signal: ctx.signal,
      changed }));
    else if (question.mode === "text") fill(this.form, textForm({ database, part: question.text, signal: ctx.signal,
      changed }));
    else if (question.mode === "builder") {
      this.fields ??= sampleFields(database, ctx.signal);
      fill(this.form, builder({ text: question.find, fields: this.fields, onChange: (text) => { question.find = text;
        changed(); } }));
    } else {
      const editor = jsonEditor({ text: question.find, label: "Request to _find",
        onChange: () => { question.find = editor.text; changed(); } });
      editor.classList.add("question-text");
      fill(this.form, editor, h("p.small.soft", null, "The body of a request to ", h("code", null, "_find"),
        ": selector, fields, sort, limit, skip, use_index."));
    }
  }

  drawPartition() {
    const { question } = this;
    const box = input({ value: question.partition, placeholder: "All",
      oninput: () => { question.partition = box.value; this.changed(); } });
    fill(this.partition, field({ label: "Partition", input: box,
      hint: "The part of an ID before the colon. Leave it empty to ask all partitions." }));
  }

  changed() {
    this.isExplained = false;
    fill(this.wrong);
    this.writeAddress();
  }

  writeAddress() {
    const { as, axes } = this.look;
    this.ctx.setQuery({
      ...writeQuestion(this.question), as: as === "table" ? "" : as, explain: this.isExplained,
        ...(as === "chart" ? axes : {}),
    });
  }

  /**
   * @param {import("../ask/question.js").Question} saved Of a document, which a peer may have written: the address
   * checks it.
   */
  load(saved) {
    this.ctx.go(link("db", this.database, "ask", writeQuestion({ ...readQuestion(new URLSearchParams()), ...saved })));
  }

  async save() { await saveQuery(this.database, { question: this.question, signal: this.ctx.signal }); }

  /** The request of the question; says beside the question what is wrong with it. */
  request() {
    fill(this.wrong);
    try { return requestOf(this.database, this.question); } catch (error) {
      fill(this.wrong, note("danger", /** @type {Error} */ (error).message));
      return null;
    }
  }

  /** @param {string} language */
  copy(language) {
    const request = this.request();
    if (!request) return;
    const { execution_stats: _, ...body } = request.body ?? {};
    const plain = request.body ? { ...request, body } : request;
    copyText(language === "curl" ? curl(plain) : language === "Swift" ? swift(this.question, plain)
      : javaScript(plain), `${language} code`);
  }

  /** @param {Record<string, any>} [page] What to add to the request for another page than the first. */
  async run(page = {}) {
    const request = this.request();
    if (!request) return;
    this.running?.abort();
    const running = this.running = new AbortController(), { signal } = running;
    this.ctx.signal.addEventListener("abort", () => running.abort(), { once: true, signal });
    this.isExplained = false;
    this.writeAddress();
    if (!this.output.querySelector(".result-place")) fill(this.output, loadingState());
    this.output.setAttribute("aria-busy", "true");
    this.cancelButton.hidden = false;
    const start = performance.now();
    try {
      const isFind = request.path.endsWith("/_find");
      const answer = await askExactly(request.method, request.path,
        isFind ? { ...request.body, ...page } : request.body,
        { query: isFind ? undefined : { ...request.query, ...page }, signal });
      const result = readAnswer(answer, performance.now() - start);
      fill(this.output, resultView({
        database: this.database, result, look: this.look, go: this.ctx.go, more: this.nextPage(request, page, result),
        onLook: (look) => { this.look = look; this.writeAddress(); },
      }));
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    } finally {
      if (this.running === running) { this.running = null; this.cancelButton.hidden = true;
        this.output.removeAttribute("aria-busy"); }
      // So that the signal of the view does not keep it.
      running.abort();
    }
  }

  /**
   * @param {import("../ask/question.js").Request} request
   * @param {Record<string, any>} page
   * @param {import("../ask/rows.js").Result} result
   * @returns {(() => void) | null}
   */
  nextPage(request, page, result) {
    const size = result.items.length,
      limit = Number(request.body?.limit ?? request.query?.limit ?? (this.question.mode === "view" ? 0 : 25));
    if (!limit || size < limit) return null;
    if (this.question.mode !== "view") return result.bookmark ? () => { this.run({ bookmark: result.bookmark }); }
      : null;
    return () => { this.run({ skip: Number(page.skip ?? request.query?.skip ?? 0) + size }); };
  }

  cancel() {
    this.running?.abort();
    fill(this.output, emptyState({ icon: "stop", title: "Cancelled",
      text: "The console no longer waits for the answer." }));
  }

  /** @param {any} error */
  fail(error) {
    if (error.status !== 400 && error.status !== 404) { fill(this.output, errorState(error, () => this.run()));
      return; }
    fill(this.output, emptyState({ icon: "alert", title: "The server refused the query",
      text: "The message beside the query says why." }));
    fill(this.wrong, note("danger", h("p.strong", { dir: "auto" }, error.message),
      h("p", null, /partition. parameter is mandatory/.test(error.message)
        ? "The index is for queries within one partition. Name one in the field Partition."
        : Object.hasOwn(HELP, error.error) ? HELP[error.error] : "Change the query, then run it again."),
      error.error === "no_usable_index" && this.question.mode !== "text" && button({ label: "Explain", kind: "small",
        onclick: () => this.explain() })));
  }

  explain() {
    const request = this.request();
    if (!request?.body) return;
    this.running?.abort();
    this.isExplained = true;
    this.writeAddress();
    fill(this.output, explainView({ database: this.database, partition: this.question.partition,
      request: request.body, signal: this.ctx.signal }));
  }
}

/** @type {import("../shell.js").View} */
export default {
  title: (ctx) => `Ask ${ctx.params.db}`,
  crumbs: (ctx) => databaseCrumbs(ctx.params.db, { label: "Ask" }),
  render: (ctx) => new Workbench(ctx).render(),
};
