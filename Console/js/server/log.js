// SPDX-License-Identifier: Apache-2.0

import { api } from "../api/client.js";
import { has, isDivan } from "../api/server.js";
import { button } from "../components/button.js";
import { download } from "../core/download.js";
import { searchField, select } from "../components/field.js";
import { emptyState, errorState, loading } from "../components/states.js";
import { debounce, fill, h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { keys } from "../core/keys.js";
import { poll } from "../core/waiting.js";

/** @typedef {{ seq: number, time: string, level: string, domain: string, message: string }} Entry */

/** So many entries are kept in the page; the oldest go. */
const MOST = 2000;
const PAGE = 500;
const LEVELS = [["error", "Errors"], ["warning", "Errors and warnings"], ["info", "Errors, warnings and information"],
  ["verbose", "All"]];

/**
 * The log of the server as it grows, or where it is.
 *
 * @param {import("../shell.js").Context} ctx
 * @returns {import("../core/dom.js").Children}
 */
export function logPart(ctx) { return has("divan-log") ? tail(ctx) : elsewhere(ctx); }

/** @param {import("../shell.js").Context} ctx */
function tail(ctx) {
  /** @type {Entry[]} */
  let entries = [];
  let since = 0, turn = 0, isPaused = false;
  let text = ctx.query.get("filter") ?? "", level = ctx.query.get("level") ?? "info";
  const list = h("ol.log", { role: "log", "aria-label": "Log entries, the latest last", tabindex: 0 });
  const state = h("div"), count = h("p.soft.small", { role: "status" });
  const fits = (/** @type {Entry} */ { domain, message }) =>
    `${domain} ${message}`.toLowerCase().includes(text.toLowerCase());
  const save = () => ctx.setQuery({ part: "log", level: level === "info" ? "" : level, filter: text });

  /** @param {Entry[]} fresh */
  const append = (fresh) => {
    const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 40;
    entries = entries.concat(fresh).slice(-MOST);
    list.append(...fresh.filter(fits).map(line));
    while (list.children.length > MOST) list.firstElementChild?.remove();
    if (isAtEnd) list.scrollTop = list.scrollHeight;
    tell();
  };
  const tell = () => {
    const shown = list.children.length;
    list.hidden = !shown;
    fill(state, !shown && emptyState({
      icon: "document", title: entries.length ? "No matching entries" : "No entries yet",
      text: ["Entries appear here as the server writes them: warnings and errors, ",
        "and more when it is started with, for example, --log listener=info."],
    }));
    count.textContent = `${plural(shown, "entry", "entries")}${isPaused ? ", paused" : ""}`;
  };
  const redraw = () => { fill(list, entries.filter(fits).map(line)); list.scrollTop = list.scrollHeight; tell(); };
  const ask = async () => {
    if (isPaused) return;
    const mine = turn;
    try {
      const answer = await api.get("/_divan/log", { query: { since, level, limit: PAGE }, signal: ctx.signal });
      if (mine !== turn || isPaused) return;
      const last = answer.entries[answer.entries.length - 1];
      // A full answer may have left entries out. A server that has started anew counts from the beginning.
      const isFull = answer.entries.length >= PAGE && last.seq < answer.last_seq;
      since = answer.last_seq < since ? 0 : isFull ? last.seq : answer.last_seq;
      if (last) append(answer.entries); else tell();
      if (isFull) await ask();
    } catch (error) { if (!ctx.signal.aborted && mine === turn) fill(state, errorState(error, ask)); }
  };

  const levels = select(LEVELS.map(([value, label]) => ({ value, label })), level, {
    "aria-label": "Levels", onchange: () => {
      level = levels.value;
      turn += 1;
      since = 0;
      entries = [];
      fill(list);
      save();
      return ask();
    },
  });
  const filter = searchField({ placeholder: "Filter entries", value: text,
    oninput: debounce(() => { text = filter.input.value; save(); redraw(); }) });
  const pause = button({ label: "Pause", icon: "pause", onclick: () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    tell();
  } });
  keys(ctx.signal, { "/": ["Find entries", () => filter.input.focus()], "p": ["Pause the log", () => pause.click()] });
  poll(ctx.signal, 2000, ask);
  return h("section.panel.fills", null, h("header", null, levels, filter, pause,
    button({ label: "Clear", icon: "close", kind: "plain", onclick: () => { entries = []; redraw(); } }),
    button({ label: "Save the log", icon: "download", kind: "plain",
      onclick: () => download("divan.log", entries.filter(fits).map((one) =>
      `${one.time} ${one.level} ${one.domain}: ${one.message}\n`).join(""), "text/plain") }),
    count), list, state);
}

/** @param {Entry} entry */
function line({ time, level, domain, message }) {
  return h("li", { class: level }, h("time", { datetime: time, title: time }, time.slice(11, 23)),
    h("span.level", null, level), h("span.soft", null, domain), h("span", { dir: "auto" }, message));
}

/** @param {import("../shell.js").Context} ctx */
function elsewhere({ signal }) {
  return h("section.panel", null, loading({
    signal, load: () => isDivan() ? Promise.resolve({})
      : api.get("/_node/_local/_config/log", { signal }).catch(() => ({})),
    render: ({ writer, file, level }) => emptyState({
      icon: "document", title: "This server does not show its log here",
      text: isDivan() ? [
        "Divan writes warnings and errors to standard error, which is the system journal for a service. ",
        h("code", null, "divan serve … --log listener=info"), " writes more, ",
        "and ", h("code", null, "--log-file FILE"),
          " writes to a file. An app that runs the listener decides this itself."]
        : ["CouchDB writes its log where the section log of the configuration says: ",
          h("code", null, `writer = ${writer ?? "stderr"}`, file && `, file = ${file}`, `, level = ${level ?? "info"}`),
          "."],
    }),
  }));
}
