# SPDX-License-Identifier: Apache-2.0
"""The console before a server that has no more than a CouchDB."""
import samples
from case import ConsoleTest

NAMES = "return [...document.querySelectorAll('.databases .line .name a')].map((one) => one.innerText)"


class PlainCouch(ConsoleTest):
    front = "couch_front.py"

    @classmethod
    def seed(cls, server):
        samples.orders(server, 30)
        server.put("/orders/_design/words", {
            "indexes": {"by_item": {"index": "function (doc) { index('default', doc.item); }"}},
            "nouveau": {"by_place": {"index": "function (doc) { index('text', 'city', doc.place.city); }"}}})

    def test_the_server_is_called_by_its_name(self):
        b = self.browser
        b.open("#/")
        b.reads("CouchDB 3.4.3")

    def test_databases_that_other_clients_make_and_delete_come_and_go(self):
        b = self.browser
        b.open("#/")
        b.until(lambda: "orders" in b.js(NAMES), "the databases are listed")
        self.server.database("elsewhere")
        b.until(lambda: "elsewhere" in b.js(NAMES), "it appears")
        self.server.delete("/elsewhere")
        b.until(lambda: "elsewhere" not in b.js(NAMES), "it is gone")

    def test_an_index_that_needs_a_missing_service_says_so_and_is_not_updated(self):
        b = self.browser
        b.open("#/db/orders/indexes")
        for kind, name in (("search", "by_item"), ("nouveau", "by_place")):
            b.reads(f"the server has no service for {kind} indexes")
            self.assertFalse(self.offered(name))
        for name in ("by-customer", "by_date"):
            self.assertTrue(self.offered(name))

    def offered(self, name):
        """Whether a button brings an index up to date."""
        return self.browser.js("""const card = [...document.querySelectorAll('.index')].find((one) =>
          one.querySelector('h2').innerText === arguments[0]);
          return [...card.querySelectorAll('button')].some((one) => /^(Bring up|Update)/.test(one.innerText));""", name)

    def test_text_searches_are_not_offered(self):
        b = self.browser
        b.open("#/db/orders/ask")
        b.find("button", "View")
        self.assertFalse(b.has("button", "Text"))
        b.open("#/db/orders/ask?mode=text")
        b.reads("This server has no text search")


class SignIn(ConsoleTest):
    front = "couch_front.py"
    options = ["--user", "ann:secret"]
    user = ("ann", "secret")

    def test_the_form_names_the_server(self):
        b = self.browser
        b.open("#/", settle=False)
        b.find("heading", "Sign in to CouchDB")


class RequiredUser(ConsoleTest):
    """As with CouchDB's `require_valid_user`."""

    front = "couch_front.py --require-user"
    options = ["--user", "ann:secret"]
    user = ("ann", "secret")

    def signed_in(self):
        b = self.browser
        b.open("#/", settle=False)
        b.find("heading", "Sign in to CouchDB")
        b.type("Name", "ann")
        b.type("Password", "secret")
        b.click("button", "Sign in")
        b.reads("CouchDB 3.4.3")

    def test_one_signs_in_although_the_server_says_nothing_before(self):
        self.signed_in()

    def test_a_session_that_ends_is_renewed_in_a_dialog(self):
        b = self.browser
        self.signed_in()
        b.driver.delete_all_cookies()
        b.js("location.hash = '#/db/none/docs'")
        b.find("dialog", "Your session has ended")
        b.type("Password", "secret")
        b.click("button", "Sign in")
        b.gone("dialog")
        b.go("#/access")
        b.reads("ann")
