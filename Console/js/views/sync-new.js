// SPDX-License-Identifier: Apache-2.0

import { allDatabases, readDocument, writeDocument } from "../api/couch.js";
import { api, path, root } from "../api/client.js";
import { writeExactly } from "../api/exact.js";
import { isDivan, mayWrite, server } from "../api/server.js";
import { fill, h } from "../core/dom.js";
import { shellWord } from "../core/format.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { button, linkButton, segments } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { ask } from "../components/dialog.js";
import { checkbox, field, input } from "../components/field.js";
import { stringifyExact, writeExact } from "../components/json-text.js";
import { loading, note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { definitionOf } from "../sync/actions.js";
import { endField } from "../sync/end-field.js";
import { withoutSecrets } from "../sync/ends.js";
import { REPLICATOR } from "../sync/jobs.js";
import { scopeField } from "../sync/scope-field.js";

await useStyle("sync");

/** What the form sets; other members of a document that is edited are kept. */
const OWN = ["_id", "source", "target", "continuous", "create_target", "doc_ids", "selector", "filter", "query_params",
  "use_checkpoints", "since_seq", "winning_revs_only"];

export default {
  /** @param {import("../shell.js").Context} ctx */
  title: (ctx) => ctx.query.get("edit") ? `Edit ${ctx.query.get("edit")}` : "New replication",
  /** @param {import("../shell.js").Context} ctx */
  crumbs: (ctx) => [{ label: "Sync", href: "#/sync" },
    { label: ctx.query.get("edit") ? `Edit ${ctx.query.get("edit")}` : "New replication" }],
  render,
};

/**
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
function render(ctx) {
  const edited = ctx.query.get("edit"), from = edited ?? ctx.query.get("copy");
  return h("div.view", null,
    h("div.head", null, h("h1", null, edited ? "Edit replication" : "New replication")),
    loading({
      signal: ctx.signal,
      load: async (signal) => Promise.all([
        from ? readDocument(REPLICATOR, from, { signal }) : { source: ctx.query.get("source") ?? undefined,
          target: ctx.query.get("target") ?? undefined },
        // Who may not list the databases can still type a name.
        allDatabases({ signal }).catch(() => []),
      ]),
      render: ([document, databases]) => form(ctx, document, databases, edited),
    }));
}

/**
 * @param {import("../shell.js").Context} ctx
 * @param {any} document What the form begins with, a value of `parseExact`.
 * @param {string[]} databases
 * @param {string | null} edited The ID of the document that is edited.
 * @returns {HTMLElement}
 */
function form(ctx, document, databases, edited) {
  let isContinuous = document.continuous === true, isChanged = false;
  const onchange = () => { isChanged = true; showResult(); };
  const ends = {
    source: endField({ label: "Source", end: document.source, databases, mayBeNew: false, onchange }),
    target: endField({ label: "Target", end: document.target, databases, mayBeNew: true, onchange }),
  };
  const what = scopeField({ document, source: () => ends.source.local, signal: ctx.signal, onchange });
  const mode = segments({
    label: "How long", value: isContinuous ? "on" : "once",
    options: [{ value: "once", label: "Once" }, { value: "on", label: "Continuously" }],
    onchange: (value) => { isContinuous = value === "on"; onchange(); },
  });
  const box = (/** @type {string} */ label, /** @type {boolean} */ checked) => checkbox(label, { checked, onchange });
  const create = box("Create the target if it is missing", document.create_target === true);
  const checkpoints = box("Use checkpoints, so that the next run goes on where this one ended",
    document.use_checkpoints !== false);
  const winners = box("Send winning revisions only, without conflicts", document.winning_revs_only === true);
  const since = input({ value: document.since_seq ?? "", placeholder: "the beginning", oninput: onchange });
  const name = input({ value: edited ?? "", disabled: Boolean(edited), placeholder: "the server makes one up",
    oninput: onchange });
  const nameLine = field({ label: "Name", input: name,
    hint: edited ? undefined : `The ID of its document in ${REPLICATOR}.` });
  const result = h("div"), wrong = h("div"),
    submit = h("button.button.primary", { type: "submit", disabled: !mayWrite() },
      edited ? "Save and restart" : "Start the replication");

  /** @param {boolean} isQuiet */
  const read = (isQuiet) => {
    const scope = what.read(isQuiet),
      rest = Object.fromEntries(Object.entries(definitionOf(document)).filter(([key]) => !OWN.includes(key)));
    return {
      ...(name.value.trim() ? { _id: name.value.trim() } : {}), source: ends.source.read(), target: ends.target.read(),
      ...(isContinuous ? { continuous: true } : {}), ...(create.input.checked ? { create_target: true } : {}),
      ...(scope.docIDs ? { doc_ids: scope.docIDs } : {}), ...(scope.selector ? { selector: scope.selector } : {}),
      ...(scope.filter ? { filter: scope.filter, ...(scope.parameters ? { query_params: scope.parameters } : {}) }
        : {}),
      ...(checkpoints.input.checked ? {} : { use_checkpoints: false }),
      ...(since.value.trim() ? { since_seq: since.value.trim() } : {}),
      ...(winners.input.checked ? { winning_revs_only: true } : {}), ...rest,
    };
  };
  const showResult = () => {
    let made;
    try { made = withoutSecrets(read(true)); } catch {
      fill(result, h("p.soft", null, "The document is shown when the fields above are right."));
      return;
    }
    const json = writeExact(made), curl = curlOf(made, edited ? document._rev : undefined);
    const part = (/** @type {string} */ label, /** @type {string} */ text) => h("div.column.tight", null,
      h("div.row.spread", null, h("h3", null, label),
        button({ title: `Copy as ${label}`, icon: "copy", kind: "plain small", onclick: () => copyText(text, label) })),
      h("pre.sync-code", { tabindex: 0, "aria-label": label }, text));
    fill(result, h("div.column", null, part("JSON", json), part("curl", curl),
      json.includes("•••") && h("p.small.soft", null,
      "Passwords are shown as •••. Enter them before you use the command.")));
  };
  const check = () => {
    let isRight = true;
    for (const end of Object.values(ends)) { end.wrong = end.check(); if (end.check()) isRight = false; }
    if (!isRight) return false;
    const source = ends.source.local, target = ends.target.local;
    if (isDivan() && source === null && target === null) {
      ends.target.wrong = "One of the two must be a database of this server.";
    } else if (source !== null && source === target) {
      ends.target.wrong = "Source and target are the same database.";
    } else if (target && databases.length && !databases.includes(target) && !create.input.checked) {
      ends.target.wrong = "This server has no such database: turn on “Create the target if it is missing”.";
    } else return true;
    return false;
  };
  const save = async () => {
    fill(wrong);
    nameLine.wrong = "";
    if (!check()) { /** @type {HTMLElement | null} */ (element.querySelector("[aria-invalid]"))?.focus(); return; }
    submit.disabled = true;
    try {
      const made = read(false), id = await store(edited ? { ...made, _rev: document._rev } : made);
      isChanged = false;
      ctx.guard(null);
      toast(edited ? `The replication “${id}” starts anew.` : `The replication “${id}” is created.`);
      ctx.go(link("sync", "job", id));
    } catch (error) {
      const { status, message } = /** @type {any} */ (error);
      if (status === 409 && !edited) {
        nameLine.wrong = "There is a replication of this name. Choose another one.";
        name.focus();
      } else if (status === 409) {
        fill(wrong, note("danger", "The document has changed meanwhile. Load this page again."));
      } else if (status !== undefined) fill(wrong, note("danger", message));
    } finally { submit.disabled = false; }
  };
  const element = h("form.column.wide.sync-form",
    { novalidate: true, onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); save(); } },
    h("div.sync-columns", null, ends.source.element, ends.target.element),
    h("fieldset.panel", null, h("div.body.end", null, h("legend", null, "How"),
      h("div.row", null, mode, create), nameLine)),
    what.element,
    h("details.panel", null, h("summary.body.strong", null, "Options"),
      h("div.body.end", null, checkpoints, hasWinners() && winners,
      field({ label: "Begin after a sequence of the source (since_seq)", input: since }))),
    h("details.panel", null, h("summary.body.strong", null, "The document, and the same with curl"),
      h("div.body", null, result)),
    wrong, h("div.row", null, submit,
      linkButton({ label: "Cancel", kind: "plain", href: edited ? link("sync", "job", edited) : "#/sync" })));
  isChanged = false;
  showResult();
  ctx.guard(async () => !isChanged
    || ask({ title: "Leave without saving?", message: "What you have entered is lost.", action: "Discard changes" }));
  return element;
}

/** Whether the server knows `winning_revs_only`, which is new in CouchDB 3.3. */
function hasWinners() {
  const [major, minor] = (server.value?.version ?? "").split(".").map(Number);
  return isDivan() || major > 3 || major === 3 && minor >= 3;
}

/**
 * Saves a document of `_replicator`, a value of `parseExact`, and makes the database where it is missing. Gives the
 * document's ID.
 *
 * @param {any} document
 * @returns {Promise<string>}
 */
async function store(document) {
  const put = async () => (document._id ? await writeDocument(REPLICATOR, document)
    : await writeExactly("POST", path(REPLICATOR), document)).id;
  try { return await put(); } catch (error) {
    if (/** @type {any} */ (error).status !== 404) throw error;
    await api.put(path(REPLICATOR));
    return put();
  }
}

/**
 * @param {any} document
 * @param {string} [rev]
 * @returns {string}
 */
function curlOf(document, rev) {
  const { _id, ...body } = document, base = new URL(REPLICATOR, root).href;
  const place = _id ? `${base}/${encodeURIComponent(_id)}${rev ? `?rev=${rev}` : ""}` : base;
  return `curl -X ${_id ? "PUT" : "POST"} ${shellWord(place)} \\\n`
    + `  -H 'Content-Type: application/json' \\\n  -d ${shellWord(stringifyExact(body))}`;
}
