# SPDX-License-Identifier: Apache-2.0
"""Every view, in light and dark, at a desk and on a phone: pictures, layout, accessibility, and nothing that the browser complains of."""
import accessibility
import snapshots
import views
from case import ConsoleTest


class Views(ConsoleTest):
    @classmethod
    def seed(cls, server):
        views.seed(server)

    def each(self, check, anew=True):
        """Checks each view, loaded anew or come to from the one before, and fails with what is wrong with all of them."""
        found = []
        if not anew:
            self.browser.open()
        for name, hash in views.shown_views():
            self.browser.open(hash) if anew else self.browser.go(hash)
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
        self.each(lambda name: accessibility.faults(self.browser), anew=False)

    def test_each_view_fits_a_phone(self):
        self.browser.size(390, 800)
        self.each(lambda name: accessibility.faults(self.browser), anew=False)

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
