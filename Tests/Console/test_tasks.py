# SPDX-License-Identifier: Apache-2.0
"""Ten tasks that a person does with the console, from the first page to the end, by what is written on it and by keys."""
import contextlib
import json
import re
import time

import samples
from browser import Browser
from case import ConsoleTest, needs_view
from server import encoded


class Tasks(ConsoleTest):
    def edit(self, text, browser=None):
        """Puts a text into the editor of a document."""
        b = browser or self.browser
        b.find("textbox", "Document as JSON").click()
        b.paste(text)

    def edited(self, change, browser=None):
        """Changes the JSON in the editor by a function."""
        b = browser or self.browser
        document = json.loads(b.css(".document .editor textarea").get_attribute("value"))
        change(document)
        self.edit(json.dumps(document, indent=2), b)

    # 1

    @needs_view("overview", "documents", "document")
    def test_one_finds_a_wrong_document_and_mends_it(self):
        b = self.browser
        samples.orders(self.server, 200, "mend", design=False)
        wrong = self.server.document("mend", "order-00123")
        self.server.bulk("mend", [dict(wrong, price=-5)])
        b.open("#/")
        b.click("link", "mend")
        b.click("button", "Selector")
        b.css(".filter textarea").click()
        b.paste('{"price": {"$lt": 0}}')
        b.click("link", re.compile("order-00123"))
        b.until(lambda: b.has("textbox", "Document as JSON"), "the document is shown")
        self.edited(lambda document: document.update(price=5))
        b.click("button", "Review changes")
        dialog = b.find("dialog")
        b.until(lambda: "-5" in dialog.text and "5" in dialog.text, "the difference is shown")
        b.click("button", "Save the document", within=dialog)
        b.reads("Saved as")
        self.assertEqual(self.server.document("mend", "order-00123")["price"], 5)

    # 2

    @needs_view("conflicts")
    def test_one_resolves_500_conflicts_by_a_rule_and_can_take_it_back(self):
        b = self.browser
        database = self.server.database("conflicts")
        samples.conflicts(self.server, database, [f"doc-{number:03}" for number in range(500)],
                          [{"n": 1, "a": 2}, {"n": 1, "b": 2}], {"n": 1})
        before = self.contents(database)
        b.open("#/db/conflicts/conflicts")
        b.reads("500 conflicts")
        b.click("button", "Apply a rule")
        with self.within(10, "the preview"):
            b.click("button", "Preview")
            b.until(lambda: b.has("button", "Resolve 500 conflicts"), "the preview is shown", 30)
        b.click("button", "Resolve 500 conflicts")
        with self.within(10, "resolving"):
            b.click("button", "Delete 500 sides")
            b.reads("500 conflicts resolved", 30)
        self.assertEqual(self.conflicts(database), 0)
        self.assertEqual(self.contents(database), [{"n": 1, "a": 2, "b": 2}] * 500)
        with self.within(10, "the undo"):
            b.click("button", "Undo 500 resolutions")
            b.reads("500 documents in conflict again", 30)
        self.assertEqual(self.conflicts(database), 500)
        self.assertEqual(self.contents(database), before)

    @contextlib.contextmanager
    def within(self, seconds, what):
        start = time.monotonic()
        yield
        self.assertLess(time.monotonic() - start, seconds, f"the time of {what}")

    def contents(self, database):
        rows = self.server.get(encoded(database, "_all_docs") + "?include_docs=true")["rows"]
        return [{key: value for key, value in row["doc"].items() if key[0] != "_"} for row in rows]

    def conflicts(self, database):
        rows = self.server.get(encoded(database, "_all_docs") + "?conflicts=true&include_docs=true")["rows"]
        return sum("_conflicts" in row["doc"] for row in rows)

    # 3

    @needs_view("ask")
    def test_one_makes_a_slow_query_fast_by_the_index_that_is_offered(self):
        b = self.browser
        samples.orders(self.server, 400, "slow", design=False)
        b.open("#/db/slow/ask")
        b.css(".editor textarea").click()
        b.paste('{"selector": {"place.city": "Oslo", "quantity": {"$gt": 3}}, "limit": 25}')
        b.press("Control+Enter")
        b.reads(re.compile(r"\d+ results?"))
        b.click("button", re.compile("Explain"))
        b.click("button", "Create the index and compare")
        b.reads("The index is built")
        indexes = self.server.get(encoded("slow", "_index"))["indexes"]
        fields = [[next(iter(field)) for field in one["def"]["fields"]] for one in indexes if one["type"] == "json"]
        self.assertIn(["place.city", "quantity"], fields)
        used = self.server.post(encoded("slow", "_explain"), {"selector": {"place.city": "Oslo", "quantity": {"$gt": 3}}, "limit": 25})
        self.assertEqual(used["index"]["type"], "json")

    # 4

    @needs_view("sync", "sync-new", "sync-job")
    def test_one_sets_up_a_filtered_replication_and_sees_why_a_document_was_refused(self):
        b = self.browser
        self.server.database("drafts", [{"_id": f"draft-{number}", "type": "note", **({"title": "t"} if number else {})} for number in range(4)])
        self.server.bulk("drafts", [{"_id": "other", "type": "else"}])
        self.server.database("checked")
        self.server.put(encoded("checked", "_design/rules"), {"validate_doc_update":
            "function (doc) { if (doc.type === 'note' && !doc.title) throw({forbidden: 'A note needs a title.'}) }"})
        b.open("#/sync")
        b.click("link", "New replication")
        b.until(lambda: len(b.all("textbox", "Database")) == 2, "there are two ends")
        for field, name in zip(b.all("textbox", "Database"), ("drafts", "checked")):
            field.click()
            b.paste(name)
        b.choose("Documents", "selector")
        b.type("Selector", '{"type": "note"}')
        b.click("button", "Preview what is sent")
        b.reads("4 documents would be sent")
        b.type("Name", "notes-only")
        b.click("button", "Start the replication")
        b.until(lambda: b.hash.startswith("#/sync/job/notes-only"), "the job is shown")
        b.reads("refused 1 of the documents")
        self.eventually(lambda: self.server.document("checked", "draft-1"), "the others arrive")
        self.assertIsNone(self.server.document("checked", "draft-0"))
        self.assertIsNone(self.server.document("checked", "other"))
        b.type("ID of the document", "draft-0")
        b.click("button", "Find out why")
        b.reads("refused by the validation of checked")
        b.type("ID of the document", "other")
        b.click("button", "Find out why")
        b.reads("selector does not match")

    # 5

    @needs_view("document")
    def test_the_server_goes_away_in_mid_edit_and_nothing_is_lost(self):
        b = self.browser
        b.expect_errors("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to load resource", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_NETWORK")
        self.server.database("away", [{"_id": "doc", "a": 1}])
        b.open("#/db/away/doc/doc")
        self.edit('{"a": 2}')
        self.server.stop()
        b.press("Control+s")
        b.reads("The server does not answer")
        self.assertIn('"a": 2', b.css(".document .editor textarea").get_attribute("value"))
        self.server.start()
        b.reads_no("The server does not answer. What you see")
        b.find("textbox", "Document as JSON").click()
        b.press("Control+s")
        self.eventually(lambda: self.server.document("away", "doc")["a"] == 2, "the work is saved")

    @needs_view("document")
    def test_unsaved_work_survives_a_reload(self):
        b = self.browser
        self.server.database("draft", [{"_id": "doc", "a": 1}])
        b.open("#/db/draft/doc/doc")
        self.edit('{"a": 2}')
        b.until(lambda: b.js("return localStorage.length") > 0, "the draft is kept")
        b.reload()
        b.click("button", "Continue editing")
        self.assertIn('"a": 2', b.css(".document .editor textarea").get_attribute("value"))

    # 6

    @needs_view("document")
    def test_two_users_change_one_document_at_once_and_both_changes_are_kept(self):
        b = self.browser
        self.server.database("race", [{"_id": "doc", "mine": 0, "theirs": 0, "both": 0}])
        other = Browser()
        try:
            other.reset(self.server.console)
            b.open("#/db/race/doc/doc")
            other.open("#/db/race/doc/doc")
            self.edited(lambda document: document.update(mine=1, both="a"))
            self.edited(lambda document: document.update(theirs=2, both="b"), other)
            other.press("Control+s")
            other.reads("Saved as")
            b.css("[data-subject=newer]")
            b.find("textbox", "Document as JSON").click()
            b.press("Control+s")
            dialog = b.find("dialog", "Merge with the other revision")
            self.assertIn("both", dialog.text)
            self.assertTrue(b.find("radio", re.compile("^Yours"), within=dialog).is_selected())
            b.click("button", "Save the merged document", within=dialog)
            b.gone("dialog")
            stored = self.eventually(lambda: (one := self.server.document("race", "doc"))["mine"] == 1 and one, "the merged document is stored")
            self.assertEqual((stored["mine"], stored["theirs"], stored["both"]), (1, 2, "a"))
            other.until(lambda: '"mine": 1' in other.css(".document .editor textarea").get_attribute("value"), "the other one sees it")
            self.assertEqual(other.errors(), [])
        finally:
            other.quit()

    # 7

    @needs_view("document")
    def test_one_uploads_an_attachment_and_sees_it(self):
        b = self.browser
        self.server.database("files", [{"_id": "doc", "a": 1}])
        b.open("#/db/files/doc/doc")
        (b.downloads / "photo.png").write_bytes(samples.PIXEL)
        (b.downloads / "words.txt").write_text("some words to read")
        b.css("input[type=file]").send_keys(f"{b.downloads / 'photo.png'}\n{b.downloads / 'words.txt'}")
        self.eventually(lambda: len(self.server.document("files", "doc").get("_attachments", {})) == 2, "both are stored")
        b.click("button", "Preview photo.png")
        b.until(lambda: b.js("const one = document.querySelector('img.preview'); return one?.complete && one.naturalWidth > 0"), "the picture is drawn")
        b.click("button", "Preview words.txt")
        b.reads("some words to read")
        b.drop(".attachments-panel", "dropped.txt", "dropped")
        self.eventually(lambda: "dropped.txt" in self.server.document("files", "doc")["_attachments"], "a dropped file is attached")
        got = self.server.request("GET", encoded("files", "doc", "photo.png"))
        self.assertEqual((got.body, got.headers["Content-Type"]), (samples.PIXEL, "image/png"))

    # 8

    @needs_view("history")
    def test_one_compares_two_revisions_and_brings_an_older_one_back(self):
        b = self.browser
        self.server.database("past", [{"_id": "doc", "text": "first"}])
        for text in ("second", "third"):
            self.server.bulk("past", [dict(self.server.document("past", "doc"), text=text)])
        revisions = self.server.document("past", "doc", revs="true")["_revisions"]
        first, second = (f"{number}-{revisions['ids'][3 - number]}" for number in (1, 2))
        b.open(f"#/db/past/doc/doc/history?a={first}&b={second}")
        b.css(".diff ins")
        b.reads("first")
        b.reads("second")
        b.open(f"#/db/past/doc/doc/history?a={first}")
        b.click("button", "Make this the current revision")
        b.click("button", "Save the body as a new revision")
        self.eventually(lambda: self.server.document("past", "doc")["text"] == "first", "the older text is the current one")

    # 10

    @needs_view("live")
    def test_one_follows_the_live_feed_and_filters_it(self):
        b = self.browser
        self.server.database("feed")
        b.open("#/db/feed/live")
        b.reads("No changes yet")
        self.server.bulk("feed", [{"_id": f"doc-{number}", "type": ("note", "job")[number % 2], "by": "ann"} for number in range(6)])
        b.until(lambda: len(b.js("return [...document.querySelectorAll('.live-list .line')]")) == 6, "six changes are shown")
        b.press("/")
        b.write("doc-3")
        b.until(lambda: len(b.js("return [...document.querySelectorAll('.live-list .line')]")) == 1, "one fits the filter")
        self.assertIn("doc-3", b.hash)
        b.click("button", "Filter at the server")
        b.choose("Which changes the server sends", "selector")
        b.type("Selector", '{"type": "job"}')
        b.click("button", "Apply the filter")
        b.gone("dialog")
        b.open("#/db/feed/live?selector=" + "%7B%22type%22%3A%22job%22%7D")
        b.reads("Filter: selector")
        # The feed begins at what is stored when it opens: what comes is written until it is seen.
        def comes():
            self.server.bulk("feed", [{"type": "note"}, {"type": "job"}])
            return b.js("return document.querySelectorAll('.live-list .line').length")
        self.eventually(comes, "a job is shown")
        text = b.css(".live-list").text
        self.assertIn("job", text)
        self.assertNotIn("note", text)


class AsUser(ConsoleTest):
    options = ["--user", "ann:secret"]
    user = ("ann", "secret")

    @classmethod
    def seed(cls, server):
        server.database("away", [{"_id": "doc", "a": 1}])

    def sign_in(self, hash):
        b = self.browser
        b.open(hash)
        b.type("Name", "ann")
        b.type("Password", "secret")
        b.press("Enter")
        b.find("button", "ann")
        b.settled()

    # 9

    @needs_view("database-access", "access")
    def test_one_restricts_a_database_to_a_role_and_views_it_as_a_user(self):
        b = self.browser
        self.server.database("staff-only")
        self.server.put(encoded("_users", "org.couchdb.user:bob"), {"name": "bob", "type": "user", "roles": ["staff"], "password": "x"})
        self.server.put(encoded("_users", "org.couchdb.user:eve"), {"name": "eve", "type": "user", "roles": [], "password": "x"})
        self.sign_in("#/db/staff-only/access")
        b.until(lambda: b.js("return document.querySelectorAll('.halves .input').length") >= 4, "the fields are there")
        b.js("return document.querySelectorAll('.halves .input')[1]").click()
        b.write("staff")
        b.press("Enter", "Control+s")
        self.eventually(lambda: self.server.get(encoded("staff-only", "_security")).get("members", {}).get("roles") == ["staff"], "the role is stored")
        for name, level in (("bob", "Read and write"), ("eve", "No access")):
            b.open(f"#/access?part=rights&as={name}")
            b.reads(f"{name} may use")
            row = b.find("row", re.compile("^staff-only"))
            self.assertIn(level, row.text)
            status = self.server.request("GET", "/staff-only/_all_docs", user=(name, "x")).status
            self.assertEqual(status, 200 if name == "bob" else 403)

    @needs_view("document")
    def test_a_session_that_ends_in_mid_edit_loses_nothing(self):
        b = self.browser
        self.sign_in("#/db/away/doc/doc")
        b.find("textbox", "Document as JSON").click()
        b.paste('{"a": 2}')
        b.driver.delete_all_cookies()
        b.press("Control+s")
        dialog = b.find("dialog", "Your session has ended")
        b.type("Password", "secret", within=dialog)
        b.press("Enter")
        b.gone("dialog", "Your session has ended")
        b.find("textbox", "Document as JSON").click()
        self.assertIn('"a": 2', b.css(".document .editor textarea").get_attribute("value"))
        b.press("Control+s")
        self.eventually(lambda: self.server.document("away", "doc")["a"] == 2, "the work is saved")
