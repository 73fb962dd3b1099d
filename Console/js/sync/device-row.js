// SPDX-License-Identifier: Apache-2.0

import { mayWrite } from "../api/server.js";
import { menuButton } from "../components/menu.js";
import { tag } from "../components/states.js";
import { fill, h } from "../core/dom.js";
import { ago, count, time } from "../core/format.js";
import { link } from "../core/router.js";
import { deviceActions } from "./device-actions.js";

/**
 * A paired device, as the server tells of it.
 *
 * @typedef {{
 *   id: string, name: string, databases: string[], paired: string, presence?: string,
 *   pulls?: Record<string, { activity: string, transferred: number, error?: string }>,
 * }} Peer
 *
 * @typedef {{ element: HTMLElement, update: (peer: Peer) => void }} DeviceRow
 */

const PRESENCE = /** @type {Record<string, [string, "" | "success" | "danger" | "warning"]>} */ ({
  away: ["Away", ""], connecting: ["Connecting", "warning"], connected: ["Connected", "success"],
  unreachable: ["Unreachable", "danger"], refused: ["Refuses this device", "danger"],
});
const ACTIVITY = /** @type {Record<string, string>} */ ({
  idle: "up to date", busy: "receiving", connecting: "connecting", offline: "offline", stopped: "stopped",
});

/**
 * A paired device as a line of the list. What can have the focus stays while the rest is drawn anew.
 *
 * @param {Peer} peer
 * @param {AbortSignal} signal
 * @param {() => any} reload
 * @returns {DeviceRow}
 */
export function deviceRow(peer, signal, reload) {
  const name = h("span.strong", { dir: "auto" }), presence = h("span"), paired = h("p.tiny.faint");
  const databases = h("ul.column.tight.small");
  const more = mayWrite() && menuButton({ title: "Actions", kind: "plain small",
    items: () => deviceActions(peer, signal, reload) });
  return {
    element: h("li.device.row.nowrap.top", null,
      h("div.column.tight.grow", null, h("div.row", null, name, presence), databases, paired), more),
    update: (now) => {
      peer = now;
      name.textContent = peer.name;
      if (more) more.ariaLabel = more.title = `Actions for ${peer.name}`;
      fill(presence, peer.presence && tag(...(PRESENCE[peer.presence] ?? [peer.presence, ""])));
      fill(paired, `paired ${ago(peer.paired)}`);
      paired.title = time(peer.paired);
      if (databases.contains(document.activeElement)) return;
      fill(databases, peer.databases.map((database) => {
        const pull = peer.pulls?.[database];
        return h("li", null, h("a", { href: link("db", database, "docs") }, database), " ",
          pull && h("span.soft", null,
            `${ACTIVITY[pull.activity] ?? pull.activity} · ${count(pull.transferred)} received`),
          pull?.error && h("div.wrong", null, pull.error));
      }), !peer.databases.length && h("li.soft", null, "No database is shared."));
    },
  };
}
