// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import Testing

@Suite struct HTTPHeadersTests {
    @Test func `names are compared without case and setting replaces every field of a name`() {
        var headers: HTTPHeaders = ["Accept": "a", "X": "1", "accept": "b"]
        #expect(headers["ACCEPT"] == "a")
        #expect(headers.values(of: "Accept") == ["a", "b"])
        headers["ACCEPT"] = "c"
        #expect(headers == ["accept": "c", "x": "1"])
        headers["X"] = nil
        #expect(headers == ["Accept": "c"])
        headers.merge(["accept": "d", "Y": "2", "y": "3"])
        #expect(headers == ["accept": "d", "Y": "2", "Y": "3"])
    }

    @Test func `a value cannot begin another field`() {
        let headers: HTTPHeaders = ["X": " a\r\nEvil: yes\0 "]
        #expect(headers["X"] == "a  Evil: yes")
        #expect(headers.count == 1)
    }

    @Test
    func `a line that is no UTF-8 is left out whole, and nothing takes the place of its bytes`() {
        var headers = HTTPHeaders()
        let lines: [[UInt8]] = [
            Array("A: \u{FFFD}".utf8), Array("B: a".utf8) + [0xFF],
            Array("C".utf8) + [0xC3] + Array(": a".utf8), Array("D: a".utf8),
            Array(" b".utf8) + [0xFF],
        ]
        #expect(lines.map { headers.add(line: $0) } == [true, false, false, true, false])
        #expect(headers == ["A": "\u{FFFD}"])
    }

    @Test func `a description never shows credentials`() {
        let headers: HTTPHeaders = [
            "Authorization": "Basic c2VjcmV0", "cookie": "AuthSession=secret", "Accept": "x",
        ]
        #expect("\(headers)" == "Authorization: (hidden)\ncookie: (hidden)\nAccept: x")
    }

    @Test func `parameters are read in quotes, without, and in the extended form`() {
        let value = HeaderParameters(
            "Attachment ; filename=\"a;\\\"b\" ; x = 1; filename*=UTF-8''%C3%A9")
        #expect(value.value == "attachment")
        #expect(value["filename"] == "\u{E9}")
        #expect(value["x"] == "1")
        #expect(HeaderParameters("a; f=\(HeaderParameters.quoted("x\"\\y"))")["f"] == "x\"\\y")
        // An accent after the quote is one character with it.
        #expect(HeaderParameters("a; f=\(HeaderParameters.quoted("\u{301}"))")["f"] == "\u{301}")
        #expect(HeaderParameters.disposition(ofAttachment: "a\nb") == "attachment")
        #expect(HeaderParameters.disposition(ofAttachment: "a b") == "attachment; filename=\"a b\"")
    }
}

@Suite struct HTTPURLTests {
    @Test func `a path stays as it was written and a password is never shown`() throws {
        let url = try HTTPURL(
            "HTTP://ann%40home:s%3Acret@Example.COM:5984/db/a%2Fb/../%41?x=%31#part")
        #expect(url.path == "/db/a%2Fb/../%41" && url.query == "x=%31")
        #expect(url.user == HTTPURL.User(name: "ann@home", password: "s:cret"))
        #expect("\(url)" == "http://example.com:5984/db/a%2Fb/../%41?x=%31")
        #expect(!"\(url) \(String(describing: url.user))".contains("cret"))
    }

    @Test func `ports are those of the scheme unless given, and hosts may be addresses`() throws {
        #expect(try HTTPURL("http://a").port == 80)
        #expect(try HTTPURL("https://a/").port == 443)
        #expect(try HTTPURL("https://a:443").description == "https://a/")
        let local = try HTTPURL("http://[::1]:8080/x")
        #expect(local.host == "[::1]" && local.port == 8_080)
    }

    @Test func `a URL is cut at its separators, also where a mark follows one`() throws {
        let url = try HTTPURL("http://ann:\u{301}s@a.example:8080/\u{301}x?\u{301}q#\u{301}f")
        #expect(url.user == HTTPURL.User(name: "ann", password: "\u{301}s"))
        #expect(url.origin == "http://a.example:8080")
        #expect(url.target == "/%CC%81x?%CC%81q")
        #expect(try HTTPURL("http://a@\u{301}b/").user?.name == "a")
    }

    @Test func `what is no URL is refused without being quoted`() {
        for text in [
            "", "example.com", "ftp://a", "http://", "http://:80", "http://a:x", "http://a:0",
            "http://a:65536", "http://a/b c", "http://a/\r\nX: 1", "http://%zz@a/",
        ] {
            #expect(throws: HTTPURL.Failure.self, "\(text)") { try HTTPURL(text) }
        }
    }

    @Test func `components and queries are appended, locations resolved`() throws {
        let database = try HTTPURL("http://a/base/db?old=1")
        #expect(
            database.appending("_changes", query: [("since", "7-g=&")]).target
                == "/base/db/_changes?since=7-g%3D%26")
        #expect(try HTTPURL("http://a").appending("db").target == "/db")
        for (reference, target) in [
            ("/x?y", "http://a/x?y"), ("?y", "http://a/base/db?y"), ("x", "http://a/base/x"),
            ("https://b/c", "https://b/c"), ("//b/c", "http://b/c"),
        ] {
            #expect(try database.resolving(reference).description == target)
        }
        #expect(throws: HTTPURL.Failure.self) { try database.resolving("file:///etc/passwd") }
    }

    @Test func `paths of documents keep the slashes that CouchDB reads`() {
        #expect(DocumentPath.document("a/b c") == "a%2Fb%20c")
        #expect(DocumentPath.document("_design/a/b") == "_design/a%2Fb")
        #expect(DocumentPath.document("_local/x=") == "_local/x%3D")
        // The accent and the slash before it are one character, and two in the path.
        #expect(DocumentPath.document("_design/\u{301}x") == "_design/%CC%81x")
        #expect(DocumentPath.attachment("p/q 1", of: "a") == "a/p%2Fq%201")
        #expect(PercentEncoding.decode("a%2Fb+c%C3%A9", plusIsSpace: true) == "a/b c\u{E9}")
        #expect(PercentEncoding.decode("%C3") == nil && PercentEncoding.decode("%4") == nil)
    }

    @Test func `a cookie for a part of an address is not taken`() throws {
        for (host, domain, isTaken) in [
            ("192.168.1.7", "1.7", false), ("192.168.1.7", ".168.1.7", false),
            ("192.168.1.7", "192.168.1.7", true), ("db.example.com", "example.com", true),
        ] {
            let jar = HTTPCookieJar()
            jar.take(
                from: ["Set-Cookie": "a=1; Domain=\(domain)"], of: try HTTPURL("http://\(host)/"))
            #expect(jar.all.count == (isTaken ? 1 : 0), "\(host) \(domain)")
        }
    }

    @Test func `a jar's cookies are kept for the next run, as long as they hold`() throws {
        let url = try HTTPURL("https://example.com/db")
        let jar = HTTPCookieJar()
        jar.set("app", "1", for: url)
        jar.take(
            from: ["Set-Cookie": "short=2; Max-Age=100; Path=/; Domain=example.com"], of: url)
        let text = jar.archive(at: 1_000)
        let soon = HTTPCookieJar(archive: text, at: 1_050)
        #expect(soon.header(for: url) == "app=1; short=2")
        #expect(soon.header(for: try HTTPURL("http://example.com/")) == "short=2")
        #expect(soon.header(for: try HTTPURL("https://a.example.com/")) == "short=2")
        let late = HTTPCookieJar(archive: text, at: 1_101)
        #expect(late.header(for: url) == "app=1")
        // Eight hours back is no time at all.
        let back = HTTPCookieJar(archive: text, at: 1_000 - 28_800)
        #expect(back.header(for: url) == "app=1; short=2")
        #expect(HTTPCookieJar(archive: "nonsense").all.isEmpty)
        #expect(HTTPCookieJar(archive: jar.archive).all.map(\.name) == ["app", "short"])
    }

    @Test(arguments: [
        "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300", "-0.0",
    ])
    func `a jar is made of an archive whatever its times are`(number: String) throws {
        let text =
            #"{"saved":\#(number),"cookies":[{"name":"a","value":"1","domain":"example.com","#
            + #""left":9223372036854775807},{"name":"b","value":"1","domain":"example.com","left":\#(number)}]}"#
        for now in [0, 1_000, Int64.max, Int64.min] {
            let jar = HTTPCookieJar(archive: text, at: now)
            #expect(jar.archive(at: now).contains("cookies"))
        }
        let url = try HTTPURL("https://example.com/db")
        let jar = HTTPCookieJar()
        jar.take(from: ["Set-Cookie": "short=2; Max-Age=\(number)"], of: url)
        #expect(HTTPCookieJar(archive: jar.archive).all.count <= 1)
    }
}
