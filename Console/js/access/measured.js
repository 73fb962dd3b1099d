// SPDX-License-Identifier: Apache-2.0

import { errorState } from "../components/states.js";
import { fill, h } from "../core/dom.js";

/**
 * A region that shows how far its work is, then the result. It ends with the view.
 *
 * @param {AbortSignal} signal
 * @param {(progress: (done: number, total: number) => void) => Promise<import("../core/dom.js").Children>} work
 * @returns {HTMLElement & { run: () => Promise<void> }}
 */
export function measured(signal, work) {
  const element = h("div.column.measured", { "aria-live": "polite" });
  let turn = 0;
  const run = async () => {
    const mine = ++turn;
    const bar = h("progress.progress", { max: 1, "aria-label": "Databases looked at" });
    const text = h("p.soft.small", null, "Looking at the databases…");
    if (!element.children.length || element.querySelector(".state")) fill(element,
      h("div.body.column", null, text, bar));
    try {
      const result = await work((done, total) => {
        bar.value = done / total;
        text.textContent = `Looking at the databases: ${done} of ${total}`;
      });
      if (mine === turn && !signal.aborted) fill(element, result);
    } catch (error) { if (mine === turn && !signal.aborted) fill(element, errorState(error, run)); }
  };
  run();
  return Object.assign(element, { run });
}
