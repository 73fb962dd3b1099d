// SPDX-License-Identifier: Apache-2.0

import { linkTabs } from "../components/tabs.js";
import { link } from "../core/router.js";

/**
 * The links between the parts of a database, which each of its views has above.
 *
 * @param {string} database
 * @param {"docs" | "ask" | "indexes" | "conflicts" | "live" | "storage" | "access"} current
 * @returns {HTMLElement}
 */
export function databaseTabs(database, current) {
  const tabs = /** @type {const} */ ([
    ["docs", "Documents", "document"], ["ask", "Ask", "ask"],
    ["indexes", "Indexes", "index"], ["conflicts", "Conflicts", "fork"],
    ["live", "Live", "live"], ["storage", "Storage", "chart"], ["access", "Access", "key"],
  ]);
  return linkTabs({
    label: `Parts of ${database}`,
    tabs: tabs.map(([part, label, name]) => ({
      label,
      icon: name,
      href: link("db", database, part),
      isCurrent: part === current,
    })),
  });
}

/**
 * @param {string} database
 * @param {...{ label: string, href?: string }} more
 * @returns {{ label: string, href?: string }[]}
 */
export function databaseCrumbs(database, ...more) {
  return [{ label: "Databases", href: "#/" }, { label: database, href: link("db", database, "docs") }, ...more];
}
