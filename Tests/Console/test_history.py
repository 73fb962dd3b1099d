# SPDX-License-Identifier: Apache-2.0
"""The tree of revisions, and conflicts one by one."""
import json
import re

import samples
from case import ConsoleTest, needs_view


@needs_view("history")
class History(ConsoleTest):
    @classmethod
    def seed(cls, server):
        server.database("past", [{"_id": "doc", "text": "first"}])
        for text in ("second", "third"):
            server.bulk("past", [dict(server.document("past", "doc"), text=text)])
        samples.conflict(server, "past", "forked", [{"by": "ann"}, {"by": "bob"}])

    def test_the_tree_counts_revisions_and_branches(self):
        b = self.browser
        b.open("#/db/past/doc/forked/history")
        b.reads("3 revisions, 2 live branches")
        b.css("svg.revisions, .revisions svg")

    def test_the_tree_is_live(self):
        b = self.browser
        b.open("#/db/past/doc/doc/history")
        b.reads("3 revisions")
        self.server.bulk("past", [dict(self.server.document("past", "doc"), text="fourth")])
        b.reads("4 revisions")

    def test_a_branch_can_be_deleted(self):
        b = self.browser
        samples.conflict(self.server, "past", "cut", [{"by": "ann"}, {"by": "bob"}])
        loser = self.server.document("past", "cut", conflicts="true")["_conflicts"][0]
        b.open(f"#/db/past/doc/cut/history?a={loser}")
        b.click("button", "Delete this branch")
        b.click("button", "Delete the revision")
        self.eventually(lambda: "_conflicts" not in self.server.document("past", "cut", conflicts="true"), "the branch is gone")

    def test_a_document_that_is_not_there_has_no_history(self):
        self.browser.open("#/db/past/doc/none/history")
        self.browser.reads("Not found")


@needs_view("conflicts")
class Conflicts(ConsoleTest):
    def fresh(self, name, count=3):
        self.server.database(name)
        for number in range(count):
            base = {"title": f"Note {number}", "done": False}
            samples.conflict(self.server, name, f"note-{number}", [dict(base, title=f"Note {number} by Ann"), dict(base, done=True)], base)
        return name

    def leaves(self, name, id):
        return len(self.server.document(name, id, conflicts="true").get("_conflicts", []))

    def test_a_conflict_is_resolved_by_the_value_of_each_property(self):
        b = self.browser
        name = self.fresh("by-property")
        b.open(f"#/db/{name}/conflicts?id=note-0")
        b.reads("3 conflicts")
        value = lambda: json.loads(b.css(".detail textarea").get_attribute("value"))
        b.until(value, "the merged value is shown")
        area = b.css(".detail textarea")
        area.click()
        b.paste(json.dumps({"title": "Note 0 by Ann", "done": True}))
        b.press("Control+Enter")
        self.eventually(lambda: self.leaves(name, "note-0") == 0, "it is resolved")
        stored = self.server.document(name, "note-0")
        self.assertEqual((stored["title"], stored["done"]), ("Note 0 by Ann", True))
        b.reads("2 conflicts")

    def test_a_resolution_can_be_taken_back(self):
        b = self.browser
        name = self.fresh("taken-back", 1)
        b.open(f"#/db/{name}/conflicts?id=note-0")
        b.click("button", re.compile("^Resolve"))
        self.eventually(lambda: self.leaves(name, "note-0") == 0, "it is resolved")
        b.click("button", re.compile("^Undo"))
        self.eventually(lambda: self.leaves(name, "note-0") == 1, "it is in conflict again")

    def test_sides_that_differ_in_the_last_digit_differ(self):
        b = self.browser
        self.server.database("digits")
        numbers = (12345678901234567890, 12345678901234567891)
        samples.conflict(self.server, "digits", "note", [{"n": number} for number in numbers])
        winner = self.server.document("digits", "note")["n"]
        b.open("#/db/digits/conflicts?id=note")
        b.reads("1 property differs")
        for number in numbers:
            b.reads(str(number))
        b.click("button", re.compile("^Resolve"))
        self.eventually(lambda: self.leaves("digits", "note") == 0, "it is resolved")
        self.assertEqual(self.server.document("digits", "note")["n"], winner)

    def test_keys_go_through_the_queue(self):
        b = self.browser
        name = self.fresh("queue")
        b.open(f"#/db/{name}/conflicts?id=note-0")
        b.reads("3 conflicts")
        b.js("document.activeElement.blur()")
        b.press("n")
        b.until(lambda: "id=note-1" in b.hash, "the next one is shown")
        b.press("p")
        b.until(lambda: "id=note-0" in b.hash, "the one before is shown")

    def test_json_that_is_wrong_is_not_saved(self):
        b = self.browser
        name = self.fresh("wrong-json", 1)
        b.open(f"#/db/{name}/conflicts?id=note-0")
        b.css(".detail textarea").click()
        b.paste("{nonsense")
        b.reads("This is not JSON")
        self.assertEqual(self.leaves(name, "note-0"), 1)

    def test_a_database_without_conflicts_says_so(self):
        self.server.database("peace", [{"_id": "doc"}])
        self.browser.open("#/db/peace/conflicts")
        self.browser.reads("No document is in conflict")
