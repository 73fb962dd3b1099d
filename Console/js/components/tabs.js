// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { icon } from "./icon.js";

/**
 * Links to the parts of one thing, of which one is shown.
 *
 * @param {{
 *   label: string,
 *   tabs: { label: string, href: string, icon?: import("./icon.js").IconName, isCurrent: boolean }[],
 * }} options
 * @returns {HTMLElement}
 */
export function linkTabs({ label, tabs }) {
  const element = h("nav.tabs", { "aria-label": label }, tabs.map((tab) =>
    h("a", { href: tab.href, "aria-current": tab.isCurrent ? "page" : undefined },
      tab.icon && icon(tab.icon), tab.label)));
  const current = element.querySelector("a[aria-current]");
  // On a narrow page the current one may stand beyond the edge. The first call comes once it is in the page.
  new ResizeObserver(() => {
    if (!(current instanceof HTMLElement)) return;
    element.scrollLeft = current.offsetLeft - element.offsetLeft - (element.clientWidth - current.offsetWidth) / 2;
  }).observe(element);
  return element;
}
