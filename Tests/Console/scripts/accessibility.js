// SPDX-License-Identifier: Apache-2.0

/** Faults of a page that keep people from using it, each as a sentence. Needs find.js before it. */

const ROLES = new Set(("alert alertdialog application article banner button cell checkbox columnheader combobox complementary contentinfo definition "
  + "dialog directory document feed figure form grid gridcell group heading img link list listbox listitem log main marquee math menu menubar menuitem "
  + "menuitemcheckbox menuitemradio meter navigation none note option presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar "
  + "search searchbox separator slider spinbutton status switch tab table tablist tabpanel term textbox timer toolbar tooltip tree treegrid treeitem").split(" "));
const PARENTS = { row: "grid, table, treegrid, rowgroup, [role=grid], [role=table], [role=treegrid], [role=rowgroup]", option: "[role=listbox], select",
  tab: "[role=tablist]", menuitem: "[role=menu], [role=menubar]", treeitem: "[role=tree], [role=group]", gridcell: "[role=row], tr", cell: "[role=row], tr" };
const INTERACTIVE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link], [role=checkbox], [role=radio], [role=tab], "
  + "[role=menuitem], [role=switch], [role=slider], [role=textbox], [role=combobox], [contenteditable=true], [tabindex]:not([tabindex='-1'])";

function shortly(element) {
  const text = (element.innerText ?? element.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 40);
  const place = element.className && typeof element.className === "string" ? `.${element.className.trim().split(/\s+/).join(".")}` : "";
  return `<${element.localName}${place}>${text ? ` "${text}"` : ""}`;
}

const brush = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const colours = new Map();
/** Red, green, blue from 0 to 255, and alpha from 0 to 1. */
function parts(colour) {
  if (!colours.has(colour)) {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
    colours.set(colour, [red, green, blue, alpha / 255]);
  }
  return colours.get(colour);
}
const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
function luminance(colour) {
  const [red, green, blue] = colour.slice(0, 3).map((value) => value / 255).map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** What is behind the text of an element: the grounds of itself and of those around it. */
function groundOf(element) {
  const layers = [];
  for (let one = element; one; one = one.parentElement) {
    const style = getComputedStyle(one);
    if (style.backgroundImage !== "none") return null;
    const colour = parts(style.backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
    if (one.matches(":modal, [popover]") && colour[3] === 0) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [...parts("Canvas").slice(0, 3), 1]);
}

/** What shape of a picture lies behind a text in it. */
function shapeBehind(element) {
  const box = element.getBoundingClientRect();
  const all = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  // Of a text that is scrolled out of sight, nothing lies there: the shape that it was drawn with is as good.
  const shapes = [...all, ...element.parentElement.querySelectorAll(":scope.mark > circle")];
  const shape = shapes.find((one) => one !== element && one instanceof SVGGeometryElement && getComputedStyle(one).fill !== "none");
  return shape ? parts(getComputedStyle(shape).fill) : null;
}

function opacityOf(element) {
  let opacity = 1;
  for (let one = element; one; one = one.parentElement) opacity *= Number(getComputedStyle(one).opacity);
  return opacity;
}

function checkContrast(top, faults) {
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element || seen.has(element) || /^(SCRIPT|STYLE|OPTION|NOSCRIPT)$/.test(element.tagName) || !isVisible(element)) continue;
    seen.add(element);
    if (element.closest(":disabled, [aria-disabled=true], [inert], [aria-hidden=true], .unseen, .skip")) continue;
    const style = getComputedStyle(element);
    const isPicture = element instanceof SVGElement;
    let ground = groundOf(element);
    if (!ground) continue;
    if (isPicture) { const shape = shapeBehind(element); if (shape) ground = over(shape, ground); }
    const own = parts(isPicture ? style.fill : style.color);
    const ink = over([own[0], own[1], own[2], own[3] * opacityOf(element)], ground);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
    const ratio = contrast(ink, ground);
    if (ratio < least - 0.02) faults.push(`contrast ${ratio.toFixed(2)} below ${least}: ${shortly(element)}`);
  }
}

function checkNames(top, faults) {
  for (const element of top.querySelectorAll(INTERACTIVE)) {
    if (!isVisible(element) || element.closest("[inert], [aria-hidden=true]")) continue;
    if (!nameOf(element) && !(element.getAttribute("aria-describedby") && element.localName === "main")) faults.push(`no accessible name: ${shortly(element)}`);
    if (element.tabIndex > 0) faults.push(`a positive tabindex: ${shortly(element)}`);
    if (element.matches("[role=button], [role=link], [role=tab], [role=menuitem], [role=checkbox], [role=switch]") && element.tabIndex < 0
      && !element.closest("[role=menu], [role=tablist], [role=grid], [role=tree]") && !element.hasAttribute("aria-disabled")) {
      faults.push(`a control that keys do not reach: ${shortly(element)}`);
    }
    const around = element.parentElement?.closest("a[href], button");
    if (around && element.matches("a[href], button, input, select, textarea")) faults.push(`a control within a control: ${shortly(element)}`);
  }
  for (const image of top.querySelectorAll("img")) if (!image.hasAttribute("alt")) faults.push(`a picture without alt: ${shortly(image)}`);
  for (const picture of top.querySelectorAll("svg")) {
    if (!isVisible(picture)) continue;
    const isHidden = picture.closest("[aria-hidden=true]") || picture.getAttribute("role") === "presentation" || picture.getAttribute("role") === "none";
    const holder = picture.parentElement?.closest("[role]");
    const isPartOfNamed = holder && /^(tree|grid|listbox|application|img|group|figure)$/.test(holder.getAttribute("role")) && nameOf(holder);
    if (!isHidden && !isPartOfNamed && !nameOf(picture) && picture.getAttribute("role") !== "group") faults.push(`a drawing without a name that is not hidden: ${shortly(picture)}`);
  }
}

function checkRoles(top, faults) {
  for (const element of top.querySelectorAll("[role]")) {
    const role = element.getAttribute("role");
    if (!ROLES.has(role)) faults.push(`no such role ${role}: ${shortly(element)}`);
    if (PARENTS[role] && isVisible(element) && !element.parentElement?.closest(PARENTS[role])) faults.push(`a ${role} outside of what holds it: ${shortly(element)}`);
  }
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "aria-activedescendant"]) {
    for (const element of top.querySelectorAll(`[${name}]`)) {
      for (const id of element.getAttribute(name).split(" ").filter(Boolean)) {
        if (!document.getElementById(id) && name !== "aria-controls") faults.push(`${name} names ${id}, which is not there: ${shortly(element)}`);
      }
    }
  }
  for (const label of top.querySelectorAll("label[for]")) if (!document.getElementById(label.htmlFor)) faults.push(`a label for nothing: ${shortly(label)}`);
}

function checkDocument(faults) {
  const ids = new Map();
  for (const one of document.querySelectorAll("[id]")) ids.set(one.id, (ids.get(one.id) ?? 0) + 1);
  for (const [id, count] of ids) if (count > 1) faults.push(`${count} elements have the ID ${id}`);
  if (!document.documentElement.lang) faults.push("the document does not say its language");
  if (!document.title) faults.push("the window has no title");
  const headings = [...document.querySelectorAll("h1")].filter((one) => isVisible(one) && !one.closest("dialog"));
  if (headings.length !== 1) faults.push(`${headings.length} headings of the first level: ${headings.map(shortly).join(", ")}`);
  if ([...document.querySelectorAll("main, [role=main]")].filter(isVisible).length !== 1) faults.push("there is not one main landmark");
  for (const nav of document.querySelectorAll("nav")) if (isVisible(nav) && !nameOf(nav)) faults.push("a nav without a name");
  let level = 1;
  for (const heading of document.querySelectorAll("main h1, main h2, main h3, main h4, main h5")) {
    if (!isVisible(heading)) continue;
    const own = Number(heading.localName[1]);
    if (own > level + 1) faults.push(`a heading of level ${own} after one of level ${level}: ${shortly(heading)}`);
    level = own;
  }
}

function checkWidth(faults) {
  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth + 1) faults.push(`the page scrolls sideways: ${page.scrollWidth} of ${page.clientWidth} pixels`);
  for (const one of document.querySelectorAll("main, .view")) {
    if (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible") {
      const wide = [...one.querySelectorAll("*")].find((inner) => inner.getBoundingClientRect().right > one.getBoundingClientRect().right + 1
        && !inner.parentElement.closest(".list, .scroll-x"));
      faults.push(`${shortly(one).slice(0, 40)} scrolls sideways: ${one.scrollWidth} of ${one.clientWidth} pixels${wide ? `, by ${shortly(wide)}` : ""}`);
    }
  }
}

function accessibilityFaults() {
  const faults = [];
  checkContrast(document.body, faults);
  checkNames(document.body, faults);
  checkRoles(document.body, faults);
  checkDocument(faults);
  checkWidth(faults);
  return [...new Set(faults)];
}

/** What has the focus, and whether it can be seen that it has. */
function focusState() {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const box = element.getBoundingClientRect();
  const rings = [element, element.parentElement, element.closest("label"), element.closest(".editor")].filter(Boolean);
  const style = getComputedStyle(element);
  const isRing = rings.some((one) => {
    const own = getComputedStyle(one);
    return own.boxShadow !== "none" || own.outlineStyle !== "none" && parseFloat(own.outlineWidth) > 0;
  });
  window.divanFocus ??= new Map();
  if (!window.divanFocus.has(element)) window.divanFocus.set(element, window.divanFocus.size);
  return {
    key: window.divanFocus.get(element), what: shortly(element), isRing,
    isInSight: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth && style.visibility !== "hidden",
    isAfter: window.divanLast?.isConnected ? Boolean(window.divanLast.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) : true,
    last: void (window.divanLast = element),
  };
}
