// SPDX-License-Identifier: Apache-2.0

/**
 * The edits of a text area, to undo and redo. The browser's own list forgets everything when a script changes the text,
 * as folding does.
 *
 * @typedef {{ at: number, removed: string, added: string, isFold: boolean, time: number }} Edit
 */
const TOGETHER = 800;
const MOST = 1000;

export class EditHistory {
  constructor() {
    /** @type {Edit[]} */
    this.done = [];
    /** @type {Edit[]} */
    this.undone = [];
  }

  /**
   * Notes what makes one text of another. Characters typed in a row are one edit.
   *
   * @param {string} before
   * @param {string} after
   * @param {boolean} [isFold] The text means the same as before.
   */
  note(before, after, isFold = false) {
    let from = 0, end = 0;
    const most = Math.min(before.length, after.length);
    while (from < most && before.charCodeAt(from) === after.charCodeAt(from)) from += 1;
    while (end < most - from
      && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)) end += 1;
    const removed = before.slice(from, before.length - end), added = after.slice(from, after.length - end);
    if (!removed && !added) return;
    this.undone = [];
    const last = this.done[this.done.length - 1], time = Date.now();
    if (last && !isFold && !last.isFold && !removed && added.length === 1 && added !== "\n"
      && time - last.time < TOGETHER && last.added && last.at + last.added.length === from) {
      last.added += added;
      last.time = time;
      return;
    }
    this.done.push({ at: from, removed, added, isFold, time });
    if (this.done.length > MOST) this.done.shift();
  }

  /**
   * The edits that go back to the text before the last change, or forth again; folding counts as no change.
   *
   * @param {boolean} isBack
   * @returns {{ from: number, to: number, text: string }[]}
   */
  take(isBack) {
    const [source, target] = isBack ? [this.done, this.undone] : [this.undone, this.done];
    const steps = [];
    for (let edit = source.pop(); edit; edit = source.pop()) {
      target.push(edit);
      const [old, text] = isBack ? [edit.added, edit.removed] : [edit.removed, edit.added];
      steps.push({ from: edit.at, to: edit.at + old.length, text });
      if (!edit.isFold) break;
    }
    return steps;
  }
}
