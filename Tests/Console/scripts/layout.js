// SPDX-License-Identifier: Apache-2.0

/** Faults of a page's layout: controls over each other, cut off, or outside of the window. Needs find.js and accessibility.js before it. */

const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary";

/** Whether an ancestor scrolls, so that what is beyond its edge can be reached. */
function scrolls(element, axis) {
  for (let one = element.parentElement; one && one !== document.documentElement; one = one.parentElement) {
    const value = getComputedStyle(one)[axis === "x" ? "overflowX" : "overflowY"];
    if (/auto|scroll/.test(value)) return true;
    if (getComputedStyle(one).position === "fixed") return false;
  }
  return false;
}

/** The box of an element as far as those around it let it be seen; null when nothing is. */
function seenBox(element) {
  let { left, top, right, bottom } = element.getBoundingClientRect();
  for (let one = element.parentElement; one; one = one.parentElement) {
    if (getComputedStyle(one).overflow === "visible") continue;
    const box = one.getBoundingClientRect();
    [left, top, right, bottom] = [Math.max(left, box.left), Math.max(top, box.top), Math.min(right, box.right), Math.min(bottom, box.bottom)];
  }
  [left, top, right, bottom] = [Math.max(left, 0), Math.max(top, 0), Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
  return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : null;
}

/** What stays in sight while the rest scrolls below it; null for an element that scrolls. */
function sticky(element) {
  for (let one = element; one; one = one.parentElement) if (getComputedStyle(one).position === "sticky") return one;
  return null;
}

function layoutFaults() {
  const faults = [];
  const dialogs = [...document.querySelectorAll("dialog[open]")];
  const top = dialogs.at(-1) ?? document.body;
  const controls = [...top.querySelectorAll(CONTROLS)].filter((one) => isVisible(one) && !one.closest(".unseen, .skip, [inert]") && getComputedStyle(one).opacity !== "0");
  const boxes = new Map();
  for (const one of controls) {
    const box = one.getBoundingClientRect();
    if (box.width < 1 || box.height < 1) continue;
    if ((box.left < -1 || box.right > innerWidth + 1) && !scrolls(one, "x")) faults.push(`outside of the window: ${shortly(one)}`);
    const seen = seenBox(one);
    if (!seen) continue;
    boxes.set(one, seen);
    // A label that is cut without an ellipsis.
    const style = getComputedStyle(one);
    if (one.matches("button, a.button") && one.scrollWidth > one.clientWidth + 2 && style.textOverflow !== "ellipsis" && style.overflowX !== "visible") {
      faults.push(`its text is cut off: ${shortly(one)}`);
    }
    if (one.matches("button, input, select") && box.height < 16 && !one.matches("[type=checkbox], [type=radio], [type=range]")) faults.push(`too small to hit: ${shortly(one)} ${Math.round(box.height)} pixels high`);
  }
  const all = [...boxes];
  for (let at = 0; at < all.length; at += 1) {
    for (let next = at + 1; next < all.length; next += 1) {
      const [one, a] = all[at], [other, b] = all[next];
      if (one.contains(other) || other.contains(one) || one.closest("label")?.contains(other)) continue;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left), height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width <= 3 || height <= 3) continue;
      // What lies above on purpose, such as a message, a menu, or a header that stays.
      const layer = (element) => element.closest(".toasts, .menu, [popover], .banner, th, header, nav, .bar") ?? sticky(element);
      if (layer(one) !== layer(other)) continue;
      faults.push(`over each other: ${shortly(one)} and ${shortly(other)}`);
    }
  }
  // Texts that run over the edge of the window where nothing scrolls.
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element || !isVisible(element) || element.closest(".unseen, .skip, option, noscript")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    const seen = seenBox(element);
    if (!seen || box.width < 1) continue;
    if (box.right > innerWidth + 2 && !scrolls(element, "x") && ![element, element.parentElement].some((one) => getComputedStyle(one).overflowX !== "visible")) {
      faults.push(`a text outside of the window: ${shortly(element)}`);
    }
  }
  const text = top.innerText.trim();
  if (text.length < 20) faults.push(`the page is as good as blank: "${text}"`);
  return [...new Set(faults)];
}
