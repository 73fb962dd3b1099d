// SPDX-License-Identifier: Apache-2.0

/**
 * Put before each page's own scripts: counts the requests that are under way, and notes what must not happen. What hostile data tries is
 * to set `pwned` or the title, or to open a dialog.
 */
(() => {
  const alarms = [];
  const feed = /[?&](feed=(continuous|longpoll|eventsource)|heartbeat=)/;
  let running = 0, lastEnd = performance.now();
  const original = window.fetch;
  window.fetch = async (...values) => {
    const address = String(values[0]?.url ?? values[0]);
    if (feed.test(address)) return original(...values);
    running += 1;
    try { return await original(...values); } finally { running -= 1; lastEnd = performance.now(); }
  };
  for (const name of ["alert", "confirm", "prompt", "print"]) {
    window[name] = () => { alarms.push(`a script called ${name}`); return null; };
  }
  Object.defineProperty(window, "pwned", { set(value) { alarms.push(`a script from data ran: ${value}`); }, get() { return undefined; } });
  document.addEventListener("securitypolicyviolation", (event) => {
    alarms.push(`the policy refused ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
  });
  window.addEventListener("unhandledrejection", (event) => {
    if (event.reason?.name !== "AbortError") alarms.push(`a promise failed unseen: ${event.reason?.stack ?? event.reason}`);
  });
  window.divanTest = {
    alarms,
    isSettled() {
      const app = document.getElementById("app");
      if (document.readyState !== "complete" || !app || !app.firstElementChild) return false;
      if (running > 0 || performance.now() - lastEnd < 60) return false;
      return ![...document.querySelectorAll("[aria-busy='true']")].some((one) => one.checkVisibility());
    },
  };
})();
