// SPDX-License-Identifier: Apache-2.0

import { hooks } from "./api/client.js";
import { has, isReachable, refresh, server, serverName, session, signIn } from "./api/server.js";
import { closeDialogs } from "./components/dialog.js";
import { icon } from "./components/icon.js";
import { emptyState, errorState, loadingState } from "./components/states.js";
import { fill, h } from "./core/dom.js";
import { keys } from "./core/keys.js";
import { link, match, parse } from "./core/router.js";
import { routes } from "./routes.js";
import { account, applyScheme } from "./shell/account.js";
import { goTo, showKeys } from "./shell/keys.js";
import { askToSignIn, signInForm } from "./shell/sign-in.js";

/**
 * What a view is given.
 *
 * @typedef {object} Context
 * @property {Record<string, string>} params What the placeholders of its address stand for.
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal Aborted when the view is left: requests, feeds and listeners end with it.
 * @property {(query: Record<string, any>, options?: { replace?: boolean }) => void} setQuery Writes a state into the
 *   address, without showing the view anew.
 * @property {(hash: string) => void} go
 * @property {(ask: (() => Promise<boolean>) | null) => void} guard Asked before the view is left, such as with unsaved
 *   work.
 *
 * A view is a function that returns its element at once and fills it as answers come.
 *
 * @typedef {object} View
 * @property {(ctx: Context) => string} title
 * @property {(ctx: Context) => { label: string, href?: string }[]} crumbs
 * @property {(ctx: Context) => HTMLElement} render The element has the class `view`, and `full` when it scrolls inside.
 */

const PLACES = /** @type {const} */ ([
  { section: "databases", label: "Databases", icon: "database", href: "#/" },
  { section: "sync", label: "Sync", icon: "sync", href: "#/sync" },
  { section: "access", label: "Access", icon: "key", href: "#/access" },
  { section: "server", label: "Server", icon: "server", href: "#/server" },
]);

/** The frame of the console: it shows the view of the address, who is signed in, and whether the server answers. */
export class Shell {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {AbortController} */
    this.leaving = new AbortController();
    /** @type {(() => Promise<boolean>) | null} */
    this.guard = null;
    /** Whether the guard asks. */
    this.isAsking = false;
    this.shownHash = "";
    this.places = h("nav.places", { "aria-label": "Places" });
    this.crumbs = h("nav.crumbs", { "aria-label": "Where you are" });
    this.page = h("main.page", { id: "page", tabindex: -1 });
    this.banner = h("div.banner", { role: "status", hidden: true }, icon("alert"),
      h("p.grow", null, "The server does not answer. What you see may be out of date. The console tries again."));
    this.account = h("div.row.nowrap");
  }

  async start() {
    applyScheme();
    hooks.signedOut = askToSignIn;
    fill(this.root, loadingState());
    try {
      await refresh();
      await this.signInByAddress();
    } catch (error) {
      fill(this.root, errorState(error, () => this.start()));
      return;
    }
    const forever = new AbortController().signal;
    session.follow((value) => { fill(this.account, account(value)); }, forever);
    isReachable.follow((answers) => { this.banner.hidden = answers; if (!answers) this.wait(); }, forever);
    keys(forever, {
      "?": ["Show keyboard shortcuts", showKeys],
      "g": ["Go to a database by name", goTo],
    });
    window.addEventListener("hashchange", () => this.show());
    window.addEventListener("beforeunload", (event) => { if (this.guard) event.preventDefault(); });
    if (!session.value?.isRequired) { this.frame(); return; }
    const form = signInForm(() => { this.shownHash = ""; this.frame(); });
    fill(this.root, h("main.gate", null, form));
    form.querySelector("input")?.focus();
  }

  /**
   * Signs in by the key that `divan open` writes into the address of the browser that it starts, and takes it out of
   * there. Only where the server says that it was started so, and the user has no session: no link can sign in as
   * another user.
   */
  async signInByAddress() {
    const { words, query } = parse(location.hash);
    const key = query.get("owner");
    if (!key) return;
    history.replaceState(null, "", link(...words));
    if (has("divan-open") && session.value?.isRequired) await signIn("owner", key);
  }

  frame() {
    fill(this.root,
      h("a.skip", {
        href: "#page",
        onclick: (/** @type {Event} */ event) => { event.preventDefault(); this.page.focus(); },
      }, "Skip to the page"),
      h("div.shell", null,
        h("header.bar", null,
          h("a.brand", { href: "#/", "aria-label": "Divan, all databases" },
            h("img", { src: "icon.svg", alt: "" }),
            h("span.wide-only", null, "Divan")),
          this.crumbs, this.account),
        this.places,
        h("div.page-frame", { style: { display: "contents" } }, this.page)));
    this.page.before(this.banner);
    this.banner.style.setProperty("grid-area", "page");
    this.banner.style.setProperty("align-self", "start");
    this.banner.style.setProperty("z-index", "5");
    const { vendor, version = "" } = server.value ?? {};
    this.placesFoot = h("p.foot", null, `${serverName()} ${vendor?.version ?? version}`);
    this.show();
  }

  /**
   * Shows the view of the address.
   *
   * @returns {Promise<void>}
   */
  async show() {
    const hash = location.hash || "#/";
    if (hash === this.shownHash) return;
    if (this.isAsking) return;
    if (this.guard) {
      this.isAsking = true;
      const mayLeave = await this.guard().finally(() => { this.isAsking = false; });
      if (!mayLeave) { history.replaceState(null, "", this.shownHash); return; }
      // The address may be another one by now.
      this.guard = null;
      return this.show();
    }
    closeDialogs();
    this.leaving.abort();
    this.leaving = new AbortController();
    this.shownHash = hash;
    const signal = this.leaving.signal;
    const found = match(routes, hash);
    const section = found?.route.section ?? "";
    fill(this.places, PLACES.map((place) =>
      h("a", { href: place.href, "aria-current": place.section === section ? "page" : undefined },
        icon(place.icon), place.label)), this.placesFoot);
    if (!found) {
      fill(this.page, emptyState({
        icon: "search",
        title: "Page not found",
        text: "The console has no page at this address.",
        action: h("a.button", { href: "#/" }, "All databases"),
      }));
      return;
    }
    fill(this.page, loadingState());
    try {
      const { default: view } = await found.route.load();
      if (signal.aborted) return;
      /** @type {Context} */
      const ctx = {
        params: found.place.params, query: found.place.query, signal,
        go: (target) => { location.hash = target; },
        guard: (ask) => { if (!signal.aborted) this.guard = ask; },
        setQuery: (query, { replace = true } = {}) => {
          if (signal.aborted) return;
          const target = link(...parse(hash).words, query);
          if (target === this.shownHash) return;
          this.shownHash = target;
          if (replace) history.replaceState(null, "", target); else history.pushState(null, "", target);
        },
      };
      document.title = `${view.title(ctx)} · Divan`;
      this.showCrumbs(view.crumbs(ctx));
      fill(this.page, view.render(ctx));
      this.page.scrollTop = 0;
      if (!this.page.contains(document.activeElement)) this.page.focus({ preventScroll: true });
    } catch (error) {
      if (!signal.aborted) fill(this.page, errorState(error, () => { this.shownHash = ""; return this.show(); }));
    }
  }

  /** @param {{ label: string, href?: string }[]} crumbs */
  showCrumbs(crumbs) {
    fill(this.crumbs, crumbs.map((crumb, index) => {
      const isLast = index === crumbs.length - 1;
      return [index > 0 && h("span.mark", { "aria-hidden": "true" }, "/"),
        crumb.href && !isLast ? h("a", { href: crumb.href, title: crumb.label }, crumb.label)
          : h("span", { "aria-current": isLast ? "page" : undefined, title: crumb.label }, crumb.label)];
    }));
  }

  /** Asks whether the server is back, until it is. */
  wait() {
    if (this.waiting) return;
    this.waiting = true;
    const again = async () => {
      try { await refresh(); this.waiting = false; } catch { setTimeout(again, 2000); }
    };
    setTimeout(again, 1000);
  }
}
