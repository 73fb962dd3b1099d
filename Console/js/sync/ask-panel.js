// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { link } from "../core/router.js";
import { button } from "../components/button.js";
import { field, input } from "../components/field.js";
import { icon } from "../components/icon.js";
import { workRegion } from "../components/progress.js";
import { note, tag } from "../components/states.js";
import { compare, scopeOfDocument } from "./scope.js";
import { explainDocument } from "./why.js";

const SHOWN = 200;
/** @type {Record<string, [icon: import("../components/icon.js").IconName, kind: string, says: string]>} */
const MARKS = { true: ["check", "yes", "Yes: "], false: ["close", "no", "No: "],
  null: ["info", "unknown", "Unknown: "] };

/**
 * Asks why a document was not sent, and compares source and target.
 *
 * @param {() => import("./jobs.js").Job} job
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
export function askPanel(job, ctx) {
  const box = input({ value: ctx.query.get("doc") ?? "", placeholder: "order-1", required: true });
  const result = workRegion(ctx.signal);
  const askWhy = () => {
    const id = box.value.trim();
    if (!id) { box.focus(); return; }
    ctx.setQuery({ in: ctx.query.get("in"), doc: id });
    result.run(async (signal, { show }) => {
      const { tone, sentence, steps } = await explainDocument(job(), id, signal, (text) => show(null, text));
      signal.throwIfAborted();
      return h("div.column", null, note(tone, sentence),
        h("ol.column.tight.sync-steps", null, steps.map(({ isFine, text }) => {
          const [name, kind, says] = MARKS[String(isFine)];
          return h("li", null, h("span", { class: kind }, icon(name), h("span.unseen", null, says)),
            h("span", null, text));
        })));
    });
  };
  const compareAll = () => result.run(async (signal, { show }) => {
    const { localSource, localTarget, document } = job();
    const { compared, missing } = await compare(String(localSource), String(localTarget), scopeOfDocument(document), {
      signal, winnersOnly: document?.winning_revs_only === true,
      onProgress: (all, lacking) => show(null, `${count(all)} compared, ${count(lacking)} missing`),
    });
    if (!missing.length) return note("success",
      `The target has all revisions of the ${plural(compared, "document")} that the replication sends.`);
    return h("div.column", null,
      note("warning", `The target lacks revisions of ${plural(missing.length, "document")} `
        + `out of ${count(compared)}. Choose one to see why.`),
      h("ul.column.tight", null, missing.slice(0, SHOWN).map((one) => h("li.row", null,
        button({ label: one.id, kind: "small", onclick: () => { box.value = one.id; askWhy(); } }),
        one.isDeleted && tag("deleted", "danger"),
        h("span.small.code.soft", null, one.revs.join(", ")),
        h("a.small", { href: link("db", String(localSource), "doc", one.id) }, "in the source")))),
      missing.length > SHOWN && h("p.soft", null, `and ${count(missing.length - SHOWN)} more`));
  });
  if (box.value) queueMicrotask(() => { if (job().key) askWhy(); });
  const { localSource, localTarget } = job();
  return h("section.panel", { "aria-label": "Why was a document not sent?" },
    h("header", null, h("h2", null, "Why was a document not sent?")),
    h("div.body.column", null,
      h("form.column", { novalidate: true,
        onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); askWhy(); } },
        field({ label: "ID of the document", input: box,
          hint: "The console asks the source, the filter and the target. It writes nothing." }),
        h("div.row", null, h("button.button.primary", { type: "submit" }, "Find out why"),
          localSource && localTarget
            && button({ label: "Compare source and target", icon: "search", onclick: compareAll }))),
      result));
}
