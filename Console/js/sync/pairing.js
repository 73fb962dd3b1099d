// SPDX-License-Identifier: Apache-2.0

import { api, path } from "../api/client.js";
import { button } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { openDialog } from "../components/dialog.js";
import { field, textarea } from "../components/field.js";
import { note } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { poll } from "../core/waiting.js";
import { qrPicture } from "./qr-picture.js";

/**
 * What the server says of a pairing: `shown` is one by a link of this device, `used` one by a link of another device.
 *
 * @typedef {{
 *   id: string, kind: "shown" | "used", state: string, database: string, link?: string, modules?: string[],
 *   device?: { id: string, name: string }, code?: string, reason?: string,
 * }} Pairing
 */

/** For how many seconds a link counts. */
export const SECONDS = 300;

const ENDS = /** @type {Record<string, string>} */ ({
  declined: "The pairing was declined.", failed: "The pairing failed.",
  expired: "The time is over. Start again with a new link.", ended: "The pairing has ended.",
});

/**
 * Shows how a pairing goes on, until it is closed: that ends a pairing that is under way and was not accepted.
 *
 * @param {string} title
 * @param {Pairing} pairing
 * @param {AbortSignal} signal
 */
export async function followPairing(title, pairing, signal) {
  const body = h("div.column.pairing", { tabindex: -1, "aria-live": "polite" }), wrong = h("div");
  const clock = h("span", { role: "timer", "aria-live": "off" });
  const end = new AbortController(), place = path("_divan", "pairings", pairing.id);
  // Counted here, not read from the answer: the clocks of the server and the browser may differ.
  const until = Date.now() + SECONDS * 1000;
  let shown = "", isAccepted = false;
  const isOver = () => pairing.state === "paired" || Object.hasOwn(ENDS, pairing.state);

  const complain = (/** @type {unknown} */ error) =>
    fill(wrong, !end.signal.aborted && note("danger", /** @type {Error} */ (error).message));
  const answer = async (/** @type {boolean} */ accept, /** @type {HTMLElement} */ buttons) => {
    try {
      await api.put(place, { accept });
      isAccepted = accept;
      fill(buttons, accept ? "Accepted. The devices finish the pairing." : "Declined.");
    } catch (error) { complain(error); }
  };
  const draw = () => {
    const seconds = Math.max(0, Math.round((until - Date.now()) / 1000));
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (pairing.state === shown) return;
    shown = pairing.state;
    const hadFocus = body.contains(document.activeElement);
    fill(body, content(pairing, clock, answer));
    // What had it is gone. No button is given it: one key too many would accept.
    if (hadFocus) body.focus();
    if (isOver()) end.abort();
  };
  const look = async () => {
    try {
      pairing = await api.get(place, { signal: end.signal });
      fill(wrong);
    } catch (error) {
      if (/** @type {any} */ (error).status === 404) pairing.state = "ended"; else complain(error);
    }
    if (!end.signal.aborted) draw();
  };
  draw();
  const closed = openDialog({ title, body: [body, wrong], signal });
  poll(end.signal, 1000, look);
  await closed;
  end.abort();
  // The server may have forgotten it. What was accepted goes on without the dialog.
  if (!isOver() && !isAccepted) await api.delete(place).catch(() => {});
}

/**
 * @param {Pairing} pairing
 * @param {HTMLElement} clock
 * @param {(accept: boolean, buttons: HTMLElement) => Promise<void>} answer
 * @returns {import("../core/dom.js").Children}
 */
function content({ kind, state, database, link = "", modules, device, code = "", reason }, clock, answer) {
  if (state === "waiting" && kind === "shown") {
    return [
      h("p", null, "Scan the code with the other device, or send it the link. One device can use it once. ",
        "It counts for ", clock, "."),
      modules && qrPicture(modules, `QR code of the link that shares ${database}`),
      field({ label: "Link", input: textarea({ value: link, readOnly: true, rows: 4, dir: "ltr" }) }),
      button({ label: "Copy the link", icon: "copy", onclick: () => copyText(link, "The link") }),
    ];
  }
  if (state === "waiting") return h("p", { role: "status" }, "Connecting to the other device…");
  if (state === "asking") {
    const buttons = h("div.row");
    fill(buttons,
      button({ label: "Accept", kind: "primary", onclick: () => answer(true, buttons) }),
      button({ label: "Decline", onclick: () => answer(false, buttons) }));
    return [
      h("p", null, h("strong", { dir: "auto" }, device?.name), kind === "shown"
        ? ` wants to read and change the documents of ${database}.` : ` shares ${database} when its user accepts.`),
      h("p.digits", { "aria-label": [...code].join(" ") }, code),
      h("p.strong", null, "Both screens must show these digits."),
      kind === "shown" && buttons,
    ];
  }
  return state === "paired"
    ? note("success", "Paired", device && [" with ", h("strong", { dir: "auto" }, device.name)],
      `. Both devices share ${database}.`)
    : note("warning", reason ?? ENDS[state] ?? state);
}
