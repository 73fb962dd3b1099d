// SPDX-License-Identifier: Apache-2.0

import { api, path } from "../api/client.js";
import { ask, openDialog } from "../components/dialog.js";
import { checkbox, field, input } from "../components/field.js";
import { toast, toastError } from "../components/toast.js";
import { h } from "../core/dom.js";
import { databasesToShare } from "./device-link.js";

/** @typedef {import("./device-row.js").Peer} Peer */

/**
 * Asks for another name of this device, or of a paired one.
 *
 * @param {string} place Where the name is put.
 * @param {string} name
 * @param {AbortSignal} signal
 * @param {() => any} then
 */
export async function rename(place, name, signal, then) {
  const box = input({ value: name, maxlength: 64, autofocus: true });
  await openDialog({
    title: `Rename “${name}”`, action: "Rename", signal,
    body: field({ label: "Name", input: box }),
    submit: () => api.put(place, { name: box.value.trim() }),
  });
  await then();
}

/**
 * @param {Peer} peer
 * @param {AbortSignal} signal
 * @param {() => any} then
 */
async function share(peer, signal, then) {
  const names = [...new Set([...await databasesToShare(signal), ...peer.databases])].sort();
  const boxes = names.map((name) => checkbox(name, { checked: peer.databases.includes(name), value: name }));
  await openDialog({
    title: `Databases shared with “${peer.name}”`, action: "Save", signal,
    body: [h("p", null, "The device can read and change the documents of the databases that are ticked."),
      h("ul.column.tight", null, boxes.map((box) => h("li", null, box)))],
    submit: () => api.put(path("_divan", "peers", peer.id), {
      databases: boxes.filter((box) => box.input.checked).map((box) => box.input.value) }),
  });
  await then();
}

/**
 * @param {Peer} peer
 * @param {() => any} then
 */
async function end(peer, then) {
  if (!await ask({
    title: `End the pairing with “${peer.name}”?`, action: "End the pairing", danger: true,
    message: h("p", null, "This server refuses the device from its next request on. ",
      "Both keep the documents that they have, and can be paired again by a new link."),
    perform: () => api.delete(path("_divan", "peers", peer.id)),
  })) return;
  toast(`The pairing with “${peer.name}” has ended.`);
  await then();
}

/**
 * What can be done with a paired device.
 *
 * @param {Peer} peer
 * @param {AbortSignal} signal
 * @param {() => any} then Called after a change.
 * @returns {import("../components/menu.js").MenuItem[]}
 */
export const deviceActions = (peer, signal, then) => [
  { label: "Rename", icon: "edit", call: () => rename(path("_divan", "peers", peer.id), peer.name, signal, then) },
  { label: "Shared databases", icon: "database", call: () => share(peer, signal, then).catch(toastError) },
  "line",
  { label: "End the pairing", icon: "stop", danger: true, call: () => end(peer, then) },
];
