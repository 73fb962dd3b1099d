// SPDX-License-Identifier: Apache-2.0

/**
 * Makes elements.
 *
 * What comes from a database reaches the page by `textContent`, attributes and properties only: nothing here or in any
 * view parses HTML. A test searches the sources for what would.
 *
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Child | any[]} Children
 * @typedef {Record<string, any>} Props
 */

/** What is set as a property, since the attribute of that name says only how it began. */
const PROPERTIES = new Set([
  "value", "checked", "disabled", "selected", "indeterminate", "open", "hidden", "readOnly", "multiple", "max",
]);
const SVG = "http://www.w3.org/2000/svg";

/**
 * An element of HTML.
 *
 * `h("button.primary", { onclick: save, "aria-label": "Save" }, "Save")`: classes stand behind the name; a function
 * under `on…` listens; `style` and `dataset` are objects; `false`, `null` and `undefined` leave an attribute out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K | `${K}.${string}`} name
 * @param {Props | null} [props]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, props, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = /** @type {any} */ (document.createElement(tag));
  if (classes.length) element.className = classes.join(" ");
  apply(element, props);
  add(element, children);
  return element;
}

/**
 * An element of SVG, for charts and trees.
 *
 * @param {string} name
 * @param {Props | null} [props]
 * @param {...Children} children
 * @returns {SVGElement}
 */
export function svg(name, props, ...children) {
  const element = document.createElementNS(SVG, name);
  apply(element, props);
  add(element, children);
  return element;
}

/**
 * Sets attributes, properties and listeners of an element, as `h` does.
 *
 * @param {any} element
 * @param {Props | null | undefined} props
 */
export function apply(element, props) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) {
      if (PROPERTIES.has(key) && value === false) element[key] = false;
    } else if (typeof value === "function" && key.startsWith("on")) {
      element.addEventListener(key.slice(2).toLowerCase(), value);
    } else if (key === "class") {
      for (const one of String(value).split(" ")) if (one) element.classList.add(one);
    } else if (key === "style") {
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, String(text));
    } else if (key === "dataset") {
      Object.assign(element.dataset, value);
    } else if (PROPERTIES.has(key) && key in element) {
      element[key] = value;
    } else {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
}

/**
 * @param {Element} element
 * @param {any[]} children
 */
function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Puts children in the place of those that an element has.
 *
 * @template {Element} E
 * @param {E} element
 * @param {...Children} children
 * @returns {E}
 */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

let lastID = 0;

/**
 * An ID for an element that another one names, such as an input that a label is for.
 *
 * @returns {string}
 */
export function freshID() { return `x${++lastID}`; }

/**
 * Has a function called once a flurry of calls is over.
 *
 * @template {any[]} A
 * @param {(...values: A) => void} call
 * @param {number} [milliseconds]
 * @returns {(...values: A) => void}
 */
export function debounce(call, milliseconds = 200) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let first = 0;
  return (...values) => {
    const now = Date.now();
    if (timer === undefined) first = now;
    clearTimeout(timer);
    // A flurry that goes on and on is answered now and then.
    const pause = Math.max(0, Math.min(milliseconds, first + milliseconds * 5 - now));
    timer = setTimeout(() => {
      timer = undefined;
      call(...values);
    }, pause);
  };
}
