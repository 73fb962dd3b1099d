# SPDX-License-Identifier: Apache-2.0
"""A Divan that passes for a plain CouchDB: `console-serve`, without what only a Divan has, `_db_updates`, and the
services for text searches.

    couch_front.py [--require-user] --port PORT --server URL

    --require-user  answer nothing but a sign-in to those who have not signed in, as with CouchDB's `require_valid_user`

It is no CouchDB: it shows that the console goes by what a server says of itself. `docs/guides/console.md` says how to
try one.
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys

SERVE = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/console-serve"
GONE = re.compile(r"^/_db_updates|^/_divan|^/[^/]+/_divan|/_(search|search_info|nouveau|nouveau_info)/")
WELCOME = {
    "couchdb": "Welcome", "version": "3.4.3", "git_sha": "1234567", "uuid": "0" * 32,
    "features": ["access-ready", "partitioned", "pluggable-storage-engines", "reshard", "scheduler"],
    "vendor": {"name": "The Apache Software Foundation"},
}

loader = importlib.machinery.SourceFileLoader("console_serve", str(SERVE))
serve = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(serve)


class Couch(serve.Handler):
    requires_user = False

    def pass_on(self):
        path = self.path.partition("?")[0]
        is_known = "AuthSession=" in self.headers.get("Cookie", "").replace("AuthSession=;", "")
        is_open = path == "/_up" or (self.command, path) == ("POST", "/_session")
        if self.requires_user and not is_known and not is_open:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.say(401, {"error": "unauthorized", "reason": "Authentication required."})
        elif path == "/" and self.command == "GET":
            self.say(200, WELCOME)
        elif GONE.search(path):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.say(404, {"error": "not_found", "reason": "missing"})
        else:
            super().pass_on()

    def say(self, status, answer):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    serve.Handler = Couch
    if "--require-user" in sys.argv:
        sys.argv.remove("--require-user")
        Couch.requires_user = True
    serve.main()
