// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { button } from "./button.js";
import { icon } from "./icon.js";

/**
 * A button that opens a menu; the arrows go through it, Escape closes it.
 *
 * @typedef {{
 *   label: string, icon?: import("./icon.js").IconName, call: () => any,
 *   danger?: boolean, checked?: boolean, hidden?: boolean,
 * } | "line" | false | null | undefined} MenuItem
 *
 * @param {object} options
 * @param {string} [options.label]
 * @param {string} [options.title]
 * @param {import("./icon.js").IconName} [options.icon]
 * @param {string} [options.kind]
 * @param {() => MenuItem[]} options.items Asked each time that it opens.
 * @returns {HTMLButtonElement}
 */
export function menuButton({ label, title, icon: name = "more", kind = "", items }) {
  const opener = button({
    label, title, icon: name, kind, props: { "aria-haspopup": "menu", "aria-expanded": "false" },
    onclick: () => (closeOpen ? closeOpen() : open()),
  });
  /** @type {(() => void) | null} */
  let closeOpen = null;
  const open = () => {
    const leave = new AbortController();
    const menu = h("div.menu", { role: "menu", "aria-label": label ?? title }, items().map((item) => {
      if (!item) return null;
      if (item === "line") return h("hr");
      return h("button", {
        type: "button",
        role: item.checked === undefined ? "menuitem" : "menuitemcheckbox",
        tabindex: -1,
        class: item.danger ? "danger" : "",
        "aria-checked": item.checked === undefined ? undefined : String(item.checked),
        onclick: () => { close(); item.call(); },
      }, item.icon && icon(item.icon), item.label);
    }));
    const close = () => {
      closeOpen = null;
      leave.abort();
      menu.remove();
      opener.setAttribute("aria-expanded", "false");
      if (opener.isConnected) opener.focus();
    };
    const entries = () => /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button")]);
    menu.addEventListener("keydown", (event) => {
      const all = entries(), at = all.indexOf(/** @type {any} */ (document.activeElement));
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
      if (event.key === "Escape" || event.key === "Tab") close();
      else if (to !== undefined) all[(to + all.length) % all.length]?.focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    document.addEventListener("pointerdown", (event) => {
      const target = /** @type {Node} */ (event.target);
      if (!menu.contains(target) && !opener.contains(target)) close();
    }, { capture: true, signal: leave.signal });
    window.addEventListener("hashchange", close, { signal: leave.signal });
    closeOpen = close;
    opener.setAttribute("aria-expanded", "true");
    (opener.closest("dialog") ?? document.body).append(menu);
    menu.setAttribute("popover", "manual");
    /** @type {any} */ (menu).showPopover?.();
    const box = opener.getBoundingClientRect(), own = menu.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, window.innerWidth - own.width - 8));
    const below = box.bottom + own.height + 8 < window.innerHeight;
    menu.style.setProperty("left", `${left}px`);
    menu.style.setProperty("top", `${below ? box.bottom + 4 : Math.max(8, box.top - own.height - 4)}px`);
    entries()[0]?.focus();
  };
  return opener;
}
