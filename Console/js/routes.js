// SPDX-License-Identifier: Apache-2.0

/**
 * Which view shows which address. A view's module is fetched when it is first shown.
 *
 * @type {import("./core/router.js").Route[]}
 */
export const routes = [
  { pattern: "/", section: "databases", load: () => import("./views/overview.js") },
  { pattern: "/db/:db/docs", section: "databases", load: () => import("./views/documents.js") },
  { pattern: "/db/:db/doc/:id", section: "databases", load: () => import("./views/document.js") },
  { pattern: "/db/:db/doc/:id/history", section: "databases", load: () => import("./views/history.js") },
  { pattern: "/db/:db/conflicts", section: "databases", load: () => import("./views/conflicts.js") },
  { pattern: "/db/:db/ask", section: "databases", load: () => import("./views/ask.js") },
  { pattern: "/db/:db/indexes", section: "databases", load: () => import("./views/indexes.js") },
  { pattern: "/db/:db/live", section: "databases", load: () => import("./views/live.js") },
  { pattern: "/db/:db/storage", section: "databases", load: () => import("./views/storage.js") },
  { pattern: "/db/:db/access", section: "databases", load: () => import("./views/database-access.js") },
  { pattern: "/sync", section: "sync", load: () => import("./views/sync.js") },
  { pattern: "/sync/new", section: "sync", load: () => import("./views/sync-new.js") },
  { pattern: "/sync/job/:id", section: "sync", load: () => import("./views/sync-job.js") },
  { pattern: "/access", section: "access", load: () => import("./views/access.js") },
  { pattern: "/server", section: "server", load: () => import("./views/server.js") },
];
