// SPDX-License-Identifier: Apache-2.0

/**
 * Keys of the configuration that count, with what they decide. A kind is `flag`, `count`, `text`, or the words that it
 * may be.
 *
 * @typedef {{ section: string, key: string, kind: string | string[], means: string, isRisky?: boolean }} KnownKey
 *
 * @type {KnownKey[]}
 */
export const KNOWN = [
  ["chttpd/enable_cors", "flag", "Whether pages of other origins may use the server"],
  ["chttpd/require_valid_user", "flag", "Whether every request must authenticate", true],
  ["chttpd/require_valid_user_except_for_up", "flag", "The same, except for _up", true],
  ["chttpd/WWW-Authenticate", "text", "The WWW-Authenticate header of a 401 response"],
  ["chttpd/max_http_request_size", "count", "The maximum size of a request body, in bytes"],
  ["chttpd/admin_only_all_dbs", "flag", "Whether only administrators can list databases"],
  ["chttpd/authentication_handlers", "text",
    "How clients authenticate: cookies, passwords, tokens or a proxy", true],
  ["cors/origins", "text", "Origins whose pages may use the server, separated by commas: https://app.example.org"],
  ["cors/credentials", "flag", "Whether pages of other origins may send cookies and passwords", true],
  ["cors/methods", "text", "Methods that pages of other origins may use"],
  ["cors/headers", "text", "Header fields that pages of other origins may send"],
  ["cors/max_age", "count", "How many seconds a browser caches a CORS preflight response"],
  ["chttpd_auth/timeout", "count", "How many seconds after its last use a session ends"],
  ["chttpd_auth/allow_persistent_cookies", "flag", "Whether sessions stay when the browser is closed"],
  ["chttpd_auth/same_site", ["none", "lax", "strict"], "The SameSite attribute of cookies"],
  ["chttpd_auth/cookie_domain", "text", "The domain of cookies"],
  ["chttpd_auth/secret", "text", "The key that signs session cookies. A change ends all sessions", true],
  ["chttpd_auth/require_valid_user", "flag", "The same as chttpd/require_valid_user", true],
  ["chttpd_auth/proxy_use_secret", "flag", "Whether a proxy must prove that it knows the secret", true],
  ["chttpd_auth/hash_algorithms", "text", "Hash algorithms that proxy authentication accepts: sha256, sha"],
  ["couchdb/default_security", ["admin_only", "everyone"], "Who can use a database without members", true],
  ["couchdb/max_document_size", "count", "The maximum size of a document, in bytes"],
  ["couchdb/max_attachment_size", "count", "The maximum size of an attachment, in bytes"],
  ["couchdb/users_db_security_editable", "flag", "Whether the access of _users can be changed"],
  ["couchdb/single_node", "flag", "Whether the server was set up as a single node"],
  ["couchdb/maintenance_mode", ["false", "true", "nolb"], "What _up tells load balancers"],
  ["uuids/algorithm", ["sequential", "random", "utc_random", "utc_id"], "How the server creates IDs"],
  ["uuids/utc_id_suffix", "text", "The end of IDs that utc_id creates"],
  ["query_server_config/query_limit", "count", "The maximum number of rows of a view or _all_docs"],
  ["query_server_config/partition_query_limit", "count", "The same in a partition"],
  ["jwt_auth/required_claims", "text", "What a token must have, such as exp, {iss, \"issuer.example\"}", true],
  ["jwt_auth/roles_claim_name", "text", "The claim with the roles of a user"],
].map(([name, kind, means, isRisky]) => {
  const [section, key] = String(name).split("/");
  return /** @type {KnownKey} */ ({ section, key, kind, means, isRisky });
});

/**
 * @param {string} section
 * @param {string} key
 * @returns {KnownKey | undefined}
 */
export const known = (section, key) => KNOWN.find((one) => one.key === key
  && one.section === section.replace(/^httpd$/, "chttpd").replace("couch_httpd_auth", "chttpd_auth"));

/**
 * Whether a text is not shown: a secret, a key, or the hash of a password.
 *
 * @param {string} section
 * @param {string} key
 * @returns {boolean}
 */
export const isSecret = (section, key) => ["admins", "jwt_keys"].includes(section)
  || /(^|_)(secret|password|token|key)$/.test(key) && key !== "proxy_use_secret";

/**
 * Why a text cannot be that of a key; empty when it can. The server would take it and pass it over.
 *
 * @param {KnownKey | undefined} one
 * @param {string} text
 * @returns {string}
 */
export function refusal(one, text) {
  if (one?.kind === "count") return /^[1-9]\d*$/.test(text) ? "" : "Enter a whole number above zero.";
  const words = one?.kind === "flag" ? ["true", "false"] : Array.isArray(one?.kind) ? one?.kind : null;
  return !words || words.includes(text) ? "" : `This is one of ${words.join(", ")}.`;
}
