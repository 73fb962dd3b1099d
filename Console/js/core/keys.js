// SPDX-License-Identifier: Apache-2.0

/**
 * Keys that do something anywhere in a view: `keys(ctx.signal, { "/": focusSearch, "mod+s": save })`.
 *
 * `mod` is Control, or Command on a Mac. Keys without `mod` do nothing while one types into a field. The keys of the
 * view that is shown are listed when the user types `?`.
 *
 * @typedef {{ keys: string, does: string, call: (event: KeyboardEvent) => void }} Shortcut
 */

/** @type {Set<Shortcut>} */
const shortcuts = new Set();

/**
 * All that can be typed now.
 *
 * @returns {Shortcut[]}
 */
export function listed() { return [...shortcuts]; }

/**
 * @param {AbortSignal} until
 * @param {Record<string, [does: string, call: (event: KeyboardEvent) => void]>} table
 */
export function keys(until, table) {
  for (const [name, [does, call]] of Object.entries(table)) {
    const shortcut = { keys: name, does, call };
    shortcuts.add(shortcut);
    until.addEventListener("abort", () => shortcuts.delete(shortcut), { once: true });
  }
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement
    && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
  const mod = event.ctrlKey || event.metaKey;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const name = `${mod ? "mod+" : ""}${event.altKey ? "alt+" : ""}${key}`;
  // The latest view's keys go before those of the shell.
  const shortcut = [...shortcuts].reverse().find((one) => one.keys === name);
  if (!shortcut || (!mod && isTyping(event.target))) return;
  event.preventDefault();
  shortcut.call(event);
});
