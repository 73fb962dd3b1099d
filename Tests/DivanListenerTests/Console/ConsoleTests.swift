// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// The files of a console, as a listener sends them.
@Suite struct ConsoleTests {
    private static let long = String(repeating: "export const a = 1;\n", count: 100)

    private static let console = ListenerConsole { path in
        switch path {
        case "index.html": Array("<!doctype html>".utf8)
        case "js/main.js": Array(long.utf8)
        default: nil
        }
    }

    private let site: TestSite

    init() throws {
        site = try TestSite { options in
            options.access = .users(["ann": "secret"])
            options.console = Self.console
        }
    }

    @Test func `its files are sent to browsers whose user has not signed in`() {
        let page = site.send("GET", "/_utils/", "", ["Accept": "text/html"])
        #expect(page.status == 200 && page.text == "<!doctype html>")
        #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
        let script = site.send("GET", "/_utils/js/main.js?v=1", "", ["Accept": "*/*"])
        #expect(script.status == 200 && script.text == Self.long)
        #expect(script.headers["Content-Type"] == "text/javascript; charset=utf-8")
        #expect(site.send("GET", "/_utils/js/other.js").status == 404)
        #expect(site.send("GET", "/_utils/../listener.json").status == 404)
        #expect(site.send("GET", "/_utils/js%2Fmain.js").status == 200)
        #expect(site.send("PUT", "/_utils/js/main.js").status == 405)
        #expect(site.send("GET", "/_all_dbs").status == 401)
    }

    @Test func `its address without a slash leads to the one with it`() {
        let answer = site.send("GET", "/_utils")
        #expect(answer.status == 301 && answer.headers["Location"] == "/_utils/")
        #expect(site.send("GET", "/_utils/").status == 200)
    }

    @Test func `files are coded where that is shorter, and sent once`() throws {
        let coded = site.send("GET", "/_utils/js/main.js", "", ["Accept-Encoding": "br, gzip"])
        #expect(coded.headers["Content-Encoding"] == "gzip" && coded.bytes.count < 200)
        let plain = site.send("GET", "/_utils/js/main.js")
        #expect(plain.headers["Content-Encoding"] == nil)
        #expect(plain.headers["ETag"] != coded.headers["ETag"])
        let tag = try #require(plain.headers["ETag"])
        let again = site.send("GET", "/_utils/js/main.js", "", ["If-None-Match": tag])
        #expect(again.status == 304 && again.bytes.isEmpty)
        let short = site.send("GET", "/_utils/", "", ["Accept-Encoding": "gzip"])
        #expect(short.headers["Content-Encoding"] == nil)
    }

    @Test func `comments that begin a line stay behind, and no line gets another number`() {
        let source = """
            // SPDX
            import { a } from "./a.js"; // why

            /**
             * Says "// this".
             */
              /** @type {A} */ (b).c();
            const text = "/* no comment */";
              // So.
            /* one */ /* two */ d();
            /* open
            until here */ e();

            """
        let sent = """

            import { a } from "./a.js"; // why




             (b).c();
            const text = "/* no comment */";

             d();

             e();

            """
        #expect(Comments.removed(from: Array(source.utf8)) == Array(sent.utf8))
        #expect(Comments.removed(from: []) == [])
        #expect(Comments.removed(from: Array("/* open".utf8)) == [])
    }

    @Test func `a browser runs and loads nothing but its files`() throws {
        for path in ["/_utils/", "/_utils/js/main.js"] {
            let headers = site.send("GET", path).headers
            let policy = try #require(headers["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            #expect(headers["X-Content-Type-Options"] == "nosniff")
            #expect(headers["Referrer-Policy"] == "same-origin")
        }
    }

    @Test func `without a console there is nothing at its address`() throws {
        let site = try TestSite()
        #expect(site.send("GET", "/_utils/").status == 404)
        #expect(site.send("GET", "/_utils/index.html").status == 404)
        #expect(site.send("GET", "/_divan/log").status == 404)
    }

    @Test func `a session that begins at a listener with a console is for its own pages`() throws {
        func cookie(_ site: TestSite) throws -> String {
            let answer = site.send(
                "POST", "/_session", #"{"name":"ann","password":"secret"}"#,
                ["Content-Type": "application/json"])
            return try #require(answer.headers["Set-Cookie"])
        }
        #expect(try cookie(site).contains("SameSite=Strict"))
        let other = try TestSite { $0.access = .users(["ann": "secret"]) }
        #expect(try cookie(other).contains("SameSite=Lax"))
    }

    @Test func `a page of the listener is not asked for a password by the browser`() {
        let asked = site.send("GET", "/_all_dbs")
        #expect(asked.headers["WWW-Authenticate"] == "Basic realm=\"Divan\"")
        let fetched = site.send("GET", "/_all_dbs", "", ["X-CouchDB-WWW-Authenticate": "Cookie"])
        #expect(fetched.status == 401 && fetched.headers["WWW-Authenticate"] == "Cookie")
        let other = site.send("GET", "/_all_dbs", "", ["X-CouchDB-WWW-Authenticate": "a\tb"])
        #expect(other.headers["WWW-Authenticate"] == "Basic realm=\"Divan\"")
    }

    @Test func `a listener that asks for a user at every address sends the console still`() {
        let ann: HTTPHeaders = ["Authorization": "Basic YW5uOnNlY3JldA=="]
        let path = "/_node/_local/_config/chttpd/require_valid_user"
        #expect(site.send("PUT", path, #""true""#, ann).status == 200)
        #expect(site.send("GET", "/").status == 401)
        #expect(site.send("GET", "/_utils/").status == 200)
    }

    @Test func `what a Divan has beyond CouchDB is among its features`() throws {
        func features(_ site: TestSite) -> [String] {
            site.send("GET", "/").json["features"]?.array?.compactMap(\.string) ?? []
        }
        #expect(features(site).contains("divan-log"))
        #expect(!features(site).contains("read-only"))
        let other = try TestSite { $0.readOnly = true }
        #expect(features(other).contains("read-only") && features(other).contains("divan-verify"))
        #expect(!features(other).contains("divan-log"))
    }
}
