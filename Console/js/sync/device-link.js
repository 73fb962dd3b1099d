// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { allDatabases, databaseInfo } from "../api/couch.js";
import { openDialog, Refusal } from "../components/dialog.js";
import { checkbox, field, select, textarea } from "../components/field.js";
import { note } from "../components/states.js";
import { toast } from "../components/toast.js";
import { fill, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { followPairing, SECONDS } from "./pairing.js";

/**
 * The databases of this server that a device can share.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
export const databasesToShare = async (signal) =>
  (await allDatabases({ signal })).filter((name) => !name.startsWith("_"));

/**
 * Pairs with a device that uses a link of this one.
 *
 * @param {AbortSignal} signal
 */
export async function showLink(signal) {
  const title = "Pair a device", names = await databasesToShare(signal);
  if (!names.length) { toast("Create a database to share first.", { kind: "info" }); return; }
  const choice = select(names.map((value) => ({ value, label: value })), names[0]);
  const pairing = await openDialog({
    title, action: "Show the code", signal,
    body: field({ label: "Database", input: choice, hint: "Both devices can read and change its documents." }),
    submit: () => api.post("/_divan/pairings", { database: choice.value, seconds: SECONDS }),
  });
  if (pairing) await followPairing(title, pairing, signal);
}

/**
 * Pairs with a device by the link that it shows. Asks before documents that are here are shared.
 *
 * @param {AbortSignal} signal
 */
export async function useLink(signal) {
  const title = "Use a link", consent = h("div.column", { "aria-live": "polite" });
  /** @type {ReturnType<typeof checkbox> | null} */
  let box = null;
  const text = textarea({ dir: "ltr", placeholder: "divan://…", oninput: () => { box = null; fill(consent); } });
  const pairing = await openDialog({
    title, action: "Pair", signal,
    body: [field({ label: "Link", input: text, hint: "Paste the link that the other device shows." }), consent],
    submit: async () => {
      const link = text.value.trim();
      if (box && !box.input.checked) throw new Error("Tick the box to share these documents, or cancel.");
      try {
        return await api.post("/_divan/pairings", { link, ...(box && { share_existing: true }) });
      } catch (error) {
        if (box || /** @type {any} */ (error).status !== 409) throw error;
        const name = decodeURIComponent(link.match(/^divan:\/\/[^/]*\/([^?#]*)/i)?.[1] ?? "");
        const documents = plural((await databaseInfo(name, { signal })).doc_count, "document");
        box = checkbox(`Share the ${documents} of ${name}`);
        fill(consent, note("warning", `The database ${name} is here already. `,
          `The other device could read and change its ${documents}.`), box);
        box.input.focus();
        throw new Refusal();
      }
    },
  });
  if (pairing) await followPairing(title, pairing, signal);
}
