# SPDX-License-Identifier: Apache-2.0
"""The live feed, and replications."""
import re

import samples
from case import ConsoleTest, needs_view


def lines(browser):
    return browser.js("return [...document.querySelectorAll('.live-list .line')].map((one) => one.innerText)")


@needs_view("live")
class Live(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.orders(server, 100)

    def opened(self, name):
        self.server.database(name)
        self.browser.open(f"#/db/{name}/live")
        self.browser.reads("No changes yet")

        def comes():
            if not lines(self.browser):
                self.server.bulk(name, [{"type": "note"}])
            return lines(self.browser)
        self.browser.until(comes, "the feed is live")

    def test_each_change_says_whether_it_is_new_changed_deleted_or_a_conflict(self):
        b = self.browser
        self.opened("kinds")
        revision = self.server.put("/kinds/a", {"n": 1})["rev"]
        b.until(lambda: any("new" in one and "a" in one for one in lines(self.browser)), "it is new")
        self.server.put("/kinds/a", {"n": 2, "_rev": revision})
        b.until(lambda: any("changed" in one for one in lines(self.browser)), "it has changed")
        self.server.delete("/kinds/a?rev=" + self.server.document("kinds", "a")["_rev"])
        b.until(lambda: any("deleted" in one for one in lines(self.browser)), "it is deleted")
        samples.conflict(self.server, "kinds", "c", [{"by": "ann"}, {"by": "bob"}])
        b.until(lambda: any("conflict" in one for one in lines(self.browser)), "it is in conflict")

    def test_the_feed_is_paused_and_goes_on(self):
        b = self.browser
        self.opened("pause")
        b.click("button", "Pause")
        self.server.bulk("pause", [{"_id": f"later {number}"} for number in range(5)])
        # One that was written before may come after the button was pressed.
        b.until(lambda: b.js("return /Continue with [5-9] new/.test(document.body.innerText)"), "they are counted")
        self.assertFalse([one for one in lines(self.browser) if "later 4" in one])
        b.click("button", re.compile("^Continue"))
        b.until(lambda: [one for one in lines(self.browser) if "later 4" in one], "the feed goes on")

    def test_a_filter_of_the_server_is_in_the_address(self):
        b = self.browser
        b.open("#/db/orders/live?from=last&filter=sales%2Fpaid")
        b.reads("Filter: sales/paid")
        b.until(lambda: lines(b), "changes are shown")

    def test_a_filter_that_is_not_there_is_told_of(self):
        self.browser.open("#/db/orders/live?filter=sales%2Fnone")
        self.browser.reads("Stopped")

    def test_the_feed_goes_on_when_the_server_is_back(self):
        b = self.browser
        b.expect_errors("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to load resource", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_NETWORK")
        self.opened("away")
        self.server.stop()
        b.reads("Reconnecting")
        self.server.start()
        self.server.put("/away/after", {"x": 1})
        b.until(lambda: [one for one in lines(self.browser) if "after" in one], "what came meanwhile is shown", 60)


@needs_view("live")
class OutOfSight(ConsoleTest):
    # No page of the headless shell is ever out of sight.
    needs_whole_browser = True

    def test_a_tab_out_of_sight_holds_no_feed_and_loses_no_change(self):
        b = self.browser
        self.server.database("aside", [{"_id": "first"}])
        b.open("#/")
        b.js("""
          const original = window.fetch;
          window.feeds = [];
          window.fetch = (address, options) => {
            const url = new URL(address), feed = { since: url.searchParams.get("since"), ended: false };
            if (url.pathname.endsWith("/aside/_changes") && url.searchParams.get("feed") === "continuous") {
              feeds.push(feed);
              options.signal.addEventListener("abort", () => { feed.ended = true; });
            }
            return original(address, options);
          };""")
        b.go("#/db/aside/live")
        b.reads("Live")
        b.until(lambda: b.js("return feeds.length"), "a feed is open")
        self.server.put("/aside/before", {})
        b.until(lambda: len(lines(self.browser)) == 1, "a change is shown")
        with b.hidden():
            b.until(lambda: b.js("return feeds.length > 0 && feeds.every((one) => one.ended)"), "the feed has ended")
            opened = b.js("return feeds.length")
            self.server.bulk("aside", [{"_id": f"meanwhile {number}"} for number in range(9)])
            self.server.delete("/aside/first?rev=" + self.server.document("aside", "first")["_rev"])
            self.assertEqual(b.js("return feeds.length"), opened)
        b.until(lambda: len(lines(self.browser)) >= 11, "what came meanwhile is shown")
        self.server.put("/aside/after", {})
        b.until(lambda: any("after" in one for one in lines(self.browser)), "the feed goes on")
        self.assertEqual(len(lines(self.browser)), 12)
        self.assertTrue(any("deleted" in one for one in lines(self.browser)))


@needs_view("sync", "sync-new", "sync-job")
class Sync(ConsoleTest):
    @classmethod
    def seed(cls, server):
        samples.orders(server, 60)
        server.database("target")
        server.post("/_replicator", {"_id": "once", "source": f"{server.url}/orders", "target": f"{server.url}/once-copy", "create_target": True})
        server.post("/_replicator", {"_id": "broken", "source": "http://127.0.0.1:1/none", "target": f"{server.url}/target"})

    def test_replications_are_listed_with_their_states(self):
        b = self.browser
        b.open("#/sync")
        b.reads("Completed")
        b.reads("Waiting to retry")

    def test_the_list_is_filtered_by_state(self):
        b = self.browser
        b.open("#/sync?state=waiting")
        rows = lambda: b.js("return [...document.querySelectorAll('.sync-row')].map((one) => one.innerText)")
        b.until(lambda: any("broken" in one for one in rows()), "the one that waits is listed")
        self.assertFalse([one for one in rows() if "Waiting to retry" not in one])

    def test_why_a_replication_fails_is_said(self):
        b = self.browser
        b.open("#/sync/job/broken")
        b.reads("Run history")

    def test_a_replication_that_is_not_there_is_told_of(self):
        self.browser.open("#/sync/job/no-such")
        self.browser.reads("The server has no replication")

    def test_a_form_says_what_is_wrong_with_it(self):
        b = self.browser
        b.open("#/sync/new")
        b.click("button", "Start the replication")
        b.reads("Choose a database.")

    def test_a_filter_function_is_previewed_and_replicated(self):
        b = self.browser
        b.open("#/sync/new?source=orders&target=paid-copy")
        b.until(lambda: len(b.all("textbox", "Database")) == 2, "there are two ends")
        for field, name in zip(b.all("textbox", "Database"), ("orders", "paid-copy")):
            field.click()
            b.paste(name)
        b.choose("Documents", "filter")
        b.type("Filter function", "sales/paid")
        b.click("button", "Preview what is sent")
        count = len(self.server.get("/orders/_changes?filter=sales/paid")["results"])
        b.reads(f"{count} documents would be sent")
        box = b.find("checkbox", re.compile("Create the target"))
        if not box.is_selected():
            box.click()
        b.type("Name", "paid-only")
        b.click("button", "Start the replication")
        self.eventually(lambda: self.server.request("GET", "/paid-copy").status == 200 and self.server.get("/paid-copy")["doc_count"] == count,
                        "what is paid arrives")

    def test_a_replication_is_stopped_and_brought_back(self):
        b = self.browser
        self.server.post("/_replicator", {"_id": "stop-me", "source": f"{self.server.url}/orders", "target": f"{self.server.url}/target", "continuous": True})
        b.open("#/sync/job/stop-me")
        b.click("button", "More actions")
        b.click("menuitem", "Stop")
        b.click("button", "Stop the replication")
        self.eventually(lambda: self.server.document("_replicator", "stop-me") is None, "its document is gone")
        b.click("button", "Undo")
        self.eventually(lambda: self.server.document("_replicator", "stop-me"), "its document is back")

    def test_a_password_is_never_shown(self):
        b = self.browser
        self.server.post("/_replicator", {"_id": "secret", "source": "orders", "target": {
            "url": "http://127.0.0.1:9/far", "auth": {"basic": {"username": "ann", "password": "hush hush"}}}})
        b.open("#/sync/job/secret")
        b.reads("secret")
        self.assertNotIn("hush", b.driver.page_source)
