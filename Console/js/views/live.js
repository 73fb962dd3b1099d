// SPDX-License-Identifier: Apache-2.0

import { readDocument } from "../api/couch.js";
import { fill, h } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { keys } from "../core/keys.js";
import { link } from "../core/router.js";
import { useStyle } from "../core/style.js";
import { button, linkButton } from "../components/button.js";
import { lineChart } from "../components/chart.js";
import { openDialog } from "../components/dialog.js";
import { icon } from "../components/icon.js";
import { showExact } from "../components/json-text.js";
import { jsonView } from "../components/json-view.js";
import { emptyState, errorState, loading, tag } from "../components/states.js";
import { VirtualList } from "../components/virtual-list.js";
import { drawLine, lineHeader } from "../live/line.js";
import { ChangeLog, MOST_LINES } from "../live/log.js";
import { sharesPanel } from "../live/shares.js";
import { startFeed } from "../live/start.js";
import { readSettings, toolbar, writeSettings } from "../live/toolbar.js";
import { databaseCrumbs, databaseTabs } from "../shell/database.js";

await useStyle("live");

/** How often the list shows what has come, in milliseconds. More often would not be readable. */
const FLUSH = 200;

/** @type {Record<import("../live/start.js").FeedState, [string, "" | "success" | "warning" | "danger"]>} */
const STATES = {
  connecting: ["Connecting", ""], live: ["Live", "success"], waiting: ["Reconnecting", "warning"],
  ended: ["Stopped", "danger"],
};

export default {
  /** @param {import("../shell.js").Context} ctx */
  title: (ctx) => `Live changes of ${ctx.params.db}`,
  /** @param {import("../shell.js").Context} ctx */
  crumbs: (ctx) => databaseCrumbs(ctx.params.db, { label: "Live" }),
  render,
};

/**
 * @param {import("../shell.js").Context} ctx
 * @returns {HTMLElement}
 */
function render(ctx) {
  const database = ctx.params.db, settings = readSettings(ctx.query), log = new ChangeLog();
  let by = ctx.query.get("by") ?? "";
  /** @type {import("../live/line.js").Line[]} */
  let shown = [];
  let feed = new AbortController();
  /** @type {[import("../live/start.js").FeedState, Error | undefined]} */
  let state = ["connecting", undefined];

  const isNarrow = matchMedia("(max-width: 48rem)").matches;
  const list = new VirtualList({
    label: "Changes, the latest first", rowHeight: isNarrow ? 58 : 36, header: lineHeader(),
    draw: (index, element) => drawLine(shown[index], element, database),
    activate: (index) => { if (shown[index]) showRevision(database, shown[index], ctx.signal); },
  });
  const chart = lineChart({
    label: "Changes a second, the last five minutes", series: [{ label: "Changes a second", points: [] }],
    xKind: "time", height: 150, format: count,
  });
  const shares = sharesPanel({ by, onBy: (value) => { by = value; save(); } });
  const status = h("span", { role: "status" }), numbers = h("span.small.soft"), below = h("div.live-below");
  const pause = button({ label: "Pause", icon: "pause", onclick: () => togglePause() });
  const clear = button({ label: "Clear", kind: "plain", onclick: () => { log.clear(); flush(); } });
  const save = () => ctx.setQuery({ ...writeSettings(settings), by });
  const tools = toolbar({ database, settings, signal: ctx.signal, onShow: () => { save(); flush(); },
    onFeed: () => { save(); open(); } });

  const fits = (/** @type {import("../live/line.js").Line} */ line) =>
    (!settings.deletedOnly || line.isDeleted) && line.id.toLowerCase().includes(settings.text.toLowerCase());

  /**
   * Shows what has come. What a person reads stays where it is: new lines push it down unless the list is at its top.
   */
  const flush = () => {
    const first = shown[0], wasReading = list.element.scrollTop > list.rowHeight;
    shown = log.lines.slice(-MOST_LINES).filter(fits).reverse();
    const added = wasReading && first ? Math.max(0, shown.indexOf(first)) : 0;
    if (shown.length === 0 || below.childElementCount) explain();
    list.element.hidden = shown.length === 0;
    list.current += added;
    list.setCount(shown.length);
    if (added) list.element.scrollTop += added * list.rowHeight;
    const inSight = shown.length < log.total ? `, ${count(shown.length)} shown` : "";
    numbers.textContent = `${plural(log.total, "change")}${inSight}`;
    showPause();
  };
  const showPause = () => {
    fill(pause, icon(log.isPaused ? "play" : "pause"),
      log.isPaused ? `Continue${log.heldCount ? ` with ${count(log.heldCount)} new` : ""}` : "Pause");
    pause.setAttribute("aria-pressed", String(log.isPaused));
  };
  const togglePause = () => {
    if (log.isPaused) log.resume(); else log.isPaused = true;
    showState();
    flush();
  };
  /** Says in place of the list why it is empty. */
  const explain = () => {
    const [name, error] = state;
    if (shown.length) fill(below);
    else if (name === "ended") fill(below, errorState(error, () => open()));
    else if (log.lines.length) fill(below,
      emptyState({ icon: "filter", title: "No change matches the filter",
      text: `${plural(log.lines.length, "change is", "changes are")} hidden.` }));
    else fill(below, emptyState({ icon: "live", title: name === "waiting" ? "The connection is lost"
      : "No changes yet", text: name === "waiting" ? "The console reconnects by itself and continues where it was."
      : "The feed is open. Each change appears here when it is saved." }));
  };
  const showState = () => {
    const [name, error] = state, [text, tone] = STATES[name];
    fill(status, log.isPaused && name !== "ended" ? tag("Paused", "warning") : tag(text, tone),
      name === "waiting" && h("span.small.soft", null, ` ${error?.message ?? ""}`));
  };

  let isDue = false;
  const soon = () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => { isDue = false; if (!ctx.signal.aborted) flush(); }, FLUSH);
  };
  /** Opens the feed, anew after a change of the settings. */
  const open = () => {
    feed.abort();
    feed = new AbortController();
    log.clear();
    flush();
    startFeed(database, settings, {
      signal: feed.signal,
      onLine: (line) => { log.add(line); soon(); },
      onKnown: soon,
      onState: (name, error) => {
        if (name === state[0] && name !== "waiting") return;
        state = [name, error];
        showState();
        if (!shown.length) explain();
      },
    });
  };
  ctx.signal.addEventListener("abort", () => feed.abort(), { once: true });
  keys(ctx.signal, { p: ["Pause or continue the feed", togglePause],
    "/": ["Filter by ID", () => tools.search.focus()] });
  every(1000, ctx.signal, () => {
    chart.update({ series: [{ label: "Changes a second", points: log.rates(Date.now()) }] });
    shares.update(log.lines.slice(-MOST_LINES), settings.withDocuments);
  });
  open();
  showState();

  return h("div.view.full.live", null, databaseTabs(database, "live"),
    h("div.head", null, h("h1", null, "Live changes"), status, numbers, h("div.actions", null, clear, pause)),
    tools,
    h("div.live-panels", null,
      h("section.panel", { "aria-label": "Changes a second" }, h("header", null, h("h2", null, "Changes a second")),
        h("div.body", null, chart)),
      shares),
    h("div.panel.live-list", null, list.element, below));
}

/**
 * Calls a function now and again while the page is in sight.
 *
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @param {() => void} call
 */
function every(milliseconds, signal, call) {
  const timer = setInterval(() => { if (!document.hidden) call(); }, milliseconds);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  call();
}

/**
 * Shows the revision that a change tells of.
 *
 * @param {string} database
 * @param {import("../live/line.js").Line} line
 * @param {AbortSignal} signal
 */
function showRevision(database, line, signal) {
  openDialog({
    title: line.id, wide: true, signal,
    body: [
      h("div.row", null, h("span.code.small.soft", null, line.rev),
        linkButton({ label: "Open the document", icon: "document", kind: "small push",
          href: link("db", database, "doc", line.id) })),
      loading({ signal, 
        load: (until) => readDocument(database, line.id, { query: { rev: line.rev }, signal: until }),
        render: (document) => showExact(jsonView(document)) }),
    ],
  });
}
