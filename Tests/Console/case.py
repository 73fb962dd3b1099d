# SPDX-License-Identifier: Apache-2.0
"""What the tests of one file share: a browser, one server for each class, and what a failure leaves behind."""
import os
import pathlib
import time
import unittest

from browser import Browser
from server import ROOT, Server

_browsers = {}


def shared_browser(whole=False):
    if whole not in _browsers:
        _browsers[whole] = Browser(whole)
    return _browsers[whole]


def quit_browsers():
    while _browsers:
        _browsers.popitem()[1].quit()


def has_view(*names):
    return all((ROOT / f"Console/js/views/{name}.js").exists() for name in names)


def needs_view(*names):
    """Leaves a test, or a class of tests, out while the console has no such view."""
    missing = [name for name in names if not has_view(name)]
    return unittest.skipIf(missing, f"there is no view {', '.join(missing)} yet")


class ConsoleTest(unittest.TestCase):
    """A test of the console against a real server; names of its tests are sentences.

    After each test the browser must have nothing to complain of, and nothing that came from data may have run.
    """

    options = ["--everybody"]
    user = None
    front = None
    # Whether the headless shell will not do.
    needs_whole_browser = False

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options, user=cls.user, front=cls.front)
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()
        cls.seed(cls.server)

    @classmethod
    def seed(cls, server):
        """Puts the data into the server that the class needs."""

    def setUp(self):
        self.browser = shared_browser(self.needs_whole_browser)
        self.browser.reset(self.server.console)

    def tearDown(self):
        errors = self.browser.errors()
        if errors:
            self.fail("the browser complained:\n" + "\n".join(errors[:10]))

    def failed(self):
        """A picture of the page, and where it was: called while it is still there."""
        folder = os.environ.get("CONSOLE_FAILURES")
        try:
            lines = [self.browser.describe()]
            if folder:
                pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
                path = pathlib.Path(folder, f"{self.id()}.png")
                self.browser.picture(path)
                lines.append(f"picture: {path}")
            return "\n".join(lines)
        except Exception as error:  # noqa: BLE001: what is told here must not hide why the test failed
            return f"no picture: {error}"

    def eventually(self, condition, what, seconds=20.0):
        """Waits for something that is true of the server."""
        end = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                self.fail(f"waited {seconds:.0f} s in vain: {what}")
            time.sleep(0.05)
