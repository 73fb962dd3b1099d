// SPDX-License-Identifier: Apache-2.0

import { address, api, documentPath, send, upload } from "../api/client.js";
import { button } from "../components/button.js";
import { ask } from "../components/dialog.js";
import { field, input } from "../components/field.js";
import { icon } from "../components/icon.js";
import { menuButton } from "../components/menu.js";
import { progressLine, workDialog } from "../components/progress.js";
import { emptyState } from "../components/states.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { bytes, plural } from "../core/format.js";
import { preview } from "./preview.js";

/**
 * The attachments of a document. Each is sent by itself and makes a revision, which `revise` is told; those that are
 * chosen together go one after the other, since each needs the revision of the one before.
 *
 * @typedef {object} Owner
 * @property {string} database
 * @property {string} id
 * @property {() => string} rev The revision that the next change is based on.
 * @property {(rev: string | null) => Promise<void>} revise Takes the document of a new revision; null when another
 *   writer has made one.
 * @property {<T>(work: () => Promise<T>) => Promise<T>} busy Says that revisions that appear meanwhile may be the
 *   panel's.
 * @property {boolean} mayWrite
 * @property {AbortSignal} signal
 */
export class AttachmentsPanel {
  /** @param {Owner} owner */
  constructor(owner) {
    this.owner = owner;
    this.list = h("ul.attachments");
    this.tasks = h("ul.attachments", { "aria-live": "polite" });
    /** @type {Record<string, any>} */
    this.attachments = {};
    /** The uploads before the next one. */
    this.last = Promise.resolve();
    const chooser = h("input", {
      type: "file", multiple: true, hidden: true,
      onchange: () => { this.add(chooser.files); chooser.value = ""; },
    });
    this.heading = h("h2", null, "Attachments");
    this.element = h("section.panel.attachments-panel", { "aria-label": "Attachments" },
      h("header", null, this.heading,
        owner.mayWrite && button({
          label: "Upload", icon: "upload", kind: "small", onclick: () => chooser.click(), props: { class: "push" },
        }),
        chooser),
      h("div.body.column", null, this.tasks, this.list));
    if (owner.mayWrite) this.takeDrops();
  }

  takeDrops() {
    const { element } = this;
    element.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      element.classList.add("drop");
    });
    for (const name of ["dragleave", "drop"]) element.addEventListener(name, () => element.classList.remove("drop"));
    element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.add(event.dataTransfer?.files ?? null);
    });
  }

  /** @param {Record<string, any>} attachments */
  show(attachments) {
    const isSame = JSON.stringify(attachments) === JSON.stringify(this.attachments);
    if (isSame && this.list.childElementCount) return;
    this.attachments = attachments;
    const names = Object.keys(attachments).sort();
    this.heading.textContent = names.length ? plural(names.length, "attachment") : "Attachments";
    fill(this.list, names.length ? names.map((name) => this.row(name, attachments[name]))
      : h("li", null, emptyState({
        icon: "attach", title: "No attachments",
        text: this.owner.mayWrite && "Drop files here, or use the Upload button.",
      })));
  }

  /**
   * @param {string} name
   * @param {any} stub
   * @returns {HTMLElement}
   */
  row(name, stub) {
    const { database, id, mayWrite } = this.owner;
    let path = "";
    try { path = documentPath(database, id, name); } catch (error) {
      // Replication may bring a name that no address can have.
      return h("li.attachment", null, h("div.strong", { dir: "auto" }, name || "(no name)"),
        h("div.small.soft", null, /** @type {Error} */ (error).message));
    }
    const href = address(path, { rev: this.owner.rev() || undefined }).href;
    const type = String(stub.content_type ?? ""), length = Number(stub.length ?? 0);
    const place = h("div");
    const look = preview({
      href, path, type, length, name, signal: this.owner.signal,
    });
    return h("li.attachment", null,
      h("div.row.nowrap", null, icon("attach"),
        h("div.grow", null,
          h("div.strong", { dir: "auto" }, name),
          h("div.small.soft", null, `${type} · ${bytes(length)}`)),
        look && button({
          label: "Preview", kind: "small plain",
          props: { "aria-expanded": "false", "aria-label": `Preview ${name}` },
          onclick: (event) => {
            const opener = /** @type {HTMLElement} */ (event.currentTarget), isOpen = place.childElementCount > 0;
            opener.setAttribute("aria-expanded", String(!isOpen));
            fill(place, !isOpen && look());
          },
        }),
        h("a.button.plain.small.square", {
          href, download: name, rel: "noopener", title: `Download ${name}`, "aria-label": `Download ${name}`,
        }, icon("download")),
        mayWrite && menuButton({ title: `More for ${name}`, kind: "plain small", items: () => [
          { label: "Rename", icon: "edit", call: () => this.rename(name, type) },
          { label: "Delete", icon: "delete", danger: true, call: () => this.remove(name) },
        ] })), place);
  }

  /** @param {FileList | null} files */
  add(files) { for (const file of files ?? []) this.last = this.last.then(this.task(file)); }

  /**
   * A line for a file that waits, is being sent, or has failed. The function that it gives sends the file.
   *
   * @param {File} file
   * @returns {() => Promise<void>}
   */
  task(file) {
    const stop = new AbortController();
    this.owner.signal.addEventListener("abort", () => stop.abort(), { once: true });
    const progress = progressLine(() => { stop.abort(); line.remove(); }, `the upload of ${file.name}`);
    const wrong = h("div.row.nowrap", { hidden: true });
    const line = h("li.attachment", null,
      h("div.row.nowrap", null, icon("upload"),
        h("div.grow", null, h("div.strong", { dir: "auto" }, file.name), progress.element, wrong)));
    progress.show(0, "Waiting");
    this.tasks.append(line);
    return async () => {
      if (stop.signal.aborted) return;
      try {
        await this.owner.busy(async () => {
          const answer = await upload(documentPath(this.owner.database, this.owner.id, file.name), file, {
            query: { rev: this.owner.rev() }, signal: stop.signal,
            onProgress: (sent, total) => {
              progress.show(total ? sent / total : 1, `${bytes(sent)} of ${bytes(total)}`);
            },
          });
          await this.owner.revise(answer.rev);
        });
        line.remove();
        toast(`Attached ${file.name}.`);
      } catch (error) {
        if (stop.signal.aborted) return;
        const { status, message } = /** @type {import("../api/client.js").ApiError} */ (error);
        if (status === 409) await this.owner.revise(null);
        progress.hide();
        wrong.hidden = false;
        fill(wrong, h("p.small.wrong.grow", null,
          status === 409 ? "Another writer changed the document. Try again." : message),
        button({
          label: "Try again", kind: "small",
          onclick: () => { line.remove(); this.last = this.last.then(this.task(file)); },
        }),
        button({
          title: `Leave ${file.name} out`, icon: "close", kind: "plain small", onclick: () => line.remove(),
        }));
      }
    };
  }

  /** @param {string} name */
  async remove(name) {
    const { database, id } = this.owner;
    const isDone = await ask({
      title: "Delete the attachment?", danger: true, action: "Delete the attachment",
      message: h("p", null, "The attachment ", h("strong", { dir: "auto" }, name),
        " is removed from the document. Earlier revisions keep it until the database is compacted."),
      perform: () => this.owner.busy(async () => {
        const answer = await api.delete(documentPath(database, id, name), { query: { rev: this.owner.rev() } });
        await this.owner.revise(answer.rev);
      }),
    });
    if (isDone) toast(`Deleted the attachment ${name}.`);
  }

  /**
   * The API has no renaming: the content is copied to the new name, then the old one is deleted.
   *
   * @param {string} name
   * @param {string} type
   */
  async rename(name, type) {
    const { database, id } = this.owner;
    const box = input({ value: name, autofocus: true });
    const line = field({
      label: "New name", input: box, hint: "The content is copied to the new name, then the old attachment is deleted.",
    });
    await workDialog({
      title: "Rename the attachment", action: "Rename the attachment", body: line, signal: this.owner.signal,
      work: (signal, progress) => this.owner.busy(async () => {
        const to = box.value;
        if (!to || to === name) return;
        if (Object.hasOwn(this.attachments, to)) throw new Error("Another attachment has this name.");
        progress.show(null, "Reading the content");
        const content = await (await send("GET", documentPath(database, id, name), {
          query: { rev: this.owner.rev() }, signal,
        })).blob();
        const copy = await upload(documentPath(database, id, to), content, {
          query: { rev: this.owner.rev() }, type, signal,
          onProgress: (sent, total) => progress.show(total ? sent / total : 1, `${bytes(sent)} of ${bytes(total)}`),
        });
        // From here on there are two of it, so that this is done in any case.
        const answer = await api.delete(documentPath(database, id, name), { query: { rev: copy.rev } });
        await this.owner.revise(answer.rev);
      }),
    });
  }
}
