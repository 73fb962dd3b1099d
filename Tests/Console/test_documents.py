# SPDX-License-Identifier: Apache-2.0
"""The list of documents: tables, filters, facets, bulk work, export, and what happens meanwhile."""
import json
import re

import samples
from case import ConsoleTest, needs_view
from server import encoded

IDS = """return [...document.querySelectorAll('.documents .line:not(.header)')].sort((a, b) => a.dataset.index - b.dataset.index)
    .map((line) => line.querySelector('a')?.innerText ?? '')"""


@needs_view("documents")
class Documents(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.orders(server, 600)
        samples.notes(server, 40, conflicts=2)
        server.database("empty")

    def ids(self):
        return self.browser.js(IDS)

    def fresh(self, name, count=30):
        return self.server.database(name, [{"_id": f"d{number:04}", "n": number, "title": f"T {number}"} for number in range(count)])

    def select(self, *indexes):
        for index in indexes:
            self.browser.click_css(f'.line[data-index="{index}"] input[type=checkbox]')

    def test_documents_stand_in_a_table_in_the_order_of_their_ids(self):
        b = self.browser
        b.open("#/db/orders/docs")
        b.reads("620 documents")
        b.until(lambda: self.ids()[:1] == ["customer-000"], "the first document is shown")
        self.assertEqual(self.ids(), sorted(self.ids()))

    def test_the_end_of_the_list_is_reached_by_a_key_and_is_in_the_address(self):
        b = self.browser
        b.open("#/db/orders/docs")
        b.css(".list").click()
        b.press("End")
        b.until(lambda: "order-00599" in self.ids(), "the last document is shown")
        b.until(lambda: "at=" in b.hash, "the place is in the address")
        b.reload()
        b.until(lambda: "order-00599" in self.ids(), "the address leads there")

    def test_enter_opens_the_current_document(self):
        b = self.browser
        b.open("#/db/orders/docs?q=order-0000")
        b.until(lambda: self.ids()[:1] == ["order-00000"], "the first document is shown")
        b.js("document.querySelector('.list').focus()")
        b.press("ArrowDown", "Enter")
        b.until(lambda: b.hash.startswith("#/db/orders/doc/order-00001"), "it is opened")

    def test_what_one_types_filters_by_the_beginning_of_the_id(self):
        b = self.browser
        b.open("#/db/orders/docs")
        b.press("/")
        b.write("order-001")
        b.reads("100 documents")
        self.assertIn("q=order-001", b.hash)
        b.write("zzz")
        b.find("heading", "No document matches")
        b.click("button", "Show all documents")
        b.reads("620 documents")

    def test_a_selector_filters_and_says_that_no_index_serves_it(self):
        b = self.browser
        b.open("#/db/orders/docs?by=find&q=" + json.dumps({"place.city": "Oslo"}))
        b.reads("No index fits")
        b.until(lambda: self.ids()[:1] == ["order-00000"], "the first order of Oslo is shown")

    def test_a_selector_finds_a_number_by_all_its_digits(self):
        b = self.browser
        for n in ("9007199254740993", "9007199254740992"):
            self.server.put(encoded("orders", f"big-{n}"), ('{"big": %s}' % n).encode())
        b.open('#/db/orders/docs?by=find&q={"big": 9007199254740993}')
        b.until(lambda: self.ids() == ["big-9007199254740993"], "only the document with this number is found")
        for n in ("9007199254740993", "9007199254740992"):
            self.server.delete(encoded("orders", f"big-{n}") + "?rev=" + self.server.document("orders", f"big-{n}")["_rev"])

    def test_a_selector_that_is_wrong_is_told_of(self):
        b = self.browser
        b.open("#/db/orders/docs?by=find&q=" + json.dumps({"$foo": 1}))
        b.reads("Invalid operator")

    def test_full_text_finds_documents_where_an_index_is(self):
        b = self.browser
        b.open("#/db/notes/docs?by=text&q=lamp")
        b.until(lambda: any(one.startswith("note-") for one in self.ids()), "notes are found")

    def test_facets_count_the_values_of_a_property_and_filter_by_one(self):
        b = self.browser
        b.open("#/db/orders/docs?q=order-&facet=item")
        b.reads(re.compile("In (a sample of|all) "))
        b.click_css(".facet")
        b.until(lambda: "by=find" in b.hash, "the facet is a filter")
        b.until(lambda: self.ids() and self.ids()[0].startswith("order-"), "documents are shown")

    def test_counting_all_values_can_be_cancelled_and_keeps_what_it_has(self):
        b = self.browser
        self.server.database("many", [{"kind": "a"} for _ in range(2500)])
        b.open("#/db/many/docs?facet=kind")
        b.reads("In a sample of")
        b.js("""const original = window.fetch;
          let pages = 0;
          window.fetch = async (url, options) => {
            if (!String(url).includes('/_all_docs') || ++pages < 2) return original(url, options);
            return new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason)));
          };""")
        b.click("button", re.compile("^Count all"))
        b.reads(re.compile(r"Counted: 1,\d{3} of 2,500"))
        b.click("button", "Cancel")
        b.reads(re.compile(r"In a sample of 1,\d{3} documents"))
        b.find("button", re.compile("^Count all"))

    def test_many_documents_are_changed_with_a_preview_and_changed_back(self):
        b = self.browser
        self.fresh("bulk")
        b.open("#/db/bulk/docs")
        self.select(0, 1, 2)
        b.reads("3 documents selected")
        b.click("button", re.compile("^Edit"))
        dialog = b.find("dialog")
        b.type("Property", "state", within=dialog)
        b.type("Value as JSON", '"new"', within=dialog)
        b.reads("3 will change")
        b.click("button", re.compile("^Change 3"), within=dialog)
        b.reads("Changed 3 documents")
        self.assertEqual([self.server.document("bulk", f"d000{number}").get("state") for number in range(4)], ["new"] * 3 + [None])
        b.click("button", re.compile("^Undo"))
        b.reads("Restored 3")
        self.assertNotIn("state", self.server.document("bulk", "d0001"))

    def test_a_change_of_many_keeps_the_digits_of_numbers_and_says_what_a_rename_replaces(self):
        b = self.browser
        large = 12345678901234567890
        self.server.database("bulk-exact", [{"_id": "a", "n": large, "m": 1}, {"_id": "b", "n": large}])
        b.open("#/db/bulk-exact/docs")
        self.select(0, 1)
        b.click("button", re.compile("^Edit"))
        dialog = b.find("dialog")
        b.choose("Change", "rename")
        b.type("Property", "n", within=dialog)
        b.type("New name", "m", within=dialog)
        b.reads("1 document of these already has the property m")
        b.reads(str(large))
        b.click("button", re.compile("^Change 2"), within=dialog)
        b.reads("Changed 2 documents")
        self.assertEqual([self.server.document("bulk-exact", id)["m"] for id in "ab"], [large, large])
        b.click("button", re.compile("^Undo"))
        b.reads("Restored 2")
        self.assertEqual(self.server.document("bulk-exact", "a")["n"], large)

    def test_deleting_a_document_in_conflict_says_that_another_branch_is_there(self):
        b = self.browser
        self.server.database("bulk-branches")
        samples.conflict(self.server, "bulk-branches", "forked", [{"by": "ann"}, {"by": "bob"}])
        b.open("#/db/bulk-branches/docs")
        self.select(0)
        b.click("button", re.compile("^Delete"))
        b.click("button", re.compile("^Delete 1"), within=b.find("dialog"))
        b.reads("The document still exists")
        self.assertIsNotNone(self.server.document("bulk-branches", "forked"))

    def test_a_document_that_another_writer_changed_is_not_deleted_unseen(self):
        b = self.browser
        self.fresh("bulk-race")
        b.open("#/db/bulk-race/docs")
        self.select(0, 1)
        b.click("button", re.compile("^Delete"))
        dialog = b.find("dialog")
        self.server.bulk("bulk-race", [dict(self.server.document("bulk-race", "d0001"), x=1)])
        b.click("button", re.compile("^Delete 2"), within=dialog)
        b.reads("has changed since you selected it")
        self.assertIsNone(self.server.document("bulk-race", "d0000"))
        self.assertEqual(self.server.document("bulk-race", "d0001")["x"], 1)

    def test_only_documents_that_were_seen_are_deleted_when_all_rows_are_selected(self):
        b = self.browser
        self.fresh("bulk-all", 3)
        b.open("#/db/bulk-all/docs")
        self.select(0, 1, 2)
        b.click("button", re.compile("^Delete"))
        dialog = b.find("dialog")
        self.server.bulk("bulk-all", [dict(self.server.document("bulk-all", "d0001"), x=1), {"_id": "new"}])
        b.click("button", re.compile("^Delete 3"), within=dialog)
        b.reads("has changed since you selected it")
        self.assertEqual(self.server.document("bulk-all", "d0001")["x"], 1)
        self.assertIsNotNone(self.server.document("bulk-all", "new"))
        self.assertIsNone(self.server.document("bulk-all", "d0000"))

    def test_a_validator_that_refuses_a_change_is_quoted(self):
        b = self.browser
        b.open("#/db/notes/docs")
        self.select(5)
        b.click("button", re.compile("^Edit"))
        dialog = b.find("dialog")
        b.choose("Change", "remove")
        b.type("Property", "title", within=dialog)
        b.reads("1 will change")
        b.click("button", re.compile("^Change 1"), within=dialog)
        b.reads("A note needs a title")

    def test_keys_select_and_delete(self):
        b = self.browser
        self.fresh("keys")
        b.open("#/db/keys/docs")
        b.until(lambda: self.ids()[:1] == ["d0000"], "the list is shown")
        b.js("document.querySelector('.list').focus()")
        b.press("Space", "Shift+ArrowDown", "Shift+ArrowDown")
        b.reads("3 documents selected")
        b.press("Delete")
        self.assertIn("d0002", b.find("dialog").text)
        b.press("Escape")
        b.gone("dialog")

    def test_all_documents_are_exported(self):
        b = self.browser
        self.fresh("export", 1200)
        b.open("#/db/export/docs")
        b.click("button", "More")
        b.click("menuitem", "Export all")
        docs = json.loads(b.downloaded("*.json").read_text())
        self.assertEqual([one["_id"] for one in docs], [f"d{number:04}" for number in range(1200)])

    def test_changes_by_others_are_told_and_shown(self):
        b = self.browser
        self.fresh("live")
        b.open("#/db/live/docs")
        b.until(lambda: self.ids()[:1] == ["d0000"], "the list is shown")
        # The feed begins with what is stored when it opens: the other writes until it is told.
        turn = iter(range(1000))

        def told():
            self.server.bulk("live", [dict(self.server.document("live", "d0003"), title=f"CHANGED {next(turn)}")])
            return "since the list was loaded" in b.text
        self.eventually(told, "the change is told")
        b.reads("CHANGED")

    def test_an_empty_database_offers_the_first_document(self):
        b = self.browser
        b.open("#/db/empty/docs")
        b.find("heading", "No documents yet")
        self.assertTrue(b.has("link", "New document") or b.has("button", "New document"))

    def test_a_database_that_is_not_there_is_told_of(self):
        b = self.browser
        b.open("#/db/none-such/docs")
        b.find("alert")


@needs_view("document")
class Editor(ConsoleTest):
    @classmethod
    def seed(cls, server):
        server.database("edit")
        samples.notes(server, 12, conflicts=2)
        samples.people(server)

    def editor(self, database, id, body=None, query=""):
        if body is not None:
            self.server.request("PUT", encoded(database, id), body.encode())
        self.browser.open(f"#/db/{database}/doc/{id}{query}")
        return self.browser.find("textbox", "Document as JSON")

    def stored(self, database, id):
        return self.server.request("GET", encoded(database, id)).body.decode()

    def paste(self, text):
        self.browser.find("textbox", "Document as JSON").click()
        self.browser.paste(text)

    def test_numbers_are_saved_as_they_were_typed(self):
        b = self.browser
        self.editor("edit", "numbers", '{"a": 1}')
        self.paste('{"big": 12345678901234567890, "f": 1.50, "in": {"__proto__": {"x": 1}}}')
        b.press("Control+s")
        b.reads("Saved as")
        text = self.stored("edit", "numbers")
        self.assertIn("12345678901234567890", text)
        self.assertIn('"__proto__":{"x":1}', text)

    def test_a_fault_in_the_json_is_shown_with_its_place_and_nothing_is_saved(self):
        b = self.browser
        self.editor("edit", "fault", '{"a": 1}')
        self.paste('{\n  "a": 1\n  "b": 2\n}')
        b.reads("Line 3, column 3")
        b.press("Control+s")
        b.reads("not saved")
        self.assertEqual(self.server.document("edit", "fault")["a"], 1)

    def test_undo_goes_back_to_what_is_stored(self):
        b = self.browser
        area = self.editor("edit", "undo", '{"a": 1}')
        before = area.get_attribute("value")
        self.paste('{"a": 2}')
        self.assertTrue(b.find("button", "Save").is_enabled())
        b.press("Control+z")
        b.until(lambda: b.find("textbox", "Document as JSON").get_attribute("value") == before, "the text is as before")
        self.assertFalse(b.find("button", "Save").is_enabled())

    def test_the_words_of_a_validator_are_shown(self):
        b = self.browser
        b.open("#/db/notes/doc/_new")
        self.paste('{"type": "note"}')
        b.press("Control+s")
        b.reads("A note needs a title.")

    def test_a_new_document_is_shown_at_its_own_address(self):
        b = self.browser
        b.open("#/db/edit/doc/_new")
        self.paste('{"fresh": 1}')
        b.type("ID", "of my own")
        b.click("button", "Create")
        b.until(lambda: b.hash == "#/db/edit/doc/of my own", "the address is that of the document")
        self.assertEqual(self.server.document("edit", "of my own")["fresh"], 1)

    def test_a_document_is_deleted_and_brought_back(self):
        b = self.browser
        self.editor("edit", "delete", '{"a": 1}')
        b.click("button", "More")
        b.click("menuitem", "Delete")
        b.click("button", "Delete the document")
        self.eventually(lambda: self.server.document("edit", "delete") is None, "it is deleted")
        b.until(lambda: not b.hash.startswith("#/db/edit/doc/delete"), "the documents are shown")
        b.open("#/db/edit/doc/delete")
        b.click("button", "Restore the document")
        self.eventually(lambda: (self.server.document("edit", "delete") or {}).get("a") == 1, "it is back")

    def test_a_document_that_is_not_there_can_be_created(self):
        b = self.browser
        b.open("#/db/edit/doc/none-such")
        b.find("heading", "Document not found")
        self.assertTrue(b.has("button", "Create the document") or b.has("link", "Create the document"))

    def test_an_id_in_a_document_leads_to_that_document(self):
        b = self.browser
        b.open("#/db/people/doc/bob?mode=read")
        b.click("link", '"ann"')
        b.until(lambda: b.hash.startswith("#/db/people/doc/ann"), "the other document is shown")

    def test_a_change_of_another_writer_is_shown_while_nothing_is_unsaved(self):
        b = self.browser
        self.editor("edit", "quiet", '{"a": 1}')

        def shown():
            self.server.bulk("edit", [dict(self.server.document("edit", "quiet"), a=777)])
            return "777" in b.css(".document .editor textarea").get_attribute("value")
        self.eventually(shown, "the change is shown")

    def test_a_document_that_is_restored_at_once_has_its_attachments(self):
        b = self.browser
        self.editor("edit", "attached", json.dumps({"a": 1, "_attachments": {"x.txt": samples.stub("text/plain", b"content")}}))
        b.click("button", "More")
        b.click("menuitem", "Delete")
        b.click("button", "Delete the document")
        b.click("button", "Restore")
        self.eventually(lambda: (self.server.document("edit", "attached") or {}).get("a") == 1, "it is back")
        self.assertEqual(self.server.request("GET", encoded("edit", "attached", "x.txt")).body, b"content")

    def test_a_duplicate_has_the_attachments_of_the_original(self):
        b = self.browser
        b.open("#/db/people/doc/_new?from=ann")
        b.reads("2 attachments of the original")
        b.type("ID", "double")
        b.click("button", "Create")
        self.eventually(lambda: self.server.document("people", "double"), "it is saved")
        self.assertEqual(self.server.request("GET", encoded("people", "double", "photo.png")).body, samples.PIXEL)

    def test_an_attachment_that_has_just_come_is_kept_by_a_save(self):
        b = self.browser
        self.editor("edit", "gap", '{"a": 1}')
        self.paste('{"a": 2}')
        b.drop(".attachments-panel", "f.txt", "x")
        self.eventually(lambda: "_attachments" in self.server.document("edit", "gap"), "the file is stored")
        b.find("textbox", "Document as JSON").click()
        b.press("Control+s")
        document = self.eventually(lambda: (one := self.server.document("edit", "gap"))["a"] == 2 and one, "the text is stored")
        self.assertIn("f.txt", document["_attachments"])

    def delete_in_conflict(self, id, choice):
        b = self.browser
        samples.conflict(self.server, "edit", id, [{"title": "one"}, {"title": "two"}])
        b.open(f"#/db/edit/doc/{id}")
        b.click("button", "More")
        b.click("menuitem", "Delete")
        dialog = b.find("dialog")
        self.assertIn("1 other branch", dialog.text)
        b.click("radio", re.compile(choice), within=dialog)
        b.click("button", "Delete the selection", within=dialog)

    def test_a_branch_that_is_deleted_leaves_the_other_one(self):
        self.delete_in_conflict("one-branch", "^Delete only revision")
        self.browser.reads("Another branch is now the document")
        self.assertEqual(self.server.document("edit", "one-branch")["title"], "one")

    def test_a_document_in_conflict_is_deleted_with_all_branches(self):
        self.delete_in_conflict("all-branches", "^Delete the document: all 2 branches")
        self.browser.reads("Deleted the document all-branches")
        self.assertIsNone(self.server.document("edit", "all-branches"))

    def test_an_id_in_the_text_that_would_not_be_saved_is_refused(self):
        b = self.browser
        self.editor("edit", "own", '{"a": 1}')
        self.paste('{"_id": "other", "a": 2}')
        b.press("Control+s")
        b.reads("The console itself sets _id")
        self.assertEqual(self.server.document("edit", "own")["a"], 1)
        b.click("button", "Remove from the text")
        b.find("textbox", "Document as JSON").click()
        b.press("Control+s")
        self.eventually(lambda: self.server.document("edit", "own")["a"] == 2, "the rest is saved")

    def test_a_function_of_another_writer_is_shown_in_a_field_with_the_focus_and_the_last_key_is_saved(self):
        b = self.browser
        first, second = ("function (doc) { emit(%d) }" % number for number in (1, 2))
        self.server.put(encoded("edit", "_design/f"), {"views": {"v": {"map": first}}})
        b.open("#/db/edit/doc/_design%2Ff")
        b.find("textbox", "views, v, map").click()

        def shown():
            self.server.bulk("edit", [dict(self.server.document("edit", "_design/f"), views={"v": {"map": second}})])
            return b.find("textbox", "views, v, map").get_attribute("value") == second
        self.eventually(shown, "the other function is shown")
        b.press("Control+End")
        b.write("  ")
        b.press("Control+s")
        self.eventually(lambda: self.server.document("edit", "_design/f")["views"]["v"]["map"] == second + "  ", "it is saved")

    def test_two_tabs_with_the_same_document_keep_a_draft_each(self):
        b = self.browser
        drafts = "return Object.keys(localStorage).filter((key) => key.startsWith('divan.draft:')).length"
        self.editor("edit", "tabs", '{"a": 1}')
        self.paste('{"a": "first"}')
        b.until(lambda: b.js(drafts) == 1, "the first tab keeps its draft")
        first = b.driver.current_window_handle
        b.driver.switch_to.new_window("tab")
        try:
            b.open("#/db/edit/doc/tabs", settle=False)
            b.until(lambda: b.find("textbox", "Document as JSON").get_attribute("readonly") is None, "nothing is offered")
            self.assertFalse(b.has("button", "Continue editing"))
            self.paste('{"a": "second"}')
            b.until(lambda: b.js(drafts) == 2, "the second tab keeps another one")
        finally:
            b.driver.close()
            b.driver.switch_to.window(first)
        b.reload()
        b.until(lambda: len(b.all("button", "Continue editing")) == 2, "both are offered")
        b.click("button", "Continue editing")
        area = b.find("textbox", "Document as JSON")
        b.until(lambda: "first" in area.get_attribute("value"), "the newest one is first: it was kept when the page was left")
        b.until(lambda: b.js(drafts) == 2, "the draft that is edited takes the place of the one that was taken")
        b.reload()
        b.until(lambda: len(b.all("button", "Discard the changes")) == 2, "both are offered again")
        b.click("button", "Discard the changes")
        b.until(lambda: b.js(drafts) == 1, "the newest one is gone")
        b.click("button", "Continue editing")
        b.until(lambda: "second" in b.find("textbox", "Document as JSON").get_attribute("value"), "the other one is left")

    def test_attachments_are_links_that_save_and_never_open(self):
        b = self.browser
        b.open("#/db/people/doc/ann")
        b.reads("photo.png")
        links = b.js("return [...document.querySelectorAll('.attachment a')].map((one) => [one.hasAttribute('download'), one.rel])")
        self.assertTrue(links)
        for download, rel in links:
            self.assertTrue(download)
            self.assertIn("noopener", rel)
