# SPDX-License-Identifier: Apache-2.0
"""How the program serves the console that is inside it. Needs no browser."""
import gzip
import re
import unittest

from static_checks import without_comments
from case import ConsoleTest
from server import ROOT, Server, is_inside


@unittest.skipUnless(is_inside(), "the console of the sources is tested")
class Served(ConsoleTest):
    def setUp(self):
        pass

    def tearDown(self):
        pass

    def failed(self):
        return ""

    def get(self, path, **headers):
        return self.server.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def test_every_file_of_the_sources_is_inside(self):
        files = [one for one in (ROOT / "Console").rglob("*") if one.is_file() and one.name != "jsconfig.json"]
        for file in files:
            name = file.relative_to(ROOT / "Console")
            answer = self.get(f"/_utils/{name}")
            self.assertTrue(answer.status == 200 and answer.body == without_comments(file), f"{name} is not as in the sources: build the program anew")

    def test_the_policy_lets_nothing_in_but_files_of_the_server(self):
        for path in ("/_utils/", "/_utils/js/main.js", "/_utils/css/base.css"):
            policy = self.get(path).headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("script-src 'self'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotRegex(policy, r"unsafe|\*|https?:")
            self.assertEqual(self.get(path).headers["X-Content-Type-Options"], "nosniff")

    def test_a_file_that_has_not_changed_is_not_sent_again(self):
        tag = self.get("/_utils/js/main.js").headers["ETag"]
        self.assertTrue(tag)
        self.assertEqual(self.get("/_utils/js/main.js", If_None_Match=tag).status, 304)

    def test_files_are_sent_compressed_to_clients_that_take_that(self):
        plain = self.get("/_utils/js/shell.js")
        packed = self.get("/_utils/js/shell.js", Accept_Encoding="gzip")
        self.assertEqual(packed.headers["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertLess(len(packed.body), len(plain.body) / 2)

    def test_types_are_those_that_browsers_take(self):
        for path, kind in (("/_utils/", "text/html"), ("/_utils/js/main.js", "text/javascript"), ("/_utils/css/base.css", "text/css"), ("/_utils/icon.svg", "image/svg+xml")):
            self.assertTrue(self.get(path).headers["Content-Type"].startswith(kind), path)

    def test_the_folder_without_its_slash_leads_to_it(self):
        answer = self.get("/_utils")
        self.assertIn(answer.status, (301, 302, 308))
        self.assertRegex(answer.headers["Location"], r"/_utils/$")

    def test_nothing_outside_of_the_console_is_served_below_it(self):
        for path in ("/_utils/../etc/passwd", "/_utils/%2e%2e/%2e%2e/etc/passwd", "/_utils/none.js", "/_utils/js/", "/_utils//etc/passwd"):
            self.assertIn(self.get(path).status, (400, 404), path)

    def test_files_of_the_console_are_only_read(self):
        for method in ("PUT", "POST", "DELETE"):
            self.assertGreaterEqual(self.server.request(method, "/_utils/js/main.js", {}).status, 400)

    def test_a_session_is_a_cookie_for_this_site_alone(self):
        server = Server("--user", "ann:secret", user=None).start()
        self.addCleanup(server.remove)
        answer = server.request("POST", "/_session", {"name": "ann", "password": "secret"})
        cookie = answer.headers["Set-Cookie"]
        self.assertRegex(cookie, re.compile("httponly", re.I))
        self.assertRegex(cookie, re.compile("samesite=strict", re.I))

    def test_the_console_can_be_left_out(self):
        server = Server("--everybody", "--no-console")
        self.addCleanup(server.remove)
        server.front_port = None
        server.start()
        self.assertNotEqual(server.request("GET", "/_utils/").status, 200)
