# SPDX-License-Identifier: Apache-2.0
"""The frame: signing in and out, a session that ends, a server that goes away, keys, addresses and light or dark."""
from case import ConsoleTest, needs_view


class Everybody(ConsoleTest):
    @classmethod
    def seed(cls, server):
        server.database("notes")

    def test_the_places_are_links_and_the_current_one_is_marked(self):
        b = self.browser
        b.open("#/")
        for place in ("Databases", "Sync", "Access", "Server"):
            b.find("link", place)
        self.assertEqual(b.js("return document.querySelector('.places [aria-current=page]').innerText.trim()"), "Databases")

    def test_the_current_part_of_a_database_is_in_sight_on_a_narrow_page(self):
        b = self.browser
        self.server.database("parts")
        b.open("#/db/parts/live")
        b.size(390, 800)
        for part in ("live", "access", "docs"):
            b.go(f"#/db/parts/{part}")
            b.until(lambda: b.js("""const { left, right } = document.querySelector('.tabs [aria-current]').getBoundingClientRect();
              return left >= 0 && right <= innerWidth"""), f"the tab of {part} is in sight")

    def test_the_title_of_the_window_names_the_view(self):
        self.browser.open("#/")
        self.assertEqual(self.browser.driver.title, "Databases · Divan")

    def test_an_unknown_address_says_so_and_leads_back(self):
        b = self.browser
        b.open("#/nothing/here")
        b.find("heading", "Page not found")
        b.click("link", "All databases")
        b.until(lambda: b.hash == "#/", "the overview's address is shown")

    def test_an_address_with_a_broken_escape_is_no_fault(self):
        self.browser.open("#/db/%E0%A4%A")
        self.browser.find("heading", "Page not found")

    def test_a_question_mark_lists_the_keys(self):
        b = self.browser
        b.open("#/")
        b.press("?")
        dialog = b.find("dialog")
        self.assertIn("Go to a database by name", dialog.text)
        b.press("Escape")
        b.gone("dialog")

    def test_going_back_closes_a_dialog(self):
        b = self.browser
        b.open("#/")
        b.go("#/server")
        b.press("?")
        b.find("dialog", "Keyboard shortcuts")
        b.driver.back()
        b.gone("dialog")
        b.until(lambda: b.hash == "#/", "the overview's address is shown")

    @needs_view("documents")
    def test_g_goes_to_a_database_by_its_name(self):
        b = self.browser
        b.open("#/")
        b.press("g")
        b.type("Database", "no/tes")
        b.press("Enter")
        b.until(lambda: b.js("return location.hash") == "#/db/no%2Ftes/docs", "the address is that of the database")

    def test_keys_do_nothing_while_one_types(self):
        b = self.browser
        b.open("#/")
        b.press("g")
        b.is_focused("Database")
        b.write("g?g")
        self.assertEqual(b.find("textbox", "Database").get_attribute("value"), "g?g")
        self.assertEqual(len(b.all("dialog")), 1)

    def test_dark_can_be_chosen_and_stays_after_a_reload(self):
        b = self.browser
        b.open("#/")
        light = b.js("return getComputedStyle(document.body.parentElement).backgroundColor")
        b.click("button", "Light or dark")
        b.click("menuitem", "Dark")
        dark = b.js("return getComputedStyle(document.body.parentElement).backgroundColor")
        self.assertNotEqual(light, dark)
        b.reload()
        self.assertEqual(b.js("return getComputedStyle(document.body.parentElement).backgroundColor"), dark)

    def test_the_system_says_light_or_dark_until_one_is_chosen(self):
        b = self.browser
        b.open("#/")
        light = b.js("return getComputedStyle(document.body.parentElement).backgroundColor")
        b.scheme("dark")
        self.assertNotEqual(light, b.js("return getComputedStyle(document.body.parentElement).backgroundColor"))

    def test_a_server_that_goes_away_is_told_of_until_it_is_back(self):
        b = self.browser
        b.open("#/")
        b.expect_errors("ERR_CONNECTION_REFUSED", "Failed to load resource", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")
        self.server.stop()
        b.module("const { api } = await load('api/client.js'); await api.get('/').catch(() => {});")
        b.reads("The server does not answer")
        self.server.start()
        b.reads_no("The server does not answer")

    def test_a_server_that_is_away_at_the_start_is_told_of_with_a_button_to_try_again(self):
        b = self.browser
        b.open("#/")
        b.expect_errors("ERR_CONNECTION_REFUSED", "Failed to load resource", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")
        # The page is there, and the server goes away before its first question.
        b.cdp("Network.enable")
        b.cdp("Network.setBlockedURLs", urls=["*/_session*"])
        b.driver.refresh()
        b.find("heading", "The server is not responding")
        b.cdp("Network.setBlockedURLs", urls=[])
        b.click("button", "Try again")
        b.find("link", "Server")

    def test_nothing_is_asked_of_another_host(self):
        b = self.browser
        b.open("#/")
        hosts = b.js("return [...new Set(performance.getEntriesByType('resource').map((one) => new URL(one.name).host))]")
        self.assertEqual(hosts, [self.server.origin.removeprefix("http://")])

    def test_the_policy_of_the_page_forbids_scripts_that_are_not_files(self):
        b = self.browser
        b.open("#/")
        b.expect_errors("the policy refused script-src", "Content Security Policy")
        ran = b.js(
            "const script = document.createElement('script'); script.textContent = 'document.body.dataset.ran = 1';"
            "document.body.append(script); return document.body.dataset.ran === '1'")
        self.assertFalse(ran)

    def test_the_skip_link_leads_to_the_page(self):
        b = self.browser
        b.open("#/")
        b.js("document.activeElement.blur(); document.querySelector('a.skip').focus()")
        self.assertEqual(b.focused()["name"], "Skip to the page")
        b.press("Enter")
        self.assertEqual(b.js("return document.activeElement.id"), "page")


class SignedIn(ConsoleTest):
    options = ["--user", "ann:secret"]
    user = ("ann", "secret")

    @classmethod
    def seed(cls, server):
        server.database("notes")

    def sign_in(self, name="ann", password="secret"):
        b = self.browser
        b.type("Name", name)
        b.type("Password", password)
        b.press("Enter")

    def test_a_name_and_a_password_are_asked_for_before_anything_is_shown(self):
        b = self.browser
        b.open("#/")
        b.find("heading", "Sign in to Divan")
        self.assertNotIn("notes", b.text)
        b.is_focused("Name")
        self.assertEqual(b.find("textbox", "Password").get_attribute("type"), "password")

    def test_a_wrong_password_is_said_at_the_field(self):
        b = self.browser
        b.open("#/")
        self.sign_in(password="wrong")
        b.reads("incorrect")
        self.assertEqual(b.find("textbox", "Password").get_attribute("aria-invalid"), "true")

    def test_the_right_password_shows_the_address_that_was_asked_for(self):
        b = self.browser
        b.open("#/nothing/here")
        self.sign_in()
        b.find("heading", "Page not found")
        b.find("button", "ann")

    def test_the_session_is_a_cookie_that_scripts_and_other_sites_do_not_get(self):
        b = self.browser
        b.open("#/")
        self.sign_in()
        b.find("button", "ann")
        cookies = b.driver.get_cookies()
        self.assertEqual([(one["name"], one["httpOnly"]) for one in cookies], [("AuthSession", True)])
        self.assertEqual(b.js("return document.cookie"), "")
        self.assertEqual(b.js("return localStorage.length + sessionStorage.length"), 0)

    def test_the_session_survives_a_reload_and_ends_by_signing_out(self):
        b = self.browser
        b.open("#/")
        self.sign_in()
        b.find("button", "ann")
        b.reload()
        b.click("button", "ann")
        b.click("menuitem", "Sign out")
        b.find("heading", "Sign in to Divan")
        self.assertEqual(self.asked_without_a_session(), 401)

    def asked_without_a_session(self):
        return self.browser.module("return (await fetch('../notes', { headers: { 'X-CouchDB-WWW-Authenticate': 'Cookie' } })).status;")

    def test_a_session_that_ends_in_mid_work_is_renewed_in_a_dialog_and_the_page_stays(self):
        b = self.browser
        b.open("#/nothing/here")
        self.sign_in()
        b.find("button", "ann")
        b.js("document.getElementById('page').dataset.mine = 'kept'")
        b.driver.delete_all_cookies()
        b.module("const { api } = await load('api/client.js'); await api.get('/notes').catch(() => {});")
        dialog = b.find("dialog", "Your session has ended")
        b.type("Password", "wrong", within=dialog)
        b.press("Enter")
        b.reads("incorrect")
        b.type("Password", "secret", within=dialog)
        b.press("Enter")
        b.gone("dialog")
        self.assertEqual(b.js("return document.getElementById('page').dataset.mine"), "kept")
        self.assertEqual(self.asked_without_a_session(), 200)

    def test_only_one_dialog_asks_although_many_requests_are_refused(self):
        b = self.browser
        b.open("#/")
        self.sign_in()
        b.find("button", "ann")
        b.driver.delete_all_cookies()
        b.module("const { api } = await load('api/client.js'); await Promise.allSettled([1, 2, 3].map(() => api.get('/notes')));")
        b.find("dialog", "Your session has ended")
        self.assertEqual(b.js("return document.querySelectorAll('dialog[open]').length"), 1)
