# SPDX-License-Identifier: Apache-2.0
"""A real `divan serve` in a temporary folder, and the console before it.

The console is the one inside the program, or with CONSOLE_SOURCES that of the sources, which scripts/console-serve shows in front of it.
"""
import base64
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Answer:
    """What the server answered: `status`, `headers`, and its body as bytes, or as JSON by `json`."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def find_program():
    """The program under test: DIVAN_PROGRAM, or the newest debug build."""
    if given := os.environ.get("DIVAN_PROGRAM"):
        return given
    built = sorted(ROOT.glob(".build/*/debug/divan"), key=lambda one: one.stat().st_mtime)
    built += [one for one in [ROOT / ".build/debug/divan"] if not built and one.exists()]
    if not built:
        sys.exit("test-console: there is no divan to test; build it, or name it with --divan PATH")
    return str(built[-1])


def is_inside():
    """Whether the tests use the console inside the program."""
    return not os.environ.get("CONSOLE_SOURCES")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def connection_to(port, scheme="http", timeout=60):
    """A connection to the loopback; a device has a certificate that it has made itself."""
    if scheme == "http":
        return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=ssl._create_unverified_context())


def encoded(*words):
    """The path of words: "/notes/a%2Fb"; the slash of `_design/` and `_local/` stays."""
    quoted = [urllib.parse.quote(word, safe="") for word in words]
    path = "/" + "/".join(quoted)
    return path.replace("/_design%2F", "/_design/").replace("/_local%2F", "/_local/")


class Server:
    """A listener on a free port; `stop` and `start` again keep its data and its address.

    `options` are those of `divan serve`; `user` is (name, password) of the one who seeds. `front` is a program of this
    folder that stands before it, in place of console-serve, with its options.
    """

    def __init__(self, *options, user=None, front=None):
        self.options = list(options) or ["--everybody"]
        self.user = user
        self.scheme = "https" if "--nearby" in self.options else "http"
        self.folder = tempfile.mkdtemp(prefix="divan-console.")
        self.port = free_port()
        self.front_port = None
        self.front_program = [os.environ.get("CONSOLE_SERVE", str(ROOT / "scripts/console-serve"))]
        if front:
            name, *options = front.split()
            self.front_program = [str(ROOT / "Tests/Console" / name), *options]
            self.front_port = free_port()
        self.process = self.front = None

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.front_port}" if self.front_port else self.url

    @property
    def console(self):
        return f"{self.origin}/_utils/"

    def start(self):
        log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(
            [find_program(), "serve", os.path.join(self.folder, "data"), *self.options,
             "--port", str(self.port), "--color", "never"],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self._wait_for(self.port, self.process, "/_up", self.scheme)
        if os.environ.get("CONSOLE_SOURCES") or self.front_port or self.request("GET", "/_utils/").status != 200:
            self._start_front()
        return self

    def _start_front(self):
        self.front_port = self.front_port or free_port()
        self.front = subprocess.Popen(
            [sys.executable, *self.front_program, "--port", str(self.front_port), "--server", self.url],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self._wait_for(self.front_port, self.front, "/_utils/")

    def _wait_for(self, port, process, path, scheme="http", seconds=30):
        end = time.monotonic() + seconds
        while True:
            try:
                connection = connection_to(port, scheme, 10)
                connection.request("GET", path)
                connection.getresponse().read()
                connection.close()
                return
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the server on port {port} does not answer:\n{self.log()}") from None
                time.sleep(0.02)

    def log(self):
        return pathlib.Path(self.folder, "log").read_text(errors="replace")

    def stop(self, kill=True):
        """Ends the listener, at once unless told otherwise, and what stands before it."""
        for process, sign in ((self.front, signal.SIGKILL), (self.process, signal.SIGKILL if kill else signal.SIGTERM)):
            if process and process.poll() is None:
                process.send_signal(sign)
                process.wait(30)
        self.process = self.front = None

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def request(self, method, path, body=None, headers=None, user=None):
        """Sends a request to the listener itself, as the user that seeds unless another one is given."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None or method not in ("GET", "HEAD"):
            headers.setdefault("Content-Type", "application/json")
        if user := user or self.user:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(user).encode()).decode()
        connection = connection_to(self.port, self.scheme)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def _sure(self, method, path, body=None, **more):
        answer = self.request(method, path, body, **more)
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        return answer.json

    def get(self, path, **more):
        return self._sure("GET", path, **more)

    def put(self, path, body=None, **more):
        return self._sure("PUT", path, body, **more)

    def post(self, path, body, **more):
        return self._sure("POST", path, body, **more)

    def delete(self, path, **more):
        return self._sure("DELETE", path, **more)

    def database(self, name, docs=()):
        """Makes a database with documents."""
        self.put(encoded(name))
        docs = list(docs)
        for at in range(0, len(docs), 1000):
            self.bulk(name, docs[at:at + 1000])
        return name

    def bulk(self, name, docs, **more):
        rows = self.post(encoded(name, "_bulk_docs"), {"docs": docs, **more})
        wrong = [row for row in rows if "error" in row]
        if wrong:
            raise RuntimeError(f"_bulk_docs: {wrong[:3]}")
        return rows

    def document(self, database, id, **query):
        """A document, or None when there is none."""
        text = "?" + urllib.parse.urlencode(query) if query else ""
        answer = self.request("GET", encoded(database, id) + text)
        return None if answer.status == 404 else answer.json
