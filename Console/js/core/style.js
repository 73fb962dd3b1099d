// SPDX-License-Identifier: Apache-2.0

/**
 * Loads the sheet of a view, `css/views/NAME.css`, once. A view's module waits for it at its top, so that nothing is
 * shown unstyled: `await useStyle("documents");`
 *
 * @param {string} name
 * @returns {Promise<void>}
 */
export function useStyle(name) {
  const href = new URL(`../../css/views/${name}.css`, import.meta.url).href;
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = href;
    link.onload = link.onerror = () => resolve();
    document.head.append(link);
  });
}
