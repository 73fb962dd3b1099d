# SPDX-License-Identifier: Apache-2.0
"""How soon the console shows something, and how much is sent for it.

The floor is a page of one word from a server in this process, loaded in turn with the console.
"""
import http.server
import os
import threading

import figures
import static_checks
from case import ConsoleTest

# Pairs of loads, of which the medians count.
RUNS = int(os.environ.get("CONSOLE_RUNS", "3"))
# How many times as long as the page of one word the console may take; three times is usual in a release build.
MOST_TIMES = 12

EMPTY = b"<!doctype html><html lang=en><title>Empty</title><p>Empty"


class EmptyPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(EMPTY)))
        self.end_headers()
        self.wfile.write(EMPTY)

    def log_message(self, *_):
        """Says nothing."""


class FirstPaint(ConsoleTest):
    # The figures of the benchmark are those of Chromium itself.
    needs_whole_browser = True

    @classmethod
    def seed(cls, server):
        for name in ("notes", "orders", "people"):
            server.database(name, ({"_id": f"{number}"} for number in range(100)))
        cls.other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage)
        threading.Thread(target=cls.other.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.other.server_close)
        cls.addClassCleanup(cls.other.shutdown)

    def paint_of(self, address):
        """Milliseconds from the beginning of a load with an empty cache until something is painted."""
        b = self.browser
        b.driver.get("about:blank")
        b.cdp("Network.clearBrowserCache")
        b.driver.get(address)
        return b.until(lambda: b.js("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"),
                       "something is painted")

    def test_the_console_is_painted_soon(self):
        empty, console = [], []
        for _ in range(RUNS):
            empty.append(self.paint_of(f"http://127.0.0.1:{self.other.server_port}/"))
            console.append(self.paint_of(self.server.console))
            self.browser.settled()
        figures.keep("console_first_paint", figures.median(console), "ms", figures.median(empty), runs=RUNS)
        self.assertLess(figures.median(console), MOST_TIMES * figures.median(empty))

    def test_what_is_loaded_is_a_part_of_what_is_there(self):
        self.paint_of(self.server.console)
        self.browser.settled()
        loaded = self.browser.js("""
            const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
            return entries.filter((one) => new URL(one.name).pathname.startsWith("/_utils/"))
              .reduce((sum, one) => sum + one.encodedBodySize, 0)""")
        whole = static_checks.Checks(static_checks.CONSOLE).sent()
        figures.keep("console_size", whole / 1_000, "kB")
        figures.keep("console_first_load", loaded / 1_000, "kB")
        self.assertGreater(loaded, 10_000)
        self.assertLess(loaded, whole)
