# SPDX-License-Identifier: Apache-2.0
"""All databases, their storage and their indexes."""
import json
import re

import samples
from case import ConsoleTest, needs_view
from server import encoded

NAMES = "return [...document.querySelectorAll('.databases .line .name a')].map((one) => one.innerText)"


@needs_view("overview")
class Overview(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.people(server)
        samples.notes(server, 20, conflicts=3)
        for name in ("alpha", "beta"):
            server.database(name, [{"_id": "one"}])

    def names(self):
        return self.browser.js(NAMES)

    def opened(self, hash="#/"):
        self.browser.open(hash)
        self.browser.until(lambda: "alpha" in self.names(), "the databases are listed")

    def act(self, database, action):
        self.browser.click("button", f"Actions for {database}")
        self.browser.click("menuitem", re.compile(f"^{action}"))
        return self.browser.find("dialog")

    def test_databases_are_listed_with_their_documents_and_conflicts(self):
        b = self.browser
        self.opened()
        row = lambda: next(one for one in b.js("return [...document.querySelectorAll('.databases .line')].map((one) => one.innerText)") if one.startswith("notes"))
        b.until(lambda: re.search(r"\b21\b", row()) and re.search(r"\b3\b", row()), "twenty notes with a design document, and three conflicts")
        self.assertNotIn("_replicator", self.names())

    def test_what_one_types_filters_and_is_in_the_address(self):
        b = self.browser
        self.opened()
        b.press("/")
        b.write("alp")
        b.until(lambda: self.names() == ["alpha"], "one is left")
        self.assertIn("q=alp", b.hash)

    def test_a_database_is_created_and_shown(self):
        b = self.browser
        self.opened()
        b.click("button", re.compile("^New database"))
        dialog = b.find("dialog")
        b.write("Bad Name")
        b.reads("lowercase")
        b.paste("made/here")
        b.click("button", "Create the database", within=dialog)
        b.until(lambda: b.js("return location.hash") == "#/db/made%2Fhere/docs", "it is shown")
        self.assertEqual(self.server.request("GET", encoded("made/here")).status, 200)

    def test_a_database_is_deleted_only_when_its_name_is_typed(self):
        b = self.browser
        self.server.database("doomed")
        self.opened()
        b.until(lambda: "doomed" in self.names(), "it is listed")
        dialog = self.act("doomed", "Delete")
        b.write("wrong")
        b.click("button", "Delete the database", within=dialog)
        b.reads("This is not the name")
        self.assertEqual(self.server.request("GET", "/doomed").status, 200)
        b.type(re.compile("^Type"), "doomed", within=dialog)
        b.click("button", "Delete the database", within=dialog)
        b.until(lambda: "doomed" not in self.names(), "it is gone")
        self.assertEqual(self.server.request("GET", "/doomed").status, 404)

    def test_a_database_that_another_client_makes_appears(self):
        b = self.browser
        self.opened()
        self.server.database("elsewhere")
        b.until(lambda: "elsewhere" in self.names(), "it appears")

    def test_a_database_is_compacted(self):
        b = self.browser
        self.opened()
        dialog = self.act("alpha", "Compact")
        b.click("button", "Compact", within=dialog)
        b.reads("alpha is compacted")

    def test_a_backup_has_every_document_with_its_attachments(self):
        b = self.browser
        self.opened()
        b.js("window.showSaveFilePicker = undefined")
        dialog = self.act("people", "Back up")
        b.click("button", "Save backup", within=dialog)
        docs = [json.loads(line) for line in b.downloaded("people-*.jsonl").read_text().splitlines()]
        self.assertEqual(len(docs), 4)
        self.server.database("restored")
        self.server.bulk("restored", docs, new_edits=False)
        got = self.server.request("GET", encoded("restored", "ann", "photo.png"))
        self.assertEqual(got.body, samples.PIXEL)
        self.assertEqual(self.server.document("restored", "ann")["_rev"], self.server.document("people", "ann")["_rev"])

    def test_a_backup_lacks_no_document_when_the_last_one_of_a_page_is_deleted_meanwhile(self):
        b = self.browser
        ids = [f"d{number:04}" for number in range(1001)]
        self.server.database("pages", [{"_id": one} for one in ids])
        b.open("#/")
        b.until(lambda: "pages" in self.names(), "it is listed")
        b.js("""window.showSaveFilePicker = undefined;
          const original = window.fetch, last = new URL('../pages/d0500', document.baseURI).href;
          let asked = 0;
          window.fetch = async (url, ...more) => {
            if (String(url).includes('/pages/_all_docs') && ++asked === 2) {
              const { _rev } = await (await original(last)).json();
              const answer = await original(`${last}?rev=${_rev}`, { method: 'DELETE', headers: { 'Content-Type': 'application/json' } });
              window.wasDeleted = answer.ok;
            }
            return original(url, ...more);
          };""")
        dialog = self.act("pages", "Back up")
        b.click("button", "Save backup", within=dialog)
        docs = [json.loads(line) for line in b.downloaded("pages-*.jsonl").read_text().splitlines()]
        self.assertTrue(b.js("return window.wasDeleted"))
        self.assertEqual([one["_id"] for one in docs], ids)

    def test_an_answer_that_breaks_off_is_no_backup(self):
        b = self.browser
        self.opened()
        read = """const { pageRows } = await load('maintenance/backup.js');
          const rows = [];
          try { for await (const row of pageRows(new Response(args[0]))) rows.push(row.id ?? row); } catch (error) { return error.message; }
          return rows;"""
        whole = '{"total_rows":2,"offset":0,"rows":[\n' + ",\n".join(
            '{"id":"%s","key":"%s","value":{"rev":"1-a"},"doc":{"_id":"%s"}}' % (one, one, one) for one in "ab") + "\n]}\n"
        self.assertEqual(b.module(read, whole), [2, '"a"', '"b"'])
        for cut in (whole[:-4], whole[:-20], whole[:80], ""):
            self.assertIn("No file was saved", b.module(read, cut))
        self.assertIn("unexpected line", b.module(read, whole.replace("\n]}", '\n{"error":"timeout","reason":"late"}')))


@needs_view("indexes")
class Indexes(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.orders(server, 200)
        server.database("empty")
        server.put("/parts?partitioned=true")
        server.bulk("parts", [
            {"_id": "oslo:1", "n": 1}, {"_id": "rome:1", "n": 2},
            {"_id": "_design/own", "views": {"by_n": {"map": "function (doc) { emit(doc.n, null); }"}},
             "nouveau": {"words": {"index": "function (doc) { index('string', 'n', String(doc.n)); }"}}}])
        server.post("/parts/_index", {"index": {"fields": ["n"]}, "name": "n-index", "ddoc": "n-index"})

    def card(self, name):
        return self.browser.until(lambda: next((one for one in self.browser.driver.find_elements("css selector", ".index")
                                                if one.find_element("css selector", "h2").text == name), None), f"there is an index {name}")

    def test_indexes_are_listed_with_their_state(self):
        b = self.browser
        b.open("#/db/orders/indexes")
        for name in ("by-customer", "by_city", "by_date"):
            self.card(name)

    def test_an_index_that_is_behind_says_so_and_is_brought_up_to_date(self):
        b = self.browser
        self.server.get(encoded("orders", "_design/sales", "_view") + "/by_city?limit=0")
        self.server.bulk("orders", [{"type": "order", "place": {"city": "Rome"}}])
        b.open("#/db/orders/indexes")
        b.reads("behind")
        b.until(lambda: not self.card("by_city").find_element("css selector", "button").click(), "it can be updated")
        b.reads("by_city is up to date")

    def test_one_need_not_wait_until_an_index_is_up_to_date(self):
        b = self.browser
        b.open("#/db/orders/indexes")
        card = self.card("by_city")
        b.js("""const original = window.fetch;
          window.fetch = (url, options) => String(url).includes('/_view/by_city') ? new Promise((_, reject) =>
            options.signal.addEventListener('abort', () => reject(options.signal.reason))) : original(url, options);""")
        b.until(lambda: not card.find_element("css selector", "button").click(), "it can be updated")
        b.reads("The server is working on it")
        b.click("button", "Cancel")
        b.reads("Cancelled.")
        b.find("button", "Start again")

    def test_the_indexes_of_a_partitioned_database_are_brought_up_to_date(self):
        b = self.browser
        b.open("#/db/parts/indexes")
        for name in ("by_n", "words", "n-index"):
            b.until(lambda: "partitioned" in self.card(name).text, "the index is said to be partitioned")
            b.until(lambda: not self.card(name).find_element("css selector", "button").click(), "it can be updated")
            b.reads(f"{name} is up to date")
        b.until(lambda: "Nouveau" in self.card("words").text, "the kind of the index is said")
        b.reads("Queries of these fields choose this index")

    def test_an_index_is_created_and_deleted(self):
        b = self.browser
        b.open("#/db/orders/indexes")
        self.card("by_city")
        b.press("n")
        dialog = b.find("dialog")
        b.write("item")
        b.click("button", "Create the index", within=dialog)
        b.gone("dialog")
        made = [one for one in self.server.get(encoded("orders", "_index"))["indexes"] if one["def"]["fields"] == [{"item": "asc"}]]
        self.assertEqual(len(made), 1)
        name = made[0]["name"]
        self.card(name)
        b.click("button", f"Actions for {name}")
        b.click("menuitem", re.compile("^Delete"))
        b.click("button", "Delete the index")
        b.reads(f"{name} is deleted")
        self.assertNotIn(name, [one["name"] for one in self.server.get(encoded("orders", "_index"))["indexes"]])

    def test_a_database_without_indexes_says_so(self):
        self.browser.open("#/db/empty/indexes")
        self.browser.reads("There are no indexes yet")


@needs_view("storage")
class Storage(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.people(server)
        samples.orders(server, 100)
        server.database("empty")

    def test_what_takes_space_is_shown_by_kind(self):
        self.browser.open("#/db/orders/storage")
        self.browser.reads("Space on disk")
        self.browser.reads("customer")

    def test_attachments_are_counted(self):
        self.browser.open("#/db/people/storage")
        self.browser.reads("of attachments")

    def test_the_limit_of_revisions_is_checked_and_set(self):
        b = self.browser
        b.open("#/db/orders/storage")
        b.click_css("input[type=number]")
        b.paste("0")
        b.click("button", "Set the revisions limit")
        b.reads("whole number")
        b.click_css("input[type=number]")
        b.paste("750")
        b.click("button", "Set the revisions limit")
        self.eventually(lambda: self.server.get("/orders/_revs_limit") == 750, "the limit is set")

    def test_an_empty_database_says_so(self):
        self.browser.open("#/db/empty/storage")
        self.browser.reads("There are no documents yet")
