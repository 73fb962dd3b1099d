# SPDX-License-Identifier: Apache-2.0
"""Numbers that JavaScript would change keep their digits, wherever the console reads or writes them."""
import re

from case import ConsoleTest

LARGE, ONE, HUGE = "12345678901234567890", "1.0", "1e400"
DOCUMENT = f'{{"_id": "n", "large": {LARGE}, "one": {ONE}, "huge": {HUGE}, "lat": 1.5, "lon": 2.5}}'.encode()


class Exact(ConsoleTest):
    @classmethod
    def seed(cls, server):
        server.put("/numbers")
        server.put("/numbers/n", DOCUMENT)
        server.put("/numbers/m", {"large": 12345678901234567000, "one": 2})
        server.put("/numbers/_design/d", {"filters": {"large": "function (doc, req) { return req.query.n.length === 20; }"}})
        server.put("/target")
        server.put("/_replicator/exact", f'{{"source": "numbers", "target": "target", "selector": {{"large": {LARGE}}}}}'.encode())

    def raw(self, path):
        return self.server.request("GET", path).body.decode()

    def test_answers_are_shown_and_exported_with_all_digits(self):
        b = self.browser
        b.open("#/db/numbers/ask?q=" + '{"selector":{"large":%s}}' % LARGE)
        b.reads("1 result")
        for number in (LARGE, ONE, HUGE):
            self.assertIn(number, b.find("grid", "Results").text.split())
        b.click("button", "Export")
        b.click("menuitem", "JSON")
        text = b.downloaded("numbers*.json").read_text()
        b.click("button", "Export")
        b.click("menuitem", "CSV, exact")
        line = b.downloaded("numbers*.csv").read_text().splitlines()[1]
        for number in (LARGE, ONE, HUGE):
            self.assertRegex(text, re.escape(f": {number}") + r",?\n")
            self.assertIn(number, line.split(","))
        b.click("button", "JSON")
        b.until(lambda: set(b.js("return [...document.querySelectorAll('.result-json .numeral')].map((one) => one.innerText)"))
                >= {LARGE, ONE, HUGE}, "the numbers are shown as they are")
        b.click("button", "Map")
        b.reads("2.500°E")

    def test_columns_are_sorted_by_all_digits(self):
        b = self.browser
        b.open("#/db/numbers/ask?mode=view&q=" + '{"view":"","docs":true}')
        b.click("button", re.compile(r"^doc\.large"))
        rows = lambda: [one for one in b.find("grid", "Results").text.split() if one.startswith("123456")]
        b.until(lambda: rows() == ["12345678901234567000", LARGE], "the smaller one is the first")
        b.click("button", re.compile(r"^doc\.large"))
        b.until(lambda: rows() == [LARGE, "12345678901234567000"], "the larger one is the first")

    def test_the_parameters_of_a_filter_of_the_feed_keep_their_digits(self):
        b = self.browser
        b.open('#/db/numbers/live?from=start&filter=d%2Flarge&parameters={"n":' + LARGE + "}")
        b.until(lambda: len(b.js("return [...document.querySelectorAll('.live-list .line')]")) == 3, "the filter lets all pass")
        b.click("button", "Filter: d/large")
        self.assertEqual(b.find("textbox", "Parameters").get_property("value"), '{"n":%s}' % LARGE)
        b.click("button", "Apply the filter")
        b.until(lambda: LARGE in b.hash, "it is in the address")

    def test_the_selector_of_a_replication_keeps_its_digits(self):
        b = self.browser
        b.open("#/sync/job/exact")
        b.reads(LARGE)
        b.click("button", "Restart")
        b.reads("is restarted")
        self.assertIn(LARGE, self.raw("/_replicator/exact"))
        b.open("#/sync/new?edit=exact")
        b.until(lambda: LARGE in b.find("textbox", "Selector").get_property("value"), "the form has it")
        b.click("button", "Preview what is sent")
        b.reads("1 document would be sent")
        b.find("checkbox", re.compile("Create the target")).click()
        b.click("button", "Save and restart")
        b.until(lambda: b.hash == "#/sync/job/exact", "it is saved")
        self.assertRegex(self.raw("/_replicator/exact"), f'"large": *{LARGE}')

    def test_a_new_replication_has_the_digits_that_were_typed(self):
        b = self.browser
        b.open("#/sync/new?source=numbers&target=target")
        b.choose("Documents", "selector")
        b.find("textbox", "Selector").click()
        b.paste('{"huge": %s}' % HUGE)
        b.type("Name", "typed")
        b.click("button", "Start the replication")
        b.until(lambda: b.hash == "#/sync/job/typed", "it is saved")
        self.assertRegex(self.raw("/_replicator/typed"), f'"huge": *{HUGE}')
