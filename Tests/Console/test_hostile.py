# SPDX-License-Identifier: Apache-2.0
"""What hostile peers store is shown in every view as the text that it is: nothing of it runs, and nothing of it becomes an element."""
import json
import urllib.parse

from case import ConsoleTest, needs_view
from samples import conflict, stub
from server import encoded

RUNS = [
    "<script>window.pwned='script'</script>", "<img src=x onerror=\"window.pwned='img'\">", "<svg onload=\"pwned='svg'\"><b id=evil>x</b></svg>",
    "javascript:window.pwned='url'", "'\"><iframe srcdoc=\"<script>parent.pwned='frame'</script>\"></iframe>", "</textarea><input autofocus onfocus=pwned=1>",
    "{{constructor.constructor('pwned=1')()}}", "${pwned=1}", "data:text/html,<script>opener.pwned=1</script>",
]
STRANGE = ["\u202egnp.exe\u202c", "\u2066\u2067mixed\u2069", "a\u0000b", "\ud83d\ude00" * 50, "x" * 6000, "שלום <b>עולם</b>", "line\u2028sep", "\t\r\n"]
NAME = RUNS[1]
DATABASE = "hostile"


def place(*words, **query):
    text = urllib.parse.urlencode(query)
    return "#/" + "/".join(urllib.parse.quote(word, safe="") for word in words) + (f"?{text}" if text else "")


class Hostile(ConsoleTest):
    @classmethod
    def seed(cls, server):
        server.database(DATABASE)
        docs = []
        for number, text in enumerate(RUNS + STRANGE):
            docs.append({"_id": text if len(text) < 500 and "\u0000" not in text and text.strip() else f"doc-{number}", "type": text, "name": text, "title": text,
                         text[:300]: text, "nested": {text[:300]: [text, {text[:300]: None}]}, "date": text, "lat": text,
                         "friend": text[:300], "by": text, "url": text})
        docs.append(json.loads('{"_id": "proto", "in": {"__proto__": {"polluted": true}}, "constructor": {"prototype": {"polluted": true}}, "toString": 1, "name": "proto"}'))
        docs.append({"_id": "constructor", "hasOwnProperty": 1, "length": 1e308, "name": "numbers", "big": 12345678901234567890, "tiny": 1e-320})
        docs.append({"_id": "places", "place": {"lat": 1, "lon": 2, "name": NAME}, "name": NAME, "type": NAME})
        server.bulk(DATABASE, docs)
        server.put(encoded(DATABASE, "files"), {"name": "files", "_attachments": {
            NAME: stub("text/html", b"<script>document.title='hacked';opener&&(opener.pwned=1);parent.pwned=1</script>"),
            "evil.svg": stub("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>document.title="hacked";parent.pwned=1</script>'
                                              b'<circle r="4"/></svg>'),
            "page.html": stub("text/html", b"<script>document.title='hacked'</script><b id=evil>page</b>"),
            "note.txt": stub("text/plain", b"<script>window.pwned='text'</script>"),
            "sound.mp3": stub("audio/mpeg\"><script>pwned=1</script>", b"no sound"),
            "type": stub("image/png; x=\"<img src=x onerror=pwned=1>\"", b"no picture"),
            "data.json": stub("application/json", b'{"a": "<img src=x onerror=pwned=1>"}'),
        }})
        sides = [{"name": RUNS[0], RUNS[1]: 1, "by": RUNS[2]}, {"name": RUNS[1], RUNS[1]: RUNS[0], "by": RUNS[3]}]
        conflict(server, DATABASE, NAME + "-conflict", sides, {"name": RUNS[2]})
        server.put(encoded(DATABASE, "_design/" + RUNS[0]), {
            "language": "javascript", "views": {NAME: {"map": "function (doc) { emit(doc.name, doc.type) }", "reduce": "_count"}},
            "filters": {NAME: "function () { return true }"}})
        server.put(encoded(DATABASE, "_design/refuses"), {
            "validate_doc_update": "function (doc) { if (doc.refuse) throw({forbidden: '<img src=x onerror=\"window.pwned=9\">'}) }"})
        server.request("POST", encoded(DATABASE, "_index"), {"index": {"fields": [RUNS[2]]}, "ddoc": NAME, "name": NAME})
        server.request("PUT", encoded("_users", "org.couchdb.user:" + NAME), {
            "_id": "org.couchdb.user:" + NAME, "name": NAME, "type": "user", "roles": [RUNS[0], RUNS[3]], "password": "x"})
        server.put(encoded(DATABASE, "_security"), {"admins": {"names": [NAME], "roles": []}, "members": {"names": [RUNS[2]], "roles": [RUNS[0]]}})
        server.request("POST", "/_replicator", {"_id": RUNS[2], "source": "http://127.0.0.1:1/" + urllib.parse.quote(RUNS[0]), "target": f"{server.url}/{DATABASE}"})
        server.request("POST", "/_replicator", {"_id": "javascript", "source": "javascript:window.pwned=1", "target": DATABASE})

    def shows(self, hash, *texts):
        """Opens an address, and checks that nothing of the data ran or became an element."""
        b = self.browser
        b.open(hash)
        for text in texts:
            b.reads(text)
        self.nothing_came_of_it()

    def nothing_came_of_it(self):
        b = self.browser
        found = b.js("""
          const bad = [...document.querySelectorAll('#evil, script:not([src]), object, embed, base, [onerror], [onload], [onclick], [onfocus]')].map((one) => one.outerHTML.slice(0, 100));
          for (const one of document.querySelectorAll('iframe')) if (!one.hasAttribute('sandbox') || /allow-(scripts|same-origin)/.test(one.sandbox.value)) bad.push('a frame that is not sandboxed');
          for (const one of document.querySelectorAll('[href], [src], [action], [formaction], [data]')) {
            for (const name of ['href', 'src', 'action', 'formaction', 'data']) {
              const value = one.getAttribute(name);
              if (value && /^[\\s\\u0000-\\u001f]*(javascript|vbscript|data:text)/i.test(value)) bad.push(`${name}=${value.slice(0, 80)}`);
              if (value && name === 'href' && /^[a-z]+:/i.test(value) && new URL(value, location.href).origin !== location.origin && !/^blob:/.test(value)) bad.push(`another site: ${value.slice(0, 80)}`);
            }
          }
          for (const one of document.querySelectorAll('img')) if (/^x$/.test(one.getAttribute('src') ?? '')) bad.push('an image of data');
          if (({}).polluted !== undefined) bad.push('Object.prototype is polluted');
          if (/hacked/.test(document.title)) bad.push('the title is ' + document.title);
          return bad;
        """)
        self.assertEqual(found, [])
        self.assertEqual(b.js("return window.divanTest.alarms"), [])

    @needs_view("overview")
    def test_in_the_overview(self):
        self.shows("#/", DATABASE)

    @needs_view("documents")
    def test_in_the_list_of_documents_in_every_shape(self):
        for shape in ("table", "json", "ids"):
            self.shows(place("db", DATABASE, "docs", view=shape))
            self.browser.reads("<")
        self.shows(place("db", DATABASE, "docs", q=RUNS[1]))
        self.shows(place("db", DATABASE, "docs", design=1))
        self.shows(place("db", DATABASE, "docs", facet="type"))
        self.shows(place("db", DATABASE, "docs", by="find", q=json.dumps({"name": RUNS[0]})))
        self.shows(place("db", DATABASE, "docs", by="find", q=json.dumps({RUNS[0]: {"$" + RUNS[1]: 1}})))

    @needs_view("documents")
    def test_in_the_name_of_a_database_that_is_not_there(self):
        for name in RUNS:
            self.shows(place("db", name, "docs"))

    @needs_view("document")
    def test_in_a_document(self):
        for id in [RUNS[0], RUNS[1], RUNS[3], STRANGE[0], STRANGE[5], "proto", "__proto__", "constructor", "doc-11", "doc-13"]:
            self.shows(place("db", DATABASE, "doc", id))

    @needs_view("document")
    def test_in_a_document_that_is_not_there(self):
        for id in (RUNS[0] + "none", RUNS[3] + "none", "_design/" + RUNS[1]):
            self.shows(place("db", DATABASE, "doc", id))

    @needs_view("document")
    def test_in_attachments_and_their_previews(self):
        b = self.browser
        self.shows(place("db", DATABASE, "doc", "files"), "evil.svg")
        for name in ("evil.svg", "page.html", "note.txt", "data.json", "type", "sound.mp3", NAME):
            for one in b.js("""
                const name = arguments[0];
                return [...document.querySelectorAll('button, summary')].filter((one) => (one.getAttribute('aria-label') ?? one.title ?? one.textContent).includes(name)
                  && /preview|show|open|view/i.test(one.getAttribute('aria-label') ?? one.title ?? one.textContent));""", name):
                b.js("arguments[0].click()", one)
                b.settled()
                self.nothing_came_of_it()
                b.press("Escape")

    @needs_view("history")
    def test_in_a_history_and_a_comparison(self):
        self.shows(place("db", DATABASE, "doc", RUNS[0], "history"))
        revisions = [row["ok"]["_rev"] for row in self.server.get(encoded(DATABASE, NAME + "-conflict") + "?open_revs=all", headers={"Accept": "application/json"})]
        self.shows(place("db", DATABASE, "doc", NAME + "-conflict", "history", a=revisions[0], b=revisions[-1]))

    @needs_view("conflicts")
    def test_in_conflicts(self):
        self.shows(place("db", DATABASE, "conflicts"))
        self.shows(place("db", DATABASE, "conflicts", id=NAME + "-conflict"), NAME + "-conflict")

    @needs_view("ask")
    def test_in_answers_as_table_json_chart_and_map(self):
        for shape in ("table", "json", "chart", "map"):
            self.shows(place("db", DATABASE, "ask", mode="selector", q=json.dumps({"selector": {}, "limit": 100}), **{"as": shape}))
        self.shows(place("db", DATABASE, "ask", mode="view", q=json.dumps({"view": f"{RUNS[0]}/{NAME}", "docs": True})))
        self.shows(place("db", DATABASE, "ask", mode="selector", q=RUNS[0]))
        self.shows(place("db", DATABASE, "ask", mode="selector", explain="true", q=json.dumps({"selector": {RUNS[2]: RUNS[0]}})))

    @needs_view("indexes")
    def test_in_indexes(self):
        self.shows(place("db", DATABASE, "indexes"))

    @needs_view("live")
    def test_in_the_live_feed(self):
        b = self.browser
        b.expect_errors()
        self.shows(place("db", DATABASE, "live", **{"from": "last"}))
        self.server.put(encoded(DATABASE, NAME + "-live"), {"by": RUNS[0], "type": RUNS[1], RUNS[2]: RUNS[3]})
        b.reads(NAME + "-live")
        self.nothing_came_of_it()

    @needs_view("storage")
    def test_in_storage(self):
        self.shows(place("db", DATABASE, "storage"))

    @needs_view("database-access")
    def test_in_the_access_of_a_database(self):
        self.shows(place("db", DATABASE, "access"), NAME)

    @needs_view("sync", "sync-job", "sync-new")
    def test_in_replications(self):
        self.shows("#/sync")
        self.shows(place("sync", "job", RUNS[2]))
        self.shows(place("sync", "job", RUNS[0]))
        self.shows(place("sync", "new", source=RUNS[1]))

    @needs_view("access")
    def test_in_users_and_roles(self):
        for part in ("users", "roles", "rights", "tokens", "you"):
            self.shows(place("access", part=part))
        self.shows(place("access", part="rights", **{"as": NAME}))

    @needs_view("server")
    def test_in_the_server(self):
        for part in ("metrics", "tasks", "log", "configuration", "about"):
            self.shows(place("server", part=part))
        self.shows(place("server", part=RUNS[1]))

    def test_in_an_error_that_the_server_tells(self):
        b = self.browser
        b.open("#/nothing/here")
        b.module("""
          const { api, path } = await load('api/client.js');
          const { toastError } = await load('components/toast.js');
          const { errorState } = await load('components/states.js');
          const error = await api.put(path('hostile', 'refused'), { refuse: true }).catch((one) => one);
          toastError(error);
          document.getElementById('page').append(errorState(error));
        """)
        b.reads("<img src=x onerror=\"window.pwned=9\">")
        self.nothing_came_of_it()

    # What a browser makes of an address

    def test_a_document_that_is_called_dot_is_never_taken_for_its_database(self):
        """Browsers leave "." and ".." out of a path: a request for such a document would go to its database, and DELETE would delete that."""
        self.server.database("dots", [{"_id": "."}, {"_id": ".."}, {"_id": "other", "_attachments": {"..": stub("text/plain", b"x")}}])
        self.browser.open("#/nothing/here")
        asked = self.browser.module("""
          const { send, address, documentPath } = await load('api/client.js');
          const asked = [];
          for (const words of [['.'], ['..'], ['other', '..'], ['other', 'a/../..'], ['other', '.'], ['%2e'], ['other', '%2E%2e']]) {
            try { asked.push(address(documentPath('dots', ...words)).pathname); } catch { asked.push(null); }
          }
          return asked;
        """)
        self.assertNotIn("/dots/", asked)
        self.assertNotIn("/", asked)

    def test_an_attachment_that_is_a_page_does_not_run_in_the_origin_of_the_console(self):
        for name in ("page.html", "evil.svg"):
            path = encoded(DATABASE, "files", name)
            headers = self.server.request("GET", path).headers
            policy = headers.get("Content-Security-Policy") or ""
            safe = "sandbox" in policy or (headers.get("Content-Disposition") or "").startswith("attachment")
            self.assertTrue(safe, f"{name}: {dict(headers)}")
            self.browser.driver.get(self.server.origin + path)
            self.assertNotIn("hacked", self.browser.driver.title)
