# SPDX-License-Identifier: Apache-2.0
"""`divan open`: a browser that gets in by the key in its address, and no other way."""
import shutil
import subprocess
import tempfile
import unittest

from case import ConsoleTest
from server import find_program, is_inside


@unittest.skipUnless(is_inside(), "the console of the sources is tested")
class Open(ConsoleTest):
    options = ["--user", "owner:secret"]
    user = ("owner", "secret")

    def test_the_browser_is_signed_in_and_the_key_goes_from_the_address(self):
        folder = tempfile.mkdtemp(prefix="divan-console.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        subprocess.run([find_program(), "create", "notes"], cwd=folder, check=True)
        opened = subprocess.Popen(
            [find_program(), "open", "notes", "--no-browser", "--javascript", "off"],
            cwd=folder, stdout=subprocess.PIPE, text=True)
        self.addCleanup(opened.stdout.close)
        self.addCleanup(opened.wait, 30)
        self.addCleanup(opened.terminate)
        address = opened.stdout.readline().strip()
        self.assertIn("owner=", address)
        b = self.browser
        b.driver.get(address)
        b.find("button", "owner")
        self.assertRegex(b.js("return location.href"), "#/db/notes/docs$")

    def test_a_link_with_a_key_signs_in_at_no_other_server(self):
        b = self.browser
        b.open("#/?owner=secret")
        b.find("heading", "Sign in to Divan")
        self.assertNotIn("secret", b.js("return location.href"))
