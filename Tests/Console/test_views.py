# SPDX-License-Identifier: Apache-2.0
"""Every view, in light and dark, at a desk and on a phone: pictures, layout, accessibility, and nothing that the browser complains of."""
import re

import accessibility
import snapshots
import views
from case import ConsoleTest


class Views(ConsoleTest):
    @classmethod
    def seed(cls, server):
        views.seed(server)

    def each(self, check):
        """Checks each view, and fails with what is wrong with all of them."""
        found = []
        for name, hash in views.shown_views():
            self.browser.open(hash)
            found += [f"{name}: {one}" for one in check(name)]
            found += [f"{name}: {one}" for one in self.browser.errors()]
        if found:
            self.fail(f"{len(found)} faults\n" + "\n".join(found))

    def test_each_view_looks_right_in_light_and_dark_at_both_sizes(self):
        def check(name):
            found = []
            for width, height, scheme in snapshots.LOOKS:
                self.browser.size(width, height)
                self.browser.scheme(scheme)
                self.browser.settled()
                found += [f"{width} pixels, {scheme}: {one}" for one in snapshots.take(self.browser, name, width, height, scheme)]
                if scheme == "light":
                    found += [f"{width} pixels: {one}" for one in snapshots.layout_faults(self.browser)]
            self.browser.size(1280, 800)
            self.browser.scheme("light")
            return found
        self.each(check)

    def test_each_view_can_be_read_and_named_in_light(self):
        self.each(lambda name: accessibility.faults(self.browser))

    def test_each_view_can_be_read_and_named_in_dark(self):
        self.browser.scheme("dark")
        self.each(lambda name: accessibility.faults(self.browser))

    def test_each_view_fits_a_phone(self):
        self.browser.size(390, 800)
        self.each(lambda name: accessibility.faults(self.browser))

    def test_each_view_is_gone_through_by_tab(self):
        self.each(lambda name: accessibility.focus_faults(self.browser))

    def test_each_view_is_shown_within_two_seconds(self):
        found = []
        for name, hash in views.shown_views():
            self.browser.open(hash)
            spent = self.browser.js(
                "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
            if spent > 2000:
                found.append(f"{name}: first paint after {spent:.0f} ms")
        self.assertEqual(found, [])


class ReadOnly(ConsoleTest):
    """A server that refuses every change, which the console offers nowhere then."""

    WRITES = re.compile(r"^(?!Save the log)(New|Create|Save|Delete|Edit|Compact|Restart|Stop|Start|Add|Remove|Resolve|Apply|Upload|Pair|Make)\b")

    @classmethod
    def seed(cls, server):
        views.seed(server)
        server.stop(kill=False)
        server.options.append("--read-only")
        server.start()

    def test_no_view_offers_what_would_be_refused(self):
        b = self.browser
        self.assertEqual(self.server.request("PUT", "/refused").status, 403)
        found = []
        for name, hash in views.shown_views():
            b.open(hash)
            if name == "document-missing":
                continue
            labels = b.js("""return [...document.querySelectorAll('main button, main a.button')]
                .filter((one) => !one.disabled && one.offsetParent).map((one) => one.textContent.trim() || one.title)""")
            found += [f"{name}: {label}" for label in labels if self.WRITES.match(label)]
            found += [f"{name}: {one}" for one in b.errors()]
        self.assertEqual(found, [])
