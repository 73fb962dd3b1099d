# SPDX-License-Identifier: Apache-2.0
"""A database of many documents: 20,000, or as many as CONSOLE_DOCUMENTS says.

    CONSOLE_DOCUMENTS=1000000 scripts/test-console --divan RELEASE --jobs 1 scale

scripts/soak does so, and scripts/bench-console with as many as it is told.

Each step is compared with the server's own answer to the request behind it, in the same run, and has a limit.
"""
import json
import os
import time

import figures
from case import ConsoleTest, needs_view

DOCUMENTS = int(os.environ.get("CONSOLE_DOCUMENTS", "20000"))
IDS = "return [...document.querySelectorAll('.list .line a')].map((one) => one.textContent)"
# Seconds that one step may take, and megabytes of the page's objects.
LONGEST = float(os.environ.get("CONSOLE_SECONDS", "10"))
LARGEST = 64


@needs_view("documents")
class Scale(ConsoleTest):
    # The figures of the benchmark are those of Chromium itself.
    needs_whole_browser = True

    @classmethod
    def seed(cls, server):
        server.database("large")
        for at in range(0, DOCUMENTS, 5_000):
            docs = [{"_id": f"doc-{number:07}", "type": ("note", "job", "person")[number % 3], "number": number,
                     "text": f"document number {number}"} for number in range(at, min(at + 5_000, DOCUMENTS))]
            server.post("/large/_bulk_docs", {"docs": docs, "new_edits": True})

    def first(self):
        return (self.browser.js(IDS) or [""])[0]

    def last(self):
        return (self.browser.js(IDS) or [""])[-1]

    def step(self, work, what, act, is_there, path, body=None):
        """Does something, waits until it is seen, and keeps how long it took beside the server's own answer."""
        began = time.monotonic()
        act()
        self.browser.until(is_there, what, LONGEST * 3)
        seen = time.monotonic() - began
        began = time.monotonic()
        if body is None:
            self.server.get(path)
        else:
            self.server.post(path, body)
        answered = time.monotonic() - began
        figures.keep(f"console_{work}", seen * 1_000, "ms", answered * 1_000, documents=DOCUMENTS)
        self.assertLess(seen, LONGEST, what)

    def test_many_documents_are_listed_scrolled_and_searched(self):
        b = self.browser
        end, middle = f"doc-{DOCUMENTS - 1:07}", f"doc-{DOCUMENTS // 2:07}"
        rows = "/large/_all_docs?include_docs=true&limit=50"
        self.step("list", "the list is shown", lambda: b.open("#/db/large/docs", settle=False), lambda: self.first() == "doc-0000000", rows)
        b.reads(f"{DOCUMENTS:,} documents")
        b.css(".list").click()
        self.step("end", "the end is shown", lambda: b.press("End"), lambda: self.last() == end, rows + "&descending=true")
        self.step("middle", "the middle is shown",
                  lambda: b.js("const list = document.querySelector('.list'); list.scrollTop = list.scrollHeight / 2"),
                  lambda: abs(int(self.first()[4:] or 0) - DOCUMENTS // 2) < DOCUMENTS / 50, f"{rows}&skip={DOCUMENTS // 2}")

        def scrolled():
            for _ in range(20):
                b.js("document.querySelector('.list').scrollTop += 5000")
                time.sleep(0.01)
        place = self.first()
        self.step("scroll", "what was scrolled to is shown", scrolled, lambda: self.first() > place, f"{rows}&skip={DOCUMENTS // 2}")
        self.check_size()

        def typed():
            b.press("/")
            b.write(middle[:-2])
        self.step("beginning", "a beginning of the ID is found", typed, lambda: self.first() == middle[:-2] + "00",
                  f'{rows}&startkey="{middle[:-2]}"')
        selector = {"number": DOCUMENTS - 7}
        self.step("selector", "a selector without an index is answered",
                  lambda: b.open("#/db/large/docs?by=find&q=" + json.dumps(selector), settle=False),
                  lambda: self.first() == f"doc-{DOCUMENTS - 7:07}", "/large/_find", {"selector": selector, "limit": 25})

    def check_size(self):
        """Only what is in sight is in the page, whatever was scrolled past."""
        lines = self.browser.js("return document.querySelectorAll('.list .line').length")
        self.browser.cdp("HeapProfiler.collectGarbage")
        megabytes = self.browser.cdp("Runtime.getHeapUsage")["usedSize"] / 1e6
        figures.keep("console_lines", lines, "lines", documents=DOCUMENTS)
        figures.keep("console_objects", megabytes, "MB", documents=DOCUMENTS)
        self.assertLess(lines, 100)
        self.assertLess(megabytes, LARGEST)
