# SPDX-License-Identifier: Apache-2.0
"""Every view of a server that refuses every change."""
import re

import views
from case import ConsoleTest


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
