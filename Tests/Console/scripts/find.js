// SPDX-License-Identifier: Apache-2.0

/** Finds elements as a screen reader names them: a role and a name. */

const SELECTORS = {
  button: "button:not([role]), [role=button], input[type=submit], input[type=button]",
  link: "a[href]:not([role]), [role=link]",
  textbox: "input:not([type]), input[type=text], input[type=search], input[type=password], input[type=number], input[type=email], "
    + "input[type=url], input[type=date], input[type=datetime-local], textarea, [role=textbox], [role=searchbox], [contenteditable=true], input[role=combobox]",
  checkbox: "input[type=checkbox], [role=checkbox], [role=switch]",
  radio: "input[type=radio], [role=radio]",
  combobox: "select, [role=combobox]",
  slider: "input[type=range], [role=slider]",
  dialog: "dialog[open], [role=dialog]",
  menuitem: "[role=menuitem], [role=menuitemcheckbox], [role=menuitemradio]",
  heading: "h1, h2, h3, h4, h5, h6, [role=heading]",
  table: "table, [role=table]",
  row: "tr, [role=row]",
  summary: "summary",
  img: "img, svg[role=img], [role=img]",
};
const NAMED_BY_CONTENT = /^(BUTTON|A|SUMMARY|H1|H2|H3|H4|H5|H6|TD|TH|TR|OPTION|LABEL)$/;
const ROLES_BY_CONTENT = /^(button|link|menuitem|menuitemcheckbox|menuitemradio|tab|option|row|gridcell|cell|columnheader|rowheader|heading|treeitem|checkbox|radio|switch)$/;

const clean = (text) => (text ?? "").replace(/\s+/g, " ").trim();

function contentOf(element) {
  let text = "";
  for (const child of element.childNodes) {
    if (child.nodeType === 3) text += child.data;
    else if (child.nodeType === 1 && child.getAttribute("aria-hidden") !== "true" && child.checkVisibility()) {
      text += child.getAttribute("aria-label") ?? (child.tagName === "IMG" ? child.alt : contentOf(child));
      if (getComputedStyle(child).display !== "inline") text += " ";
    }
  }
  return text;
}

function nameOf(element) {
  const by = element.getAttribute("aria-labelledby");
  if (by) return clean(by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" "));
  const label = element.getAttribute("aria-label");
  if (label) return clean(label);
  if (element.labels?.length) return clean([...element.labels].map(contentOf).join(" "));
  if (element.tagName === "IMG") return clean(element.alt);
  if (element.tagName === "INPUT" && /^(submit|button)$/.test(element.type)) return clean(element.value);
  const role = element.getAttribute("role");
  if (role ? ROLES_BY_CONTENT.test(role) : NAMED_BY_CONTENT.test(element.tagName)) {
    const content = clean(contentOf(element));
    if (content) return content;
  }
  return clean(element.title || element.getAttribute("placeholder") || element.querySelector?.(":scope > title")?.textContent);
}

function isVisible(element) {
  return element.checkVisibility({ checkOpacity: false, checkVisibilityCSS: true }) && element.getClientRects().length > 0;
}

/** The part of the page that can be reached: the topmost modal dialog, if there is one. */
function reachable() {
  const dialogs = [...document.querySelectorAll("dialog[open]")].filter((one) => one.matches(":modal"));
  return dialogs.at(-1) ?? document;
}

function find(role, name, pattern, within) {
  const top = within ?? reachable();
  const selector = SELECTORS[role] ?? `[role=${role}]`;
  const all = [...top.querySelectorAll(selector)];
  if (top.matches?.(selector)) all.unshift(top);
  const test = pattern ? new RegExp(pattern.source, pattern.flags) : null;
  return all.filter((element) => {
    if (!isVisible(element)) return false;
    if (name === null && !test) return true;
    const own = nameOf(element);
    return test ? test.test(own) : own === name;
  });
}

function describe(element) {
  if (!element) return { tag: "", role: "", name: "" };
  const role = element.getAttribute("role") ?? Object.keys(SELECTORS).find((one) => element.matches(SELECTORS[one])) ?? "";
  return { tag: element.tagName.toLowerCase(), role, name: nameOf(element) };
}
