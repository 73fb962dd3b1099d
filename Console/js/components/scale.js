// SPDX-License-Identifier: Apache-2.0

/**
 * Where the ticks of an axis stand, and what they say.
 *
 * @typedef {{ low: number, high: number, ticks: { at: number, label: string }[] }} Axis
 */

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [
  SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY,
];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600];
const decimals = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

/**
 * A number for reading: at most six significant digits.
 *
 * @param {number} value
 * @returns {string}
 */
export function plainNumber(value) { return Math.abs(value) >= 1e6 ? compact.format(value) : decimals.format(value); }

/**
 * An axis of numbers that begins and ends with a round one.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} count About how many ticks there is room for.
 * @param {(value: number) => string} [format]
 * @returns {Axis}
 */
export function numberAxis(low, high, count, format = plainNumber) {
  if (!(high > low)) { const spread = Math.abs(low) || 1; high = low + spread; }
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  // The products of small steps are not exact, so the number is rounded to the digits of the step.
  const digits = Math.max(0, Math.min(20, -Math.floor(Math.log10(step)) + 1));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toFixed(digits)));
  return { low: ticks[0], high: ticks[ticks.length - 1], ticks: ticks.map((at) => ({ at, label: format(at) })) };
}

/**
 * An axis of moments, whose ticks are round in the reader's time zone.
 *
 * @param {number} low Milliseconds since 1970.
 * @param {number} high
 * @param {number} count
 * @returns {Axis}
 */
export function timeAxis(low, high, count) {
  if (!(high > low)) high = low + SECOND;
  const rough = (high - low) / Math.max(1, count), step = STEPS.find((one) => one >= rough);
  /** @type {number[]} */
  const ticks = [];
  if (step === undefined) {
    const months = MONTHS.find((one) => one * 30 * DAY >= rough) ?? 1200;
    const start = new Date(low), first = Math.floor((start.getFullYear() * 12 + start.getMonth()) / months) * months;
    for (let month = first; ; month += months) {
      const at = new Date(0, month % 12, 1).setFullYear(Math.floor(month / 12));
      if (at > high || ticks.length > 60) break;
      if (at >= low) ticks.push(at);
    }
    return { low, high, ticks: ticks.map((at) =>
      ({ at, label: say(at, months < 12 ? { month: "short", year: "numeric" } : { year: "numeric" }) })) };
  }
  const zone = new Date(low).getTimezoneOffset() * MINUTE;
  for (let at = Math.ceil((low - zone) / step) * step + zone; at <= high; at += step) ticks.push(at);
  return { low, high, ticks: ticks.map((at) => ({ at, label: label(at, step) })) };
}

/**
 * @param {number} at
 * @param {number} step
 * @returns {string}
 */
function label(at, step) {
  const isMidnight = new Date(at).getHours() === 0 && new Date(at).getMinutes() === 0;
  if (step >= DAY || (isMidnight && step >= MINUTE)) return say(at, { day: "numeric", month: "short" });
  return say(at, step < MINUTE ? { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }
    : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/**
 * @param {number} at
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {string}
 */
function say(at, options) { return new Intl.DateTimeFormat(undefined, options).format(at); }
