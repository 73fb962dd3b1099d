// SPDX-License-Identifier: Apache-2.0

import { root } from "../api/client.js";
import { isDivan, session } from "../api/server.js";
import { linkButton } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { button } from "../components/button.js";
import { loading, note, tag } from "../components/states.js";
import { h } from "../core/dom.js";
import { link } from "../core/router.js";
import { configuration } from "./accounts.js";
import { isOpenToAll } from "./permission.js";

/** The algorithms of each kind of key. */
const KINDS = new Map([["hmac", "HS"], ["rsa", "RS"], ["ec", "ES"]]);

/**
 * Which tokens the server takes, and how one is made. Of keys only the names are read here.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
export function tokensPart({ signal }) {
  return h("section.panel", null, h("header", null, h("h2", null, "Tokens"),
    linkButton({ label: "Token configuration", icon: "edit", kind: "small push",
      href: link("server", { part: "configuration", filter: "jwt" }) })),
  loading({ signal, class: "body column", load: () => configuration(signal), render: describe }));
}

/** @param {Record<string, Record<string, string>>} configured */
function describe(configured) {
  const isTaken = session.value?.handlers.includes("jwt")
    || /jwt_authentication_handler/.test(configured.chttpd?.authentication_handlers ?? "");
  const names = Object.keys(configured.jwt_keys ?? {}), auth = configured.jwt_auth ?? {};
  const rolesClaim = auth.roles_claim_path ?? auth.roles_claim_name ?? "_couchdb.roles";
  return [
    isOpenToAll() && isDivan() ? note("info", "This server requires no sign-in, ",
      "so it accepts no tokens and does not show their configuration.")
      : isTaken ? note("success", "The server accepts tokens: a client sends Authorization: Bearer and the token.")
        : note("warning", "The server accepts no tokens. Add {chttpd_auth, jwt_authentication_handler} ",
          "to chttpd/authentication_handlers", isDivan() && ", or start the server with --token-key",
          ", then add a key."),
    h("dl.facts", null,
      h("dt", null, "Keys"),
      h("dd", null, names.length ? h("ul.column.tight", null, names.map(key)) : "none in jwt_keys"),
      h("dt", null, "Required claims"),
      h("dd", null, h("code", null, auth.required_claims ?? (isDivan() ? "exp" : "none"))),
      h("dt", null, "Roles claim"), h("dd", null, h("code", null, rolesClaim))),
    h("h3", null, "Create a token"),
    h("p", null, "Sign a header and a payload with the key, in a program that keeps the key secret. ",
      "sub is the user name; the token is valid until exp, in seconds since 1970."),
    sample(sampleText(names.find((name) => name.startsWith("hmac:")), rolesClaim)),
  ];
}

/**
 * What a key is for.
 *
 * @param {string} name
 */
function key(name) {
  const [kind, ...id] = name.split(":"), letters = KINDS.get(kind);
  return h("li.row", null, h("code", null, id.join(":") || name),
    letters ? ["256", "384", "512"].map((bits) => tag(letters + bits)) : tag("unknown type", "warning"),
    id.join(":") === "_default" && h("span.soft.small", null, "for tokens without a kid"));
}

/**
 * @param {string | undefined} keyName
 * @param {string} rolesClaim
 */
function sampleText(keyName, rolesClaim) {
  const id = keyName?.slice("hmac:".length);
  const header = JSON.stringify({ alg: "HS256", typ: "JWT", ...(id && id !== "_default" ? { kid: id } : {}) });
  return `# KEY is the key in hexadecimal digits, not in base64.
encode() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
head=$(printf '%s' '${header.replaceAll("'", "'\\''")}' | encode)
until=$(($(date +%s) + 3600))
body=$(printf '{"sub":"ann","${rolesClaim.replaceAll("'", "'\\''")}":["staff"],"exp":%d}' $until | encode)
sign=$(printf '%s.%s' "$head" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | encode)
curl -H "Authorization: Bearer $head.$body.$sign" ${new URL("_session", root).href}`;
}

/** @param {string} text */
function sample(text) {
  return h("div.sample", null, h("pre", { tabindex: 0 }, text),
    button({ title: "Copy", icon: "copy", kind: "plain small", onclick: () => copyText(text, "The commands") }));
}
