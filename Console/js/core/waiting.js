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
function inSight(signal) {
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

/**
 * Does something while the page is in sight: begins when it is, and aborts the work's signal when it no longer is. A
 * browser has six connections to a server, for all tabs together: those that are not looked at are to hold none.
 *
 * @template T
 * @param {AbortSignal} signal
 * @param {(round: AbortSignal) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function whileShown(signal, work) {
  await inSight(signal);
  const round = new AbortController();
  const leave = () => { if (signal.aborted || document.hidden) round.abort(); };
  signal.addEventListener("abort", leave);
  document.addEventListener("visibilitychange", leave);
  leave();
  try { return await work(round.signal); } finally {
    signal.removeEventListener("abort", leave);
    document.removeEventListener("visibilitychange", leave);
  }
}
