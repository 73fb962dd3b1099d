// SPDX-License-Identifier: Apache-2.0

/**
 * Requests to the server whose console this is.
 *
 * Every request of the console goes through here, to addresses below the folder that the console is served from. Errors
 * are `ApiError`s with CouchDB's two words.
 *
 * @typedef {{ query?: Record<string, any>, signal?: AbortSignal, headers?: Record<string, string> }} Options
 */

/** The server's root: the console lies in a folder below it. */
export const root = new URL("../", document.baseURI.replace(/[#?].*$/, ""));

/** A request that the server refused, or that did not reach it (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} error
   * @param {string} reason
   * @param {string} path
   */
  constructor(status, error, reason, path) {
    super(reason || error || `The server answered ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.error = error;
    this.reason = reason;
    this.path = path;
  }
}

/**
 * For `catch`: null in the place of what the server does not have.
 *
 * @param {any} error
 * @returns {null}
 */
export function nullIfMissing(error) { if (error.status === 404) return null; throw error; }

/** Asks for no challenge at which the browser would show a dialog of its own: CouchDB and Divan know it. */
const QUIET = { "X-CouchDB-WWW-Authenticate": "Cookie" };

/**
 * Called when the server no longer knows who this is.
 *
 * @type {{ signedOut: (() => void) | null, reachable: ((isReachable: boolean) => void) | null }}
 */
export const hooks = { signedOut: null, reachable: null };

/**
 * The path of words, each encoded: `path("notes", "_changes")`.
 *
 * @param {...string} words
 * @returns {string}
 */
export function path(...words) {
  // A browser and the server leave them out, so that the address would be that of something else.
  const wrong = words.find((word) => word === "" || word === "." || word === "..");
  if (wrong !== undefined) {
    const name = wrong === "" ? "An empty name" : `The name "${wrong}"`;
    throw new ApiError(400, "bad_path",
      `${name} cannot be part of an address. Use _bulk_docs of the HTTP API instead.`, "");
  }
  return `/${words.map(encodeURIComponent).join("/")}`;
}

/**
 * The path of a document, or of an attachment of it: the slash of `_design/` and `_local/` is one.
 *
 * @param {string} database
 * @param {string} id
 * @param {string} [attachment]
 * @returns {string}
 */
export function documentPath(database, id, attachment) {
  const [, kind, rest] = id.match(/^(_design|_local)\/([^]*)$/) ?? [null, null, id];
  const words = [database, ...(kind ? [kind] : []), rest ?? ""];
  // In one piece: a name such as `../../notes` would lead to another address.
  if (attachment !== undefined) words.push(attachment);
  return path(...words);
}

/**
 * The address of a path, with a query whose objects are written as JSON.
 *
 * @param {string} path
 * @param {Record<string, any>} [query]
 * @returns {URL}
 */
export function address(path, query = {}) {
  const url = new URL(`.${path}`, root);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(key, typeof value === "string" ? value : JSON.stringify(value));
  }
  return url;
}

/**
 * Sends a request; throws an `ApiError` unless the status is below 400.
 *
 * @param {string} method
 * @param {string} path
 * @param {Options & { body?: any }} options
 * @returns {Promise<Response>}
 */
export async function send(method, path, { query, signal, headers = {}, body } = {}) {
  const isRaw = body instanceof Blob || body instanceof ArrayBuffer || typeof body === "string";
  /** @type {Response} */
  let response;
  try {
    response = await fetch(address(path, query), {
      method, signal, cache: "no-cache", credentials: "same-origin", redirect: "follow",
      headers: {
        Accept: "application/json",
        ...QUIET,
        ...(body !== undefined && !isRaw || method !== "GET" && method !== "HEAD" && body === undefined
          ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
      body: body === undefined || isRaw ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted || /** @type {Error} */ (error).name === "AbortError") throw error;
    hooks.reachable?.(false);
    throw unreachable(path);
  }
  hooks.reachable?.(true);
  if (response.ok || response.status === 304) return response;
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== "/_session") hooks.signedOut?.();
  throw refused(response.status, answer, path);
}

/** @param {string} path */
const unreachable = (path) =>
  new ApiError(0, "unreachable", "The server does not answer. Check that it runs, then try again.", path);

/**
 * @param {number} status
 * @param {any} answer
 * @param {string} path
 */
const refused = (status, { error, reason }, path) =>
  new ApiError(status, String(error ?? ""), String(reason ?? ""), path);

/**
 * @param {string} method
 * @returns {(path: string, body?: any, options?: Options) => Promise<any>}
 */
const sending = (method) => async (path, body, options) => (await send(method, path, { ...options, body })).json();

/** JSON by method: `api.get(path, options)`, `api.post(path, body, options)`. */
export const api = {
  /**
   * @param {string} path
   * @param {Options} [options]
   * @returns {Promise<any>}
   */
  get: async (path, options) => (await send("GET", path, options)).json(),
  /**
   * @param {string} path
   * @param {Options} [options]
   * @returns {Promise<Headers>}
   */
  head: async (path, options) => (await send("HEAD", path, options)).headers,
  post: sending("POST"),
  put: sending("PUT"),
  /**
   * @param {string} path
   * @param {Options} [options]
   * @returns {Promise<any>}
   */
  delete: async (path, options) => (await send("DELETE", path, options)).json(),
};

/**
 * The lines of an answer that has no end, such as a continuous feed, each as JSON; empty ones (heartbeats) are passed
 * over.
 *
 * @param {string} path
 * @param {Options & { method?: string, body?: any, onOpen?: () => void }} options
 * @returns {AsyncGenerator<any>}
 */
export async function* lines(path, { method = "GET", onOpen, ...options } = {}) {
  const response = await send(method, path, options);
  onOpen?.();
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      rest += decoder.decode(value, { stream: true });
      const parts = rest.split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part.trim()) yield JSON.parse(part);
    }
    if (rest.trim()) yield JSON.parse(rest);
  } finally { reader.cancel().catch(() => {}); }
}

/**
 * Sends a file and tells how much of it has gone.
 *
 * @param {string} path
 * @param {Blob} file
 * @param {Options & { type?: string, onProgress?: (sent: number, total: number) => void }} options
 * @returns {Promise<any>}
 */
export function upload(path, file, { query, signal, headers = {}, type, onProgress } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address(path, query));
    request.setRequestHeader("Content-Type", type || file.type || "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    for (const [name, value] of Object.entries(QUIET)) request.setRequestHeader(name, value);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onProgress?.(event.loaded, event.total);
    request.onload = () => {
      let answer = /** @type {any} */ ({});
      try { answer = JSON.parse(request.responseText); } catch { /* The status says enough. */ }
      if (request.status < 400) resolve(answer);
      else reject(refused(request.status, answer, path));
    };
    request.onerror = () => reject(unreachable(path));
    request.onabort = () => reject(new DOMException("The upload was cancelled.", "AbortError"));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
