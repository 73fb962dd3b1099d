// SPDX-License-Identifier: Apache-2.0

/**
 * Does something now and again and again, each time after the last one has ended, while the page is in sight.
 *
 * @param {AbortSignal} signal
 * @param {number} milliseconds
 * @param {() => Promise<void>} call
 */
export async function repeat(signal, milliseconds, call) {
  while (!signal.aborted) {
    if (!document.hidden) await call();
    await new Promise((resume) => {
      const timer = setTimeout(resume, milliseconds);
      signal.addEventListener("abort", () => { clearTimeout(timer); resume(undefined); }, { once: true });
    });
  }
}
