// SPDX-License-Identifier: Apache-2.0

import { readRows } from "../api/couch.js";
import { copyText } from "../components/copy.js";
import { openDialog } from "../components/dialog.js";
import { workDialog } from "../components/progress.js";
import { toast, toastError } from "../components/toast.js";
import { plural } from "../core/format.js";
import { deleteSelected, editSelected, failureTable } from "./bulk.js";
import { exportDocuments } from "./export.js";
import { restore } from "./work.js";

/**
 * What can be done with the documents of a list, and the undo of the last change.
 *
 * @typedef {import("./bulk.js").Selected} Selected
 * @typedef {import("./work.js").Saved} Saved
 */
export class Actions {
  /**
   * @param {object} options
   * @param {string} options.database
   * @param {AbortSignal} options.signal
   * @param {() => string[]} options.names Properties to choose from.
   * @param {() => { source: import("./pages.js").Source, total: number | null }} options.list
   * @param {(revs: string[]) => Promise<void>} options.onChange The page has saved these revisions.
   */
  constructor({ database, signal, names, list, onChange }) {
    this.database = database;
    this.signal = signal;
    this.names = names;
    this.list = list;
    this.onChange = onChange;
    /** What the last change can be undone with. */
    this.undo = { words: "", saved: /** @type {Saved[]} */ ([]) };
  }

  /**
   * Keeps what a change can be undone with, also over several tries.
   *
   * @param {string} doing
   */
  #keeper(doing) {
    /** @type {Saved[]} */
    const saved = [];
    return (/** @type {import("./work.js").Outcome} */ outcome) => {
      saved.push(...outcome.undo);
      if (saved.length) this.undo = { words: `${doing} ${plural(saved.length, "document")}`, saved };
      this.onChange(outcome.undo.map(({ rev }) => rev));
    };
  }

  /** @param {Selected} selected */
  delete(selected) {
    const { database, signal } = this;
    return deleteSelected({ database, selected, signal, then: this.#keeper("delete") }).catch(toastError);
  }

  /** @param {Selected} selected */
  edit(selected) {
    const { database, signal } = this;
    const then = this.#keeper("change");
    return editSelected({ database, selected, signal, then, names: this.names() }).catch(toastError);
  }

  async undoLast() {
    const { database, signal, undo: { words, saved } } = this;
    const outcome = await workDialog({
      title: `Undo: ${words}`, signal,
      work: (stop, line) => restore(database, saved, stop, (done) => line.count(done, saved.length)),
    });
    if (signal.aborted || !outcome) return;
    const { failures, undo, rest } = outcome;
    // What was not restored can be tried again.
    this.undo = { words, saved: rest };
    await this.onChange(undo.map(({ rev }) => rev));
    if (!failures.length) toast(`Restored ${plural(undo.length, "document")}.`);
    else {
      openDialog({
        title: `${plural(failures.length, "document")} could not be restored`,
        body: failureTable(failures), signal, wide: true,
      });
    }
  }

  /** @param {Selected} selected */
  async copyIDs(selected) {
    const ids = [];
    try {
      for await (const some of selected.targets(this.signal)) ids.push(...some.map(({ id }) => id));
      await copyText(ids.join("\n"), plural(ids.length, "ID"));
    } catch (error) { toastError(error); }
  }

  /** @param {Selected | null} selected Null for everything that the list has. */
  export(selected) {
    const { database } = this;
    const { source, total } = this.list();
    return exportDocuments({
      name: database, total: selected ? selected.total : total, signal: this.signal,
      docs: async function* (signal) {
        for await (const some of selected ? selected.targets(signal) : source.scan(signal, false)) {
          for (let start = 0; start < some.length; start += 500) {
            const rows = await readRows(database, some.slice(start, start + 500).map(({ id }) => id), signal);
            yield rows.flatMap(({ doc }) => doc ?? []);
          }
        }
      },
    }).catch(toastError);
  }
}
