// SPDX-License-Identifier: Apache-2.0

/**
 * Calls a function now and then, as long as the view is shown and the page can be seen. A call begins when the one
 * before is over.
 *
 * @param {AbortSignal} signal
 * @param {number} milliseconds
 * @param {() => any} call
 */
export function poll(signal, milliseconds, call) {
  const again = async () => {
    if (!document.hidden) await call();
    if (!signal.aborted) timer = setTimeout(again, milliseconds);
  };
  let timer = setTimeout(again, 0);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
