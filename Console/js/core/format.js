// SPDX-License-Identifier: Apache-2.0

/** Numbers, times and texts as people read them. */

const counts = new Intl.NumberFormat("en");
const shortCounts = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/**
 * 1234567 as "1,234,567".
 *
 * @param {number} value
 * @returns {string}
 */
export function count(value) { return counts.format(value); }

/**
 * 1234567 as "1.2M".
 *
 * @param {number} value
 * @returns {string}
 */
export function shortCount(value) { return shortCounts.format(value); }

/**
 * "1 document", "2 documents".
 *
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 * @returns {string}
 */
export function plural(value, one, many = `${one}s`) { return `${count(value)} ${value === 1 ? one : many}`; }

/**
 * 1536 as "1.5 kB", by thousands.
 *
 * @param {number} value
 * @returns {string}
 */
export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 || Math.abs(value) >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/**
 * Milliseconds as "3.4 ms", "340 ms", "2.1 s", "3 min", "4 h", "5 d".
 *
 * @param {number} milliseconds
 * @returns {string}
 */
export function duration(milliseconds) {
  if (milliseconds < 10) return `${Number(milliseconds.toFixed(1))} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60e3) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds < 3600e3) return `${Math.round(milliseconds / 60e3)} min`;
  if (milliseconds < 48 * 3600e3) return `${Math.round(milliseconds / 3600e3)} h`;
  return `${Math.round(milliseconds / 86400e3)} d`;
}

/**
 * A moment in the reader's zone and manner.
 *
 * @param {Date | number | string} moment
 * @returns {string}
 */
export function time(moment) {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? "" : times.format(date);
}

/**
 * How long ago a moment was, such as "3 min ago".
 *
 * @param {Date | number | string} moment
 * @returns {string}
 */
export function ago(moment) {
  const past = Date.now() - new Date(moment).getTime();
  return Number.isNaN(past) ? "" : past < 1000 ? "now" : `${duration(past)} ago`;
}

/**
 * A text as one word of a POSIX shell. Nothing is expanded between single quotes.
 *
 * @param {string} text
 * @returns {string}
 */
export function shellWord(text) { return `'${text.replaceAll("'", "'\\''")}'`; }

/**
 * A long text cut to a length, with an ellipsis.
 *
 * @param {string} text
 * @param {number} [length]
 * @returns {string}
 */
export function cut(text, length = 80) { return text.length > length ? `${text.slice(0, length - 1)}…` : text; }
