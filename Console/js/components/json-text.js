// SPDX-License-Identifier: Apache-2.0

/**
 * JSON as text: checked with the place of a fault, laid out in lines, changed member by member.
 *
 * The text of a document never goes through JavaScript's numbers, which would turn 12345678901234567890 into
 * 12345678901234567000 and 1.0 into 1. All functions work without recursion, so that deep nesting is no problem.
 *
 * Outside strings, a character of plane 15 stands for a value that an editor has folded, and one of plane 16 for
 * several properties (up to U+107FFF) or items. Inside strings such characters are written as escapes (`readable`), so
 * that the two are never confused.
 *
 * @typedef {{ offset: number, message: string }} Fault
 * @typedef {{ name: string, from: number, valueFrom: number, to: number }} Member A property of the outermost object.
 * @typedef {{ fault: Fault | null, pairs: number[], members: Member[] }} Check
 *   `pairs`: offsets of each opening and its closing bracket.
 */

const STRING = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\x00-\x1f]*)*"/y;
const ATOM = new RegExp([
  /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/u,
  /(?:true|false|null)(?!\w)/u,
  /[\u{f0000}-\u{ffffd}]/u,
].map(({ source }) => source).join("|"), "uy");
const WORD = /[^\s,:{}[\]"]+/uy;

/**
 * Reads what an expression finds at a place.
 *
 * @param {RegExp} expression
 * @param {string} text
 * @param {number} at
 * @returns {string}
 */
function read(expression, text, at) {
  expression.lastIndex = at;
  return expression.exec(text)?.[0] ?? "";
}

/**
 * Where the space ends that begins at a place, if there is any.
 *
 * @param {string} text
 * @param {number} at
 * @returns {number}
 */
function afterSpace(text, at) {
  for (let code = text.charCodeAt(at); code === 32 || code === 10 || code === 13 || code === 9;) {
    code = text.charCodeAt(at += 1);
  }
  return at;
}

/**
 * The line of an offset, from 1.
 *
 * @param {string} text
 * @param {number} offset
 * @returns {number}
 */
function lineOf(text, offset) {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/**
 * Finds the first fault of a text, its pairs of brackets and the members of the outermost object.
 *
 * @param {string} text
 * @param {(offset: number) => number} [line] The line that a message names for an offset.
 * @param {(mark: string) => string[]} [folded] The names of the properties that a character stands for.
 * @returns {Check}
 */
export function check(text, line = (offset) => lineOf(text, offset), folded = () => []) {
  /** @type {number[]} */
  const pairs = [];
  /** @type {Member[]} */
  const members = [];
  /** @type {{ open: number, isArray: boolean, names: Set<string> }[]} */
  const stack = [];
  /**
   * What may come: `first` is a value, a name or the closing bracket just after an opening one.
   *
   * @type {"value" | "first" | "name" | "after"}
   */
  let wanted = "value";
  let at = 0;
  const failed = (/** @type {string} */ message, offset = at) => ({ fault: { offset, message }, pairs, members });
  for (;;) {
    at = afterSpace(text, at);
    const inside = stack[stack.length - 1], mark = text[at];
    if (wanted === "after") {
      if (members.length && stack.length <= 1 && members[members.length - 1].to < 0) {
        members[members.length - 1].to = at;
      }
      if (!inside) {
        return at < text.length ? failed("The value ended before this. Remove the rest.")
          : { fault: null, pairs, members };
      }
      if (mark === ",") { at += 1; wanted = inside.isArray ? "value" : "name"; continue; }
    }
    if (mark === undefined) {
      return failed(inside
        ? `The ${inside.isArray ? "array" : "object"} that begins in line ${line(inside.open)} needs a closing `
          + `${inside.isArray ? "]" : "}"}.`
        : "Write a value.");
    }
    if (inside && (mark === "]" || mark === "}")) {
      if ((mark === "]") !== inside.isArray) {
        return failed(`Close the ${inside.isArray ? "[" : "{"} of line ${line(inside.open)} with `
          + `${inside.isArray ? "]" : "}"}, not with ${mark}.`);
      }
      if (wanted === "value" || wanted === "name") {
        return failed(`Remove the comma before this ${mark}, or write ${inside.isArray ? "a value" : "a property"}.`);
      }
      pairs.push(inside.open, at);
      stack.pop();
      at += 1;
      wanted = "after";
      continue;
    }
    if (wanted === "after") return failed("Write a comma before this.");
    // The upper half of a character of plane 16: folded properties, or items.
    if (inside && (inside.isArray ? mark >= "\udbe0" && mark <= "\udbff" : mark >= "\udbc0" && mark <= "\udbdf")) {
      for (const name of folded(text.slice(at, at + 2))) {
        if (inside.names.has(name)) return failed(`This object has the property ${name} twice.`);
        inside.names.add(name);
      }
      at += 2;
      wanted = "after";
      continue;
    }
    if (inside && !inside.isArray) {
      if (mark !== '"') return failed("Write the property name in double quotation marks.");
      const name = read(STRING, text, at);
      if (!name) return failed(...stringFault(text, at));
      const from = at;
      at += name.length;
      if (inside.names.has(name)) return failed(`This object has the property ${name} twice.`, from);
      inside.names.add(name);
      at = afterSpace(text, at);
      if (text[at] !== ":") return failed("Write a colon after the property name.");
      at = afterSpace(text, at + 1);
      if (stack.length === 1) members.push({ name: JSON.parse(name), from, valueFrom: at, to: -1 });
      if (text[at] === undefined || ",}]".includes(text[at])) return failed("Write a value here.");
    } else if (mark === ",") return failed("Write a value before this comma.");
    const start = text[at];
    if (start === "{" || start === "[") {
      stack.push({ open: at, isArray: start === "[", names: new Set() });
      at += 1;
      wanted = "first";
      continue;
    }
    const value = start === '"' ? read(STRING, text, at) : read(ATOM, text, at);
    if (!value) return start === '"' ? failed(...stringFault(text, at)) : failed(wordFault(text, at));
    at += value.length;
    if (members.length && stack.length === 1) members[members.length - 1].to = at;
    wanted = "after";
  }
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {[message: string, offset: number]}
 */
function stringFault(text, at) {
  const begun = read(/"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\x00-\x1f]*)*/y, text, at);
  const end = at + begun.length;
  if (text[end] === "\\") {
    return [`${text.slice(end, end + 2)} is not an escape sequence. Write \\\\ for a backslash.`, end];
  }
  if (text[end] === undefined || text[end] === "\n") {
    return ["This string needs a closing quotation mark. Write \\n for a line break in it.", at];
  }
  return ["Write a control character as an escape sequence, such as \\t.", end];
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {string}
 */
function wordFault(text, at) {
  const word = read(WORD, text, at).slice(0, 24) || text[at];
  if (/^['‘’“”\x60]/.test(word)) return "Write a string in double quotation marks.";
  if (/^\/[/*]/.test(word)) return "JSON has no comments.";
  if (/^(NaN|[+-]?Infinity|undefined)$/.test(word)) return `JSON has no ${word}. Write null instead.`;
  if (/^[+-]?[.\d]/.test(word)) return `${word} is not a JSON number. Write, for example, 0.5, -1 or 1e6.`;
  if (/^(true|false|null|none)$/i.test(word)) {
    return `Write ${word.toLowerCase().replace("none", "null")} in lower case.`;
  }
  return `${word} is not a JSON value. Write a string in double quotation marks.`;
}

/**
 * Objects and arrays deeper than this are written in one line: indentation would make a text grow by the square of its
 * depth.
 */
const DEEPEST = 40;
const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

/**
 * Lays a valid text out in lines.
 *
 * @param {string} text
 * @returns {string}
 */
export function format(text) {
  /** @type {string[]} */
  const out = [];
  let depth = 0, last = "";
  const line = () => { if (depth <= DEEPEST) out.push("\n", "  ".repeat(depth)); };
  for (const [token] of text.matchAll(TOKENS)) {
    const closes = token === "}" || token === "]";
    if (closes) {
      const isOneLine = depth > DEEPEST || last === "{" || last === "[";
      depth -= 1;
      if (!isOneLine) line();
    } else if (last === "{" || last === "[") line();
    else if (last === ",") { if (depth <= DEEPEST) line(); else out.push(" "); }
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return out.join("");
}

/** What is not seen, or makes a line look like another, and what editors use for folds. */
const UNSEEN = new RegExp([
  /[\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/u,
  /[\u{f0000}-\u{10ffff}]/u,
  /[\ud800-\udfff]/u,
].map(({ source }) => source).join("|"), "gu");

/**
 * A text whose invisible characters, halves of surrogate pairs and marks that change the direction of writing are
 * written as escapes.
 *
 * @param {string} text
 * @returns {string}
 */
export function readable(text) {
  return text.replace(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, index) =>
      `\\u${found.charCodeAt(index).toString(16).padStart(4, "0")}`).join(""));
}

/**
 * The members of the outermost object of a text. Of a text with a fault only some would be known, and what is made of
 * them would lose the others: so it is refused.
 *
 * @param {string} text
 * @returns {Member[]}
 */
export function membersOf(text) {
  const { fault, members } = check(text);
  if (fault) throw new Error(`The JSON of the document has a fault: ${fault.message}`);
  return members;
}

/**
 * A text without some members of its outermost object.
 *
 * @param {string} text
 * @param {(name: string) => boolean} isRemoved
 * @returns {string}
 */
export function without(text, isRemoved) {
  const kept = membersOf(text).filter((member) => !isRemoved(member.name));
  return `{${kept.map((member) => text.slice(member.from, member.to)).join(",")}}`;
}

/**
 * Begins a string that stands for a number which JavaScript would change. Unicode gives this character no meaning, but
 * a document may have it all the same: in strings of documents, `ESCAPE` with a digit stands for either character.
 */
const MARK = "\ufdd0", ESCAPE = "\ufdd1";
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NUMBERS = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * The value of a text, in which a string that begins with a mark stands for each number that would not stay as it is
 * written.
 *
 * @param {string} text
 * @returns {any}
 */
export function parseExact(text) {
  const isEscaped = /[\ufdd0\ufdd1]|\\ufdd[01]/i.test(text);
  return JSON.parse(text.replace(NUMBERS, (token) => {
    if (token[0] === '"') return isEscaped ? token.replace(MARKS, escaped) : token;
    return String(Number(token)) === token || !NUMBER.test(token) ? token : `"${MARK}${token}"`;
  }));
}

/** A pair that begins with a backslash is read as a whole, so that `\\\\ufdd0` stays the text that it is. */
const MARKS = /\\(?:u[\da-f]{4}|[^])|[\ufdd0\ufdd1]/gi;

/** @param {string} found */
function escaped(found) {
  const isMark = found === MARK || /^\\ufdd0$/i.test(found);
  return isMark || found === ESCAPE || /^\\ufdd1$/i.test(found) ? ESCAPE + (isMark ? 0 : 1) : found;
}

/**
 * A string of a value of `parseExact` as the document has it: the digits of a marked number, or the text.
 *
 * @param {string} text
 * @returns {string}
 */
export function plain(text) {
  if (text[0] === MARK) return text.slice(1);
  return text.replace(/\ufdd1([01])/g, (_, digit) => digit === "0" ? MARK : ESCAPE);
}

/**
 * The number that a value of `parseExact` is; undefined for any other. All digits of an integer count.
 *
 * @param {any} value
 * @returns {number | bigint | undefined}
 */
export function numberOf(value) {
  if (typeof value !== "string" || value[0] !== MARK) return typeof value === "number" ? value : undefined;
  return /^-?\d+$/.test(value.slice(1)) ? BigInt(value.slice(1)) : Number(value.slice(1));
}

/**
 * The text of a value of `parseExact`, in one line.
 *
 * @param {any} value
 * @returns {string}
 */
export function stringifyExact(value) {
  return JSON.stringify(value).replace(/"\ufdd0([\d.eE+-]+)"|\ufdd1[01]/g, (found, number) => number ?? plain(found));
}

/**
 * A value of `parseExact` as plain JSON, for pictures and sums: with JavaScript's numbers.
 *
 * @param {any} value
 * @returns {any}
 */
export function rounded(value) { return value === undefined ? undefined : JSON.parse(stringifyExact(value)); }

/**
 * The text of a value of `parseExact`, in lines.
 *
 * @param {any} value
 * @returns {string}
 */
export function writeExact(value) {
  return readable(format(stringifyExact(value)));
}

/**
 * Shows the numbers that `parseExact` marked as numbers, in elements that appear inside an element: lines of a
 * difference, strings of a tree.
 *
 * @param {HTMLElement} element
 * @returns {HTMLElement}
 */
export function showExact(element) {
  const mend = () => {
    for (const place of /** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll("td, .string"))) {
      if (!place.textContent?.includes(MARK)) continue;
      if (place.matches(".string")) place.className = "numeral";
      place.normalize();
      const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      /** @type {Text | null} */
      let before = null;
      let isInside = false;
      for (
        let node = /** @type {Text | null} */ (walker.nextNode());
        node;
        before = node, node = /** @type {Text | null} */ (walker.nextNode())
      ) {
        for (let at = 0; at < node.data.length; at += 1) {
          if (node.data[at] === MARK) {
            if (at > 0) {
              node.deleteData(at - 1, 2);
              at -= 2;
            } else {
              before?.deleteData(before.length - 1, 1);
              node.deleteData(0, 1);
              at = -1;
            }
            isInside = true;
          } else if (isInside && node.data[at] === '"') { node.deleteData(at, 1); at -= 1; isInside = false; }
        }
      }
    }
  };
  mend();
  new MutationObserver(mend).observe(element, { childList: true, subtree: true });
  return element;
}
