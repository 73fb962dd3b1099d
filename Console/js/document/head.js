// SPDX-License-Identifier: Apache-2.0

import { address, documentPath } from "../api/client.js";
import { button, linkButton, segments } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { download } from "../core/download.js";
import { menuButton } from "../components/menu.js";
import { tag } from "../components/states.js";
import { h } from "../core/dom.js";
import { plural, shellWord } from "../core/format.js";
import { link } from "../core/router.js";
import { short } from "../core/revision.js";
import { setMode, showBase } from "./layout.js";
import { remove } from "./remove.js";
import { review, save } from "./saving.js";

/**
 * The line above a document: what it is, and what can be done with it.
 *
 * @param {import("./page.js").DocumentPage} page
 * @returns {import("../core/dom.js").Children}
 */
export function documentHead(page) {
  const { base, database, isReadOnly, isReading, ctx } = page;
  const isSaved = base.rev !== "", history = link("db", database, "doc", base.id, "history");
  const conflicts = page.shownRev ? 0 : base.meta._conflicts?.length ?? 0;
  page.saveButton = isReadOnly ? null : button({
    label: isSaved ? "Save" : "Create", title: "Save the document (Ctrl+S)", icon: "save", kind: "primary",
    onclick: () => { save(page); },
  });
  page.reviewButton = isReadOnly || !isSaved ? null : button({
    label: "Review changes", title: "See what a save changes", onclick: () => review(page),
  });
  return [
    h("h1.cut", { title: base.id, dir: "auto" }, base.id || "New document"),
    base.id && isSaved && button({
      title: "Copy the ID", icon: "copy", kind: "plain small", onclick: () => copyText(base.id, "The ID"),
    }),
    isSaved && h("button.tag.code", {
      type: "button", title: `Copy the revision ${base.rev}`, onclick: () => copyText(base.rev, "The revision"),
    }, short(base.rev)),
    conflicts > 0 && h("a", { href: history }, tag(plural(conflicts, "conflict"), "danger")),
    h("div.actions", null,
      segments({
        label: "How the document is shown", value: isReading ? "read" : "edit",
        options: [{ value: "edit", label: isReadOnly ? "Text" : "Edit" }, { value: "read", label: "Read" }],
        onchange: (value) => {
          setMode(page, value === "read");
          ctx.setQuery({ ...Object.fromEntries(ctx.query), mode: page.isReading ? "read" : "" });
          if (page.isReading !== (value === "read")) showBase(page);
        },
      }),
      isSaved && linkButton({ label: "History", icon: "history", href: history }),
      page.reviewButton, page.saveButton,
      isSaved && menuButton({ title: "More", items: () => [
        !isReadOnly && {
          label: "Duplicate", icon: "copy",
          call: () => ctx.go(link("db", database, "doc", "_new", { from: base.id })),
        },
        {
          label: "Download as JSON", icon: "download",
          call: () => download(`${base.id.replace(/[^\w.-]+/g, "_")}.json`, page.editor?.text ?? ""),
        },
        {
          label: "Copy as curl command", icon: "copy",
          call: () => copyText(curl(database, base.id, page.shownRev), "The command"),
        },
        {
          label: "Open the raw JSON", icon: "link",
          call: () => window.open(
            address(documentPath(database, base.id), { rev: page.shownRev || undefined }), "_blank", "noopener",
          ),
        },
        !isReadOnly && "line",
        !isReadOnly && { label: "Delete", icon: "delete", danger: true, call: () => remove(page) },
      ] })),
  ];
}

/**
 * @param {string} database
 * @param {string} id
 * @param {string} rev
 * @returns {string}
 */
function curl(database, id, rev) {
  const url = address(documentPath(database, id), { rev: rev || undefined }).href;
  return `curl -H 'Accept: application/json' ${shellWord(url)}`;
}
