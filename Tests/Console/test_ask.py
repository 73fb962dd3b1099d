# SPDX-License-Identifier: Apache-2.0
"""The workbench: selectors, the builder, views and full text; results as table, JSON, chart and map; saved queries and code."""
import json
import os
import pathlib
import re
import subprocess
import urllib.parse

import samples
from case import ConsoleTest, needs_view
from server import encoded


SNIPPETS = pathlib.Path(__file__).with_name("snippets.md")


def ask(mode, request, database="orders", **more):
    return f"#/db/{database}/ask?" + urllib.parse.urlencode({"mode": mode, "q": json.dumps(request), **more})


@needs_view("ask")
class Ask(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.orders(server, 300)
        samples.notes(server, 40, conflicts=2)
        server.database("empty")
        server.put("/parts?partitioned=true")
        server.bulk("parts", [{"_id": f"oslo:{n}", "n": n} for n in range(9)] + [
            {"_id": "_design/own", "views": {"by_n": {"map": "function (doc) { emit(doc.n, null); }"}}}])

    def count(self, selector):
        return self.browser.js("return document.querySelectorAll(arguments[0]).length", selector)

    def test_a_selector_is_run_by_a_key_and_stays_in_the_address(self):
        b = self.browser
        b.open("#/db/orders/ask")
        b.reads("Ask this database")
        b.click_css(".editor textarea")
        b.paste('{"selector": {"customer": "customer-003"}, "limit": 10}')
        b.press("Control+Enter")
        b.reads("10 results")
        b.reload()
        b.reads("10 results")
        b.find("link", re.compile("^order-"))

    def test_results_are_sorted_by_a_column(self):
        b = self.browser
        b.open(ask("selector", {"selector": {"type": "order"}, "limit": 50}))
        b.reads("50 results")
        b.click("button", re.compile("^price"))
        prices = lambda: b.js("""
          const column = [...document.querySelectorAll('.result-line.head button')].findIndex((one) => one.dataset.column === 'price');
          return [...document.querySelectorAll('.line')].sort((a, b) => a.dataset.index - b.dataset.index).map((line) => Number(line.children[column].textContent.replace(/,/g, '')));""")
        b.until(lambda: len(prices()) > 5 and prices() == sorted(prices()), "they are sorted")

    def test_results_are_shown_as_json_chart_and_map(self):
        b = self.browser
        b.open(ask("selector", {"selector": {"type": "order"}, "limit": 200}))
        b.click("button", "JSON")
        b.css(".result-json .json")
        b.click("button", "Chart")
        b.css(".chart svg")
        b.click("button", "Map")
        b.css(".map .mark")
        self.assertIn("as=map", b.hash)

    def test_a_view_is_grouped_and_drawn(self):
        b = self.browser
        b.open(ask("view", {"view": "sales/by_city", "level": "1"}))
        b.reads("5 results")
        b.click("button", "Chart")
        b.until(lambda: self.count(".chart .bar") == 5, "a bar for each city")

    def test_a_reduced_view_of_several_keys_has_a_result_for_each(self):
        b = self.browser
        b.open(ask("view", {"view": "sales/by_city"}))
        b.reads("1 result")
        self.assertFalse(b.has("checkbox", "Include documents"))
        cities = [row["key"] for row in self.server.get("/orders/_design/sales/_view/by_city?group=true")["rows"]][:2]
        b.type("Keys", json.dumps(cities))
        b.click("button", "Run")
        b.reads("2 results")
        b.type("From key", "1")
        b.click("button", "Run")
        b.reads("they cannot be combined")

    def test_full_text_is_searched(self):
        b = self.browser
        b.open("#/db/notes/ask?mode=text")
        b.reads("search / text")
        b.click_css(".question input")
        b.write("lamp")
        b.press("Control+Enter")
        b.find("link", re.compile("^note-"))

    def test_a_database_without_a_text_index_says_so(self):
        self.browser.open("#/db/orders/ask?mode=text")
        self.browser.reads("There is no text index")

    def test_what_the_server_refuses_is_shown_beside_the_question(self):
        b = self.browser
        b.open(ask("selector", {"selector": {"place.city": {"$foo": 1}}}))
        b.reads("$foo")
        b.css(".question .note.danger")

    def test_json_that_is_wrong_is_not_sent(self):
        self.browser.open("#/db/orders/ask?mode=selector&q=%7Bbroken")
        self.browser.reads("The request is not JSON")

    def test_the_index_that_serves_a_question_is_explained(self):
        b = self.browser
        b.open(ask("selector", {"selector": {"customer": "customer-003", "date": {"$gt": "2026-03"}}, "limit": 25}, explain="true"))
        b.reads("The server uses the index")
        b.reads("by-customer")

    def test_an_index_is_made_for_all_partitions_where_the_question_names_none(self):
        b = self.browser
        b.open(ask("selector", {"selector": {"n": {"$gt": 3}}}, "parts", explain="true"))
        b.click("button", re.compile("^Create the index"))
        b.reads("The index is built")
        index, = (one for one in self.server.get("/parts/_index")["indexes"] if one["type"] == "json")
        self.assertFalse(index["partitioned"])

    def test_a_view_of_partitions_asks_for_one(self):
        b = self.browser
        b.open(ask("view", {"view": "own/by_n"}, "parts"))
        b.reads("Name one in the field Partition")
        b.open(ask("view", {"view": "own/by_n"}, "parts", partition="oslo"))
        b.reads("9 results")

    def test_the_builder_makes_a_selector(self):
        b = self.browser
        b.open(ask("builder", {"selector": {}, "limit": 30}))
        b.click_css(".rule input")
        b.write("place.city")
        b.press("Tab", "Tab")
        b.js("document.querySelectorAll('.rule input')[1].focus()")
        b.write("Oslo")
        b.click("button", "Run")
        b.reads("30 results")
        made = json.loads(urllib.parse.parse_qs(b.js("return location.hash").split("?")[1])["q"][0])
        self.assertEqual(made["selector"], {"place.city": "Oslo"})

    def test_a_question_is_saved_as_a_document_and_found_again(self):
        b = self.browser
        b.open(ask("selector", {"selector": {"customer": "customer-007"}, "limit": 5}))
        b.reads("5 results")
        b.click("button", "Save")
        b.find("dialog")
        b.write("Customer <7>")
        b.press("Enter")
        b.gone("dialog")
        rows = self.server.get(encoded("orders", "_all_docs") + "?include_docs=true&startkey=%22query:%22&endkey=%22query:z%22")["rows"]
        self.assertEqual([row["doc"]["type"] for row in rows], ["divan.query"])
        b.open("#/db/orders/ask")
        b.click("button", re.compile("^Saved queries"))
        b.reads("Customer <7>")

    def test_a_question_as_curl_is_what_a_shell_sends(self):
        b = self.browser
        hostile = {"selector": {"name": "it's \"$(rm)\" \\(x) `y`"}, "limit": 3}
        b.open("#/nothing/here")
        curl = b.module("""
          const s = await load('ask/snippets.js'), q = await load('ask/question.js');
          return s.curl(q.requestOf('orders', q.readQuestion(new URLSearchParams({ mode: 'selector', q: args[0] }))));
        """, json.dumps(hostile))
        words = subprocess.run(["bash", "-c", "curl() { printf '%s\\0' \"$@\"; }; " + curl], capture_output=True).stdout.decode().split("\0")
        sent = next(json.loads(word) for word in words if word.startswith("{"))
        sent.pop("execution_stats", None)
        self.assertEqual(sent, hostile)

    def test_a_question_as_swift_is_what_the_samples_compile(self):
        b = self.browser
        b.open("#/nothing/here")
        page = SNIPPETS.read_text(encoding="utf-8")
        pair = re.compile(r"```json\n(.*?)\n```(.*?```swift\n)(.*?)```", re.S)

        def copied(found):
            code = b.module("""
              const q = await load('ask/question.js'), s = await load('ask/snippets.js'), x = await load('components/json-text.js');
              const { mode, q: part, partition = '' } = x.parseExact(args[0]);
              const text = x.stringifyExact(part);
              const question = q.readQuestion(new URLSearchParams({ mode: x.plain(mode), q: text, partition: x.plain(partition) }));
              return s.swift(question, q.requestOf('orders', question));
            """, found[1])
            return f"```json\n{found[1]}\n```{found[2]}{code}```"
        made, count = pair.subn(copied, page)
        self.assertGreater(count, 8)
        if os.environ.get("CONSOLE_WRITE_SNIPPETS"):
            SNIPPETS.write_text(made, encoding="utf-8")
        else:
            self.assertEqual(made, page)

    def test_numbers_are_sent_as_they_are_typed(self):
        b = self.browser
        texts = ['{"selector":{"n":12345678901234567890,"f":1.0},"limit":3}', '{"selector":{"$or":[{"n":{"$gt":1e400}}]}}']
        b.open("#/nothing/here")
        read = """
          const q = await load('ask/question.js'), s = await load('ask/snippets.js'), x = await load('components/json-text.js');
          const m = await load('ask/builder-model.js');
          const question = q.readQuestion(new URLSearchParams({ mode: 'selector', q: args[0] }));
          const { execution_stats: _, ...body } = q.requestOf('orders', question).body;
          const built = x.stringifyExact({ ...body, selector: m.toSelector(m.fromSelector(body.selector)) });
          return [x.stringifyExact(body), q.writeQuestion(question).q, built, s.javaScript({ path: '/a', body })];
        """
        for text in texts:
            *same, code = b.module(read, text)
            self.assertEqual(same, [text] * 3)
            self.assertIn(json.dumps(text), code)
        view = b.module("""
          const { requestOf, readQuestion } = await load('ask/question.js');
          const q = JSON.stringify({ view: 'a/b', key: args[0], start: 'Oslo' });
          return requestOf('orders', readQuestion(new URLSearchParams({ mode: 'view', q }))).query;
        """, "12345678901234567890")
        self.assertEqual(view, {"key": "12345678901234567890", "start_key": '"Oslo"'})

    def test_a_table_for_a_spreadsheet_begins_no_formula(self):
        b = self.browser
        b.open("#/nothing/here")
        safe = b.module("""
          const e = await load('ask/export.js'), r = await load('ask/rows.js');
          return e.toCSV(r.readAnswer({ docs: [{ _id: '=1+1', n: -5, t: '@x' }] }, 1), true);
        """)
        self.assertIn("'=1+1", safe)
        self.assertIn("'@x", safe)

    def test_no_results_is_said(self):
        self.browser.open(ask("selector", {"selector": {}}, "empty"))
        self.browser.reads("No results")
