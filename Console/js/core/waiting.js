// SPDX-License-Identifier: Apache-2.0

/**
 * Waits; ends early, without an error, when the signal aborts.
 *
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, milliseconds);
    signal.addEventListener("abort", stop);
  });
}

/**
 * Waits until the page is in sight; ends early when the signal aborts.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function inSight(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/**
 * Calls a function now and then, each time after the last call has ended, while the page is in sight.
 *
 * @param {AbortSignal} signal
 * @param {number} milliseconds
 * @param {() => any} call
 */
export async function poll(signal, milliseconds, call) {
  while (!signal.aborted) {
    await inSight(signal);
    if (!signal.aborted) await call();
    if (!signal.aborted) await pause(milliseconds, signal);
  }
}
