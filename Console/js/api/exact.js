// SPDX-License-Identifier: Apache-2.0

import { parseExact, stringifyExact } from "../components/json-text.js";
import { send } from "./client.js";

/**
 * Documents whose numbers stay as they are written: they are read as values of `parseExact` and written from these.
 *
 * @typedef {import("./client.js").Options} Options
 */

/**
 * @param {string} method
 * @param {string} where
 * @param {Options & { body?: any }} [options] The body is plain JSON.
 * @returns {Promise<any>}
 */
export async function readExact(method, where, options) {
  return parseExact(await (await send(method, where, options)).text());
}

/**
 * @param {string} method
 * @param {string} where
 * @param {any} body A value of `parseExact`, or undefined.
 * @param {Options} [options]
 * @returns {Promise<any>} The answer is plain JSON.
 */
export const writeExactly = async (method, where, body, options) =>
  (await sendExactly(method, where, body, options)).json();

/**
 * The same, whose answer is a value of `parseExact`, too.
 *
 * @param {string} method
 * @param {string} where
 * @param {any} body
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export const askExactly = async (method, where, body, options) =>
  parseExact(await (await sendExactly(method, where, body, options)).text());

/**
 * @param {string} method
 * @param {string} where
 * @param {any} body
 * @param {Options} [options]
 */
const sendExactly = (method, where, body, options) => send(method, where,
  { ...options, headers: { "Content-Type": "application/json" }, body: body && stringifyExact(body) });
