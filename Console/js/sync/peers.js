// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { has, mayWrite, session } from "../api/server.js";
import { button } from "../components/button.js";
import { icon } from "../components/icon.js";
import { note } from "../components/states.js";
import { toastError } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { rename } from "./device-actions.js";
import { showLink, useLink } from "./device-link.js";
import { deviceRow } from "./device-row.js";

const TITLE = "Devices on this network", PLACE = "/_divan/peers";

/**
 * The devices that are paired with this server, once `reload` was called; stays empty for a user who may not ask. Where
 * the server pairs with none, it says how one is started that does.
 *
 * @param {AbortSignal} signal
 * @returns {HTMLElement & { reload: () => Promise<void> }}
 */
export function peersPanel(signal) {
  const isOffered = has("divan-peers"), mayAsk = isOffered && session.value?.isAdmin;
  const name = h("strong", { dir: "auto" }), said = h("div.soft"), list = h("ul.sync-list");
  /** @type {Map<string, import("./device-row.js").DeviceRow>} */
  const rows = new Map();
  let order = "";
  const does = (/** @type {(signal: AbortSignal) => Promise<void>} */ act) =>
    () => { act(signal).then(reload).catch(toastError); };
  const actions = isOffered && mayWrite() && h("div.row.push", null,
    button({ label: "Use a link", icon: "link", kind: "small", onclick: does(useLink) }),
    button({ label: "Pair a device", icon: "add", kind: "small", onclick: does(showLink) }));
  const self = h("div.row", null, h("span.soft", null, "This device:"), name, mayWrite() && button({
    title: "Rename this device", icon: "edit", kind: "plain small",
    onclick: () => { rename(PLACE, name.textContent ?? "", signal, reload); } }));
  const element = h("section.panel", { "aria-label": TITLE, hidden: isOffered },
    h("header", null, icon("qr"), h("h2", null, TITLE), actions),
    h("div.body.column", null, isOffered ? [self, said] : h("p.soft", null,
      "To pair devices here, start the server with ", h("code", null, "divan serve DIR --nearby"), ".")), list);

  const reload = async () => {
    if (!mayAsk || signal.aborted) return;
    try {
      const device = await api.get(PLACE, { signal });
      name.textContent = device.name;
      fill(said, !device.peers.length ? "No device is paired yet." : !device.synchronizes
        && ["Paired devices can reach this server, which receives nothing from them: it runs without ",
          h("code.whole", null, "--nearby"), "."]);
      /** @type {import("./device-row.js").Peer[]} */
      const peers = device.peers;
      const shown = peers.map((peer) => {
        let row = rows.get(peer.id);
        if (!row) rows.set(peer.id, row = deviceRow(peer, signal, reload));
        row.update(peer);
        return row.element;
      });
      // The lines are only arranged anew when others are shown: the focus in them stays.
      const now = peers.map((peer) => peer.id).join();
      if (now !== order) { order = now; fill(list, shown); }
    } catch (error) {
      if (signal.aborted) return;
      fill(said, note("warning", /** @type {Error} */ (error).message));
    }
    said.hidden = !said.firstChild;
    element.hidden = false;
  };
  return Object.assign(element, { reload });
}
