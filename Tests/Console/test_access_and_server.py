# SPDX-License-Identifier: Apache-2.0
"""Users, rights and sessions, and the server itself, as an administrator and as another user."""
import re

from case import ConsoleTest, needs_view
from server import encoded


class WithUsers(ConsoleTest):
    options = ["--user", "ann:secret"]
    user = ("ann", "secret")

    @classmethod
    def seed(cls, server):
        for name in ("shop", "wiki"):
            server.database(name)
        server.put(encoded("_users", "org.couchdb.user:bob"), {"name": "bob", "type": "user", "roles": ["staff"], "password": "pw"})

    def sign_in(self, hash, name="ann", password="secret"):
        b = self.browser
        b.open(hash)
        b.type("Name", name)
        b.type("Password", password)
        b.press("Enter")
        b.find("button", name)
        b.settled()


@needs_view("access", "database-access")
class Access(WithUsers):
    def test_a_user_is_created_who_can_sign_in(self):
        b = self.browser
        self.sign_in("#/access")
        b.click("button", "New user")
        dialog = b.find("dialog")
        b.click("button", "Create the user", within=dialog)
        b.reads("Enter a name.")
        b.type("Name", "cid", within=dialog)
        b.type("Password", "cc", within=dialog)
        b.click("button", "Create the user", within=dialog)
        b.gone("dialog")
        self.assertEqual(self.server.get("/_session", user=("cid", "cc"))["userCtx"]["name"], "cid")
        b.reads("cid")

    def test_a_role_that_begins_with_an_underscore_is_refused(self):
        b = self.browser
        self.sign_in("#/access")
        b.click("button", "New user")
        dialog = b.find("dialog")
        b.type("Name", "dan", within=dialog)
        b.type("Password", "dd", within=dialog)
        b.find("textbox", "Roles", within=dialog).click()
        b.write("_admin,")
        b.click("button", "Create the user", within=dialog)
        b.reads("cannot begin with an underscore")

    def test_what_the_page_says_that_a_user_may_do_is_what_the_server_does(self):
        b = self.browser
        self.server.put("/shop/_security", {"admins": {"names": [], "roles": []}, "members": {"names": [], "roles": ["staff"]}})
        self.server.put("/wiki/_security", {"admins": {"names": ["bob"], "roles": []}, "members": {"names": ["eve"], "roles": []}})
        self.sign_in("#/access?part=rights&as=bob")
        b.reads("bob may use")
        for database, level in (("shop", "Read and write"), ("wiki", "Administer"), ("_users", "No access")):
            b.until(lambda: level in b.find("row", re.compile(f"^{database} ")).text, f"{database} has the level {level}")
            status = self.server.request("GET", f"/{database}/_all_docs?limit=0", user=("bob", "pw")).status
            self.assertEqual(status >= 400, level == "No access", database)

    def test_unsaved_rights_are_asked_for_before_one_leaves(self):
        b = self.browser
        self.sign_in("#/db/shop/access")
        b.until(lambda: b.js("return document.querySelectorAll('.halves .input').length") >= 4, "the fields are there")
        b.js("return document.querySelectorAll('.halves .input')[0]").click()
        b.write("eve")
        b.press("Enter")
        b.click("link", "Server")
        b.find("dialog", "Leave without saving?")
        b.click("button", "Cancel")
        b.until(lambda: b.hash.startswith("#/db/shop/access"), "the page stays")
        b.reads("eve")

    def test_who_goes_back_twice_is_asked_once_about_unsaved_rights_and_other_dialogs_close_when_the_view_is_left(self):
        b = self.browser
        self.sign_in("#/server")
        b.go("#/sync")
        b.go("#/db/shop/access")
        b.until(lambda: b.js("return document.querySelectorAll('.halves .input').length") >= 4, "the fields are there")
        b.js("return document.querySelectorAll('.halves .input')[0]").click()
        b.write("eve")
        b.press("Enter")
        b.js("document.activeElement.blur()")
        b.press("?")
        b.find("dialog", "Keyboard shortcuts")
        b.driver.back()
        b.find("dialog", "Leave without saving?")
        b.driver.back()
        b.until(lambda: b.hash.startswith("#/server"), "the address is that of the first view")
        self.assertEqual(len(b.js("return [...document.querySelectorAll('dialog')]")), 2)
        b.click("button", "Cancel", within=b.find("dialog", "Leave without saving?"))
        b.until(lambda: b.hash.startswith("#/db/shop/access"), "the view stays")
        b.find("dialog", "Keyboard shortcuts")
        b.go("#/sync")
        b.click("button", "Leave without saving", within=b.find("dialog", "Leave without saving?"))
        b.gone("dialog")
        b.until(lambda: b.js("return document.title").startswith("Sync"), "the other view is shown")

    def test_access_that_another_administrator_has_changed_meanwhile_is_not_replaced(self):
        b = self.browser
        nobody = {"names": [], "roles": []}
        self.server.put("/shop/_security", {"admins": nobody, "members": nobody})
        self.sign_in("#/db/shop/access")
        b.until(lambda: b.js("return document.querySelectorAll('.halves .input').length") >= 4, "the fields are there")
        b.js("return document.querySelectorAll('.halves .input')[0]").click()
        b.write("mallory")
        b.press("Enter")
        self.server.put("/shop/_security", {"admins": nobody, "members": {"names": ["zoe"], "roles": []}})
        b.click("button", "Save the access")
        b.reads("Another client has changed this access")
        self.assertEqual(self.server.get("/shop/_security")["members"]["names"], ["zoe"])
        b.click("button", "Reload the access")
        b.reads("zoe")
        b.reads_no("mallory")

    def test_roles_that_another_administrator_has_changed_meanwhile_are_not_replaced(self):
        b = self.browser
        id = "org.couchdb.user:rob"
        self.server.put(encoded("_users", id), {"name": "rob", "type": "user", "roles": ["staff"], "password": "pw"})
        self.sign_in("#/access?part=users")
        b.click("button", "What to do with rob")
        b.click("menuitem", "Change the roles")
        dialog = b.find("dialog")
        self.server.put(encoded("_users", id), {**self.server.document("_users", id), "roles": ["night"]})
        b.find("textbox", "Roles", within=dialog).click()
        b.write("day,")
        b.click("button", "Change the roles", within=dialog)
        b.reads("has been changed, so nothing was done")
        self.assertEqual(self.server.document("_users", id)["roles"], ["night"])

    def test_an_administrator_who_is_there_is_not_made_again(self):
        b = self.browser
        self.sign_in("#/access")
        b.click("button", "New user")
        dialog = b.find("dialog")
        b.choose("Kind", "admin")
        b.type("Name", "ann", within=dialog)
        b.type("Password", "other", within=dialog)
        b.click("button", "Create the user", within=dialog)
        b.reads("An administrator with this name exists.")
        self.assertEqual(self.server.get("/_session", user=("ann", "secret"))["userCtx"]["name"], "ann")

    def test_a_user_who_is_no_administrator_is_told_so_and_sees_the_own_session(self):
        b = self.browser
        self.sign_in("#/access?part=users", "bob", "pw")
        b.reads("Only for server administrators")
        b.open("#/access?part=you")
        b.reads("bob")
        b.reads("staff")
        self.assertFalse(b.has("dialog"))

    def test_the_console_of_a_user_without_rights_offers_no_sign_in_again(self):
        b = self.browser
        self.sign_in("#/", "bob", "pw")
        for hash in ("#/", "#/server", "#/access", "#/sync", "#/db/_users/docs"):
            b.open(hash)
            self.assertFalse(b.has("dialog"), hash)


@needs_view("server")
class ServerView(WithUsers):
    def test_metrics_are_drawn(self):
        b = self.browser
        self.sign_in("#/server")
        b.reads("couchdb.httpd.requests")
        b.until(lambda: b.js("return document.querySelectorAll('.chart path.line').length") > 1, "lines are drawn")

    def test_the_configuration_hides_secrets_and_is_changed(self):
        b = self.browser
        secret = "c2VjcmV0IGtleSBvZiB0aGlydHktdHdvIGJ5dGVzISE="
        self.server.put("/_node/_local/_config/jwt_keys/hmac:k1", secret)
        self.sign_in("#/server?part=configuration")
        b.reads("max_http_request_size")
        self.assertNotIn(secret, b.driver.page_source)
        b.click("button", "Change couchdb/max_document_size")
        dialog = b.find("dialog")
        b.type("New value", "many", within=dialog)
        b.click("button", "Change the key", within=dialog)
        b.reads("Enter a whole number above zero.")
        b.type("New value", "1000000", within=dialog)
        b.click("button", "Change the key", within=dialog)
        b.gone("dialog")
        self.assertEqual(self.server.get("/_node/_local/_config/couchdb/max_document_size"), "1000000")

    def test_tasks_log_and_about_are_shown(self):
        b = self.browser
        self.sign_in("#/server?part=tasks")
        b.reads("No active tasks")
        b.open("#/server?part=about")
        b.reads("Apache-2.0")
        b.open("#/server?part=log")
        b.until(lambda: len(b.text) > 100, "the log, or why there is none")


@needs_view("documents", "document", "overview")
class ReadOnly(ConsoleTest):
    options = ["--everybody", "--read-only"]

    @classmethod
    def seed(cls, server):
        server.stop()
        options, server.options = server.options, ["--everybody"]
        server.start()
        server.database("notes", [{"_id": "doc", "a": 1}])
        server.stop()
        server.options = options
        server.start()

    def test_a_server_that_takes_no_writes_is_offered_none(self):
        b = self.browser
        for hash in ("#/", "#/db/notes/docs", "#/db/notes/doc/doc", "#/db/notes/indexes", "#/db/notes/conflicts", "#/db/notes/access", "#/sync", "#/db/notes/storage"):
            b.open(hash)
            offered = b.js("""
              return [...document.querySelectorAll('main button, main a.button')].filter((one) => one.checkVisibility() && !one.disabled)
                .map((one) => (one.innerText || one.title).trim()).filter((text) => /^(new |create|save|delete\\b|edit…|duplicate|upload|compact|resolve|set the|restore)/i.test(text));""")
            self.assertEqual(offered, [], hash)
