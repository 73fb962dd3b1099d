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

/**
 * Has the browser save a text as a file.
 *
 * @param {string} name
 * @param {string} text
 * @param {string} [type]
 */
export function download(name, text, type = "application/json") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
