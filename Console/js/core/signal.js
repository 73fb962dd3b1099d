// SPDX-License-Identifier: Apache-2.0

/**
 * A value that tells its followers when it changes. All state that more than one part of the page shows is kept in
 * signals; `session.js` and `server.js` hold those of the whole console.
 *
 * @template T
 */
export class Signal {
  /** @type {T} */ #value;
  /** @type {Set<(value: T) => void>} */ #followers = new Set();

  /** @param {T} value */
  constructor(value) { this.#value = value; }

  get value() { return this.#value; }
  set value(value) {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const follow of [...this.#followers]) follow(value);
  }

  /**
   * Calls a function now and at each change, until the signal of the view that asks is aborted.
   *
   * @param {(value: T) => void} call
   * @param {AbortSignal} until
   */
  follow(call, until) {
    if (until.aborted) return;
    this.#followers.add(call);
    until.addEventListener("abort", () => this.#followers.delete(call), { once: true });
    call(this.#value);
  }
}
