# SPDX-License-Identifier: Apache-2.0
"""Devices on one network: two listeners that are paired in the console of each, or in that of one of them."""
import re

import accessibility
import snapshots
from browser import Browser
from case import ConsoleTest
from server import Server

PLACE = "/_divan/peers"
OURS, THEIRS = "Ann's laptop", "Bob's tablet"


class WithoutPeers(ConsoleTest):
    def test_a_server_without_devices_names_the_command(self):
        self.browser.open("#/sync")
        self.browser.reads("divan serve DIR --nearby")
        self.assertFalse(self.browser.has("button", "Pair a device"))

    def test_a_qr_code_is_drawn_black_on_white_with_a_border_of_four_modules(self):
        drawn = self.browser.open() or self.browser.module("""
          const { qrPicture } = await load("sync/qr-picture.js");
          const picture = qrPicture(["1101", "0000", "0010", "1111"], "A code"), [ground, path] = picture.children;
          return [picture.getAttribute("viewBox"), ["x", "y", "width", "height", "fill"].map((one) => ground.getAttribute(one)).join(" "),
            path.getAttribute("fill"), path.getAttribute("d")];""")
        self.assertEqual(drawn, ["-4 -4 12 12", "-4 -4 12 12 #fff", "#000",
                                 "M0 0h2v1h-2zM3 0h1v1h-1zM2 2h1v1h-1zM0 3h4v1h-4z"])


class Peers(ConsoleTest):
    options = ["--nearby", "--host", "127.0.0.1", "--user", "ann:secret"]
    user = ("ann", "secret")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = Server(*cls.options, user=cls.user)
        cls.addClassCleanup(cls.other.remove)
        cls.other.start()
        cls.server.put(PLACE, {"name": OURS})
        cls.other.put(PLACE, {"name": THEIRS})

    def setUp(self):
        super().setUp()
        self.enter(self.browser, self.server)
        for server in (self.server, self.other):
            for peer in server.get(PLACE)["peers"]:
                server.delete(f"{PLACE}/{peer['id']}")

    def enter(self, browser, server):
        """Opens a console as its administrator. The certificate of a device is one that it has made itself."""
        browser.cdp("Security.setIgnoreCertificateErrors", ignore=True)
        browser.reset(server.console)
        browser.open("#/sync")
        browser.type("Name", "ann")
        browser.type("Password", "secret")
        browser.press("Enter")
        browser.find("button", "ann")

    # What the other person does, by the API

    def pairing(self, server, id):
        return server.get(f"/_divan/pairings/{id}")

    def reaches(self, server, id, state):
        return self.eventually(lambda: (now := self.pairing(server, id))["state"] == state and now, f"the pairing is {state}")

    def link(self, server, database):
        return server.post("/_divan/pairings", {"database": database, "seconds": 300})

    def paired(self, database):
        """Pairs the two by a link of the other one; returns the link."""
        self.other.database(database)
        shown = self.link(self.other, database)
        used = self.server.post("/_divan/pairings", {"link": shown["link"]})
        self.reaches(self.other, shown["id"], "asking")
        self.other.put(f"/_divan/pairings/{shown['id']}", {"accept": True})
        self.reaches(self.server, used["id"], "paired")
        return shown["link"]

    # What the person at the console does

    def shown_link(self, database, browser=None):
        b = browser or self.browser
        b.open("#/sync")
        b.click("button", "Pair a device")
        b.choose("Database", database)
        b.click("button", "Show the code")
        return b.find("textbox", "Link").get_attribute("value")

    def use_link(self, link, browser=None):
        b = browser or self.browser
        b.open("#/sync")
        b.click("button", "Use a link")
        b.find("textbox", "Link").click()
        b.paste(link)
        b.click("button", "Pair")

    def digits(self, browser=None):
        return (browser or self.browser).css(".digits").text

    def action(self, name):
        self.browser.open("#/sync")
        self.browser.click("button", f"Actions for {THEIRS}")
        self.browser.click("menuitem", name)

    def test_two_devices_are_paired_in_their_consoles_and_share_what_each_writes(self):
        b, other = self.browser, Browser()
        try:
            self.enter(other, self.other)
            self.server.database("both", [{"_id": "before"}])
            link = self.shown_link("both")
            self.assertTrue(link.startswith("divan://"), link)
            b.find("img", re.compile("QR code"))
            self.assertRegex(b.text, r"It counts for [45]:\d\d")
            self.use_link(link, other)
            for one, name in ((b, THEIRS), (other, OURS)):
                one.reads("Both screens must show these digits")
                one.reads(name)
            self.assertRegex(self.digits(), r"^\d{3} \d{3}$")
            self.assertEqual(self.digits(), self.digits(other))
            self.assertFalse(other.has("button", "Accept"))
            b.click("button", "Accept")
            b.reads(f"Paired with {THEIRS}")
            other.reads(f"Paired with {OURS}")
            self.assertEqual(other.errors(), [])
        finally:
            other.quit()
        b.press("Escape")
        b.find("button", f"Actions for {THEIRS}")
        self.eventually(lambda: self.other.document("both", "before"), "what was there arrives")
        self.server.put("/both/ours", {"n": 1})
        self.eventually(lambda: self.other.document("both", "ours"), "what is written here arrives there")
        self.other.put("/both/theirs", {"n": 2})
        self.eventually(lambda: self.server.document("both", "theirs"), "what is written there arrives here")
        b.reads("Connected")
        b.reads(re.compile(r"both up to date · [1-9]\d* received"))

    def test_a_dialog_that_is_closed_after_accepting_lets_the_pairing_go_on(self):
        b = self.browser
        self.server.database("quick")
        link = self.shown_link("quick")
        used = self.other.post("/_divan/pairings", {"link": link})
        self.digits()
        b.click("button", "Accept")
        b.reads("The devices finish the pairing.")
        b.press("Escape")
        self.reaches(self.other, used["id"], "paired")
        b.reads(THEIRS)

    def test_a_device_that_is_declined_is_not_paired(self):
        b = self.browser
        self.server.database("declined", [{"_id": "mine"}])
        used = self.other.post("/_divan/pairings", {"link": self.shown_link("declined")})
        code = self.digits()
        self.assertEqual(self.reaches(self.other, used["id"], "asking")["code"], code)
        b.click("button", "Decline")
        self.reaches(self.other, used["id"], "declined")
        b.reads("The pairing was declined.")
        b.press("Escape")
        b.reads("No device is paired yet.")
        self.assertEqual(self.server.get(PLACE)["peers"], [])

    def test_a_link_that_was_used_is_refused(self):
        b = self.browser
        link = self.paired("once")
        self.use_link(link)
        b.reads("The link was used already")
        self.assertFalse(b.has("button", "Accept"))

    def test_a_dialog_that_is_closed_takes_its_link_back(self):
        b = self.browser
        self.server.database("back")
        link = self.shown_link("back")
        b.press("Escape")
        b.gone("dialog")
        used = self.other.post("/_divan/pairings", {"link": link})
        self.reaches(self.other, used["id"], "declined")

    def test_documents_that_are_here_are_shared_only_after_consent(self):
        b = self.browser
        self.other.database("mine")
        self.server.database("mine", [{"_id": f"doc-{number}"} for number in range(3)])
        shown = self.link(self.other, "mine")
        self.use_link(shown["link"])
        b.reads("The other device could read and change its 3 documents.")
        b.is_focused("Share the 3 documents of mine")
        b.click("button", "Pair")
        b.reads("Tick the box")
        self.assertEqual(self.pairing(self.other, shown["id"])["state"], "waiting")
        b.click("checkbox", "Share the 3 documents of mine")
        b.click("button", "Pair")
        code = self.digits()
        self.assertEqual(self.reaches(self.other, shown["id"], "asking")["code"], code)
        self.other.put(f"/_divan/pairings/{shown['id']}", {"accept": True})
        b.reads(f"Paired with {THEIRS}")
        self.eventually(lambda: self.other.document("mine", "doc-2"), "the documents arrive")

    def test_a_text_that_is_no_link_is_told_of(self):
        self.use_link("divan://nothing")
        self.browser.reads("The peer link is damaged")

    def test_a_pairing_is_ended(self):
        b = self.browser
        self.paired("ended")
        self.action("End the pairing")
        b.click("button", "End the pairing")
        b.reads("No device is paired yet.")
        self.assertEqual(self.server.get(PLACE)["peers"], [])

    def test_devices_are_renamed(self):
        b = self.browser
        self.paired("named")
        self.action("Rename")
        b.type("Name", "The tablet")
        b.click("button", "Rename")
        b.find("button", "Actions for The tablet")
        b.click("button", "Rename this device")
        b.type("Name", "The laptop")
        b.click("button", "Rename")
        self.eventually(lambda: self.server.get(PLACE)["name"] == "The laptop", "this device is renamed")
        self.assertEqual(self.server.get(PLACE)["peers"][0]["name"], "The tablet")
        self.server.put(PLACE, {"name": OURS})

    def test_what_is_shared_is_chosen(self):
        b = self.browser
        self.paired("first")
        self.server.database("second")
        self.action("Shared databases")
        b.click("checkbox", "first")
        b.click("checkbox", "second")
        b.click("button", "Save")
        b.gone("dialog")
        self.assertEqual(self.server.get(PLACE)["peers"][0]["databases"], ["second"])

    def test_each_step_looks_right_and_can_be_read_and_named(self):
        b = self.browser
        found = []

        def look(name):
            for width, height, scheme in snapshots.LOOKS:
                b.size(width, height)
                b.scheme(scheme)
                b.settled()
                faults = snapshots.take(b, f"peers-{name}", width, height, scheme) + snapshots.layout_faults(b) + accessibility.faults(b)
                found.extend(f"{name}, {width} pixels, {scheme}: {one}" for one in faults)
            b.size(1280, 800)
            b.scheme("light")
        self.paired("looks")
        b.open("#/sync")
        b.find("button", f"Actions for {THEIRS}")
        b.js("document.querySelector('.device').scrollIntoView()")
        look("list")
        found += accessibility.focus_faults(b)
        self.server.database("more", [{"_id": "one"}])
        link = self.shown_link("more")
        look("link")
        self.other.post("/_divan/pairings", {"link": link})
        self.digits()
        look("digits")
        b.click("button", "Accept")
        b.reads("Paired with")
        look("paired")
        b.press("Escape")
        self.other.database("there")
        self.server.database("there", [{"_id": "one"}])
        self.use_link(self.link(self.other, "there")["link"])
        b.reads("could read and change")
        look("consent")
        self.assertEqual(found, [])
