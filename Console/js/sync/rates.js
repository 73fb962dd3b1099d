// SPDX-License-Identifier: Apache-2.0

/**
 * How fast replications are, from the counts at two looks.
 *
 * @typedef {{ at: number, read: number, written: number }} Look
 * @typedef {{ read: number, written: number }} Rate Documents a second.
 */
export const KEPT = 60;

export class Rates {
  constructor() {
    /** @type {Map<string, Look[]>} */
    this.looks = new Map();
  }

  /**
   * Notes the counts of a replication. Counts that have become smaller are those of a new run.
   *
   * @param {import("./jobs.js").Job} job
   * @param {number} at
   */
  note(job, at) {
    const looks = this.looks.get(job.key) ?? [], last = looks[looks.length - 1];
    if (last && (job.info.read < last.read || job.info.written < last.written)) looks.length = 0;
    looks.push({ at, read: job.info.read, written: job.info.written });
    if (looks.length > KEPT) looks.shift();
    this.looks.set(job.key, looks);
  }

  /**
   * The rates between each two looks, the oldest first.
   *
   * @param {string} key
   * @returns {(Rate & { at: number })[]}
   */
  series(key) {
    const looks = this.looks.get(key) ?? [];
    return looks.slice(1).map((look, index) => {
      const before = looks[index], seconds = Math.max(0.001, (look.at - before.at) / 1000);
      return { at: look.at, read: (look.read - before.read) / seconds,
        written: (look.written - before.written) / seconds };
    });
  }

  /**
   * The latest rate; null before the second look.
   *
   * @param {string} key
   * @returns {Rate | null}
   */
  latest(key) {
    const all = this.series(key);
    return all[all.length - 1] ?? null;
  }
}
