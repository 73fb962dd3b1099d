// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { emptyState, errorState, loadingState, tag } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { ago, count } from "../core/format.js";
import { link } from "../core/router.js";
import { poll } from "../core/waiting.js";

const NAMES = new Map([
  ["replication", "Replication"], ["indexer", "View index"], ["search_indexer", "Search index"],
  ["database_compaction", "Compaction"], ["view_compaction", "Index compaction"],
]);
/** Numbers that are worth telling, where a task has them. */
const NUMBERS = [["changes_done", "changes done"], ["total_changes", "total changes"], ["docs_read", "read"],
  ["docs_written", "written"], ["doc_write_failures", "rejected"], ["changes_pending", "waiting"]];

/**
 * What the server does in the background, asked every two seconds.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function tasksPart({ signal }) {
  const list = h("div", null, loadingState(3));
  let shown = "";
  const ask = async () => {
    try {
      const tasks = await api.get("/_active_tasks", { signal });
      const text = JSON.stringify(tasks);
      // A task that has not moved keeps the focus of a link in it.
      if (text === shown) return;
      shown = text;
      fill(list, tasks.length ? h("ul.rows", { "aria-label": "Active tasks" }, tasks.map(row))
        : emptyState({ icon: "check", title: "No active tasks",
          text: "Compactions, index builds and replications are shown here while they run." }));
    } catch (error) {
      if (signal.aborted) return;
      shown = "";
      fill(list, errorState(error, ask));
    }
  };
  poll(signal, 2000, ask);
  return h("section.panel", null, h("header", null, h("h2", null, "Active tasks")), list);
}

/** @param {any} task */
function row(task) {
  const status = task.process_status, isReplication = task.type === "replication";
  const name = NAMES.get(task.type) ?? String(task.type);
  const database = String(task.database ?? "").replace(/^shards\/[^/]+\/(.*)\.\d+$/, "$1");
  const numbers = NUMBERS.filter(([key]) => task[key] > 0).map(([key, label]) => `${count(task[key])} ${label}`);
  const what = isReplication ? `${task.source} → ${task.target}`
    : [database, task.design_document].filter(Boolean).join(", ");
  return h("li.column.tight", null,
    h("div.row", null, h("strong", null, name),
      status && tag(String(status), status === "running" ? "success" : "warning"),
      task.continuous === true && tag("continuous"),
      h("span.soft.small.push", null,
        `began ${ago(task.started_on * 1000)}, updated ${ago(task.updated_on * 1000)}`)),
    h("a", { href: isReplication ? "#/sync" : link("db", database, "storage"), dir: "auto" }, what),
    typeof task.progress === "number" && h("progress.progress",
      { max: 100, value: task.progress, "aria-label": `${name}: ${task.progress} %` }),
    h("p.soft.small", null, numbers.join(", ")));
}
