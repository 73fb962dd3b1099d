// SPDX-License-Identifier: Apache-2.0

import { toast } from "./toast.js";

/**
 * Copies a text, also where the page is not secure and the browser has no clipboard for it.
 *
 * @param {string} text
 * @param {string} what
 */
export async function copyText(text, what) {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied.`);
}
