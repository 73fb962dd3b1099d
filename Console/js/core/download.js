// SPDX-License-Identifier: Apache-2.0

/**
 * Has the browser save a file.
 *
 * @param {string} name
 * @param {BlobPart} content
 * @param {string} [type]
 */
export function download(name, content, type = "application/json") {
  const href = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
