// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// What strangers can do to a listener on a socket: nothing that others notice.
@Suite struct EdgeTests {
    /// A site with a user who has a password.
    private func serve(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> ServedSite {
        try ServedSite { options in
            options.access = .users(["ann": "secret"])
            edit(&options)
        }
    }

    private static func basic(_ name: String, _ password: String) -> String {
        "Authorization: Basic " + Base64.encode(Array("\(name):\(password)".utf8))
    }

    // MARK: - Who may send how much

    private static let long = [UInt8](repeating: UInt8(ascii: " "), count: 200_000)

    @Test(arguments: [[], ["Cookie: x"], ["Cookie: AuthSession=YW5uOjk5OTk5OTk5OTk6eA"]])
    func `a stranger's long body is refused before it comes`(headers: [String]) throws {
        let served = try serve()
        let client = try served.client()
        let head = ["PUT /db/a HTTP/1.1", "Host: localhost", "Content-Length: 200000"] + headers
        client.write(head.joined(separator: "\r\n") + "\r\n\r\n")
        #expect(client.answer()?.status == 413)
    }

    @Test func `a stranger's long body without a declared length is broken off`() throws {
        let served = try serve()
        let client = try served.client()
        client.write("PUT /db/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.write("30d40\r\n")
        client.write(Self.long)
        #expect(client.isClosed())
    }

    @Test func `a wrong password gets 401 however long the body, and keeps nothing of it`() throws {
        let served = try serve()
        #expect(try served.status("PUT", "/db/a", [Self.basic("ann", "no")], Self.long) == 401)
    }

    @Test func `the first request of a user may have a long body`() throws {
        let served = try serve()
        let body = Array("{\"a\":\"\(String(repeating: "x", count: 200_000))\"}".utf8)
        #expect(try served.status("PUT", "/db/a", [Self.basic("ann", "secret")], body) == 201)
    }

    @Test func `a user whose password is hashed may have a long body at once`() throws {
        let served = try serve()
        let path = served.site.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["eve"] = AccountsFile.User(password: "p", roles: ["_admin"], iterations: 10)
        #expect(file.write(to: path))
        let body = Array("{\"a\":\"\(String(repeating: "x", count: 200_000))\"}".utf8)
        #expect(try served.status("PUT", "/db/a", [Self.basic("eve", "p")], body) == 201)
        #expect(try served.status("GET", "/db/a", [Self.basic("eve", "p")]) == 200)
        #expect(try served.status("GET", "/db/a", [Self.basic("eve", "q")]) == 401)
    }

    @Test(arguments: ["/_session", "//_session", "/%5Fsession"])
    func `guesses from elsewhere lock no one out, however the target is spelt`(target: String)
        throws
    {
        let served = try serve { $0.limits.passwordAttempts = 3 }
        func status(_ password: String, from host: UInt8) throws -> Int? {
            let client = try served.client(from: host)
            let form = "Content-Type: application/x-www-form-urlencoded"
            client.request("POST", target, [form], Array("name=ann&password=\(password)".utf8))
            return client.answer()?.status
        }
        for _ in 0..<5 { #expect(try status("guess", from: 2) != 200) }
        #expect(try status("secret", from: 2) != 200)
        #expect(try status("secret", from: 1) == 200)
    }

    // MARK: - Connections

    @Test func `a new client is served although silent ones have all connections`() throws {
        let served = try serve { $0.limits.connections = 8 }
        let silent = try (0..<8).map { _ in try served.client() }
        for _ in 0..<4 { #expect(try served.status("GET", "/_up", []) == 200) }
        withExtendedLifetime(silent) {}
    }

    @Test
    func `a new client is served although strangers who take no answers have all connections`()
        throws
    {
        let answered = Counter()
        let served = try serve { options in
            options.limits.connections = 8
            options.responseHeaders = ["X-Padding": String(repeating: "x", count: 2_000)]
            options.authorization.request = { _, _, _ in
                answered.add()
                return true
            }
        }
        let request = "GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let greedy = try (0..<8).map { number in
            let client = try served.client(from: UInt8(2 + number), room: 4_096)
            client.write(String(repeating: request, count: 4_000))
            return client
        }
        var before = -1
        eventually {
            defer { before = answered.value }
            // Longer than an answer takes.
            usleep(200_000)
            return before > 0 && before == answered.value
        }
        #expect(before < 32_000)
        for _ in 0..<4 { #expect(try served.status("GET", "/_up", []) == 200) }
        withExtendedLifetime(greedy) {}
    }

    @Test func `one address has no more than its share of the connections`() throws {
        let served = try serve { $0.limits.connectionsPerAddress = 4 }
        let silent = try (0..<20).map { _ in try served.client() }
        eventually { served.listener.connectionCount <= 4 }
        #expect(try served.status("GET", "/_up", []) == 200)
        // The first ones gave way.
        #expect(silent[0].isClosed())
        let trusted = try serve { options in
            options.limits.connectionsPerAddress = 4
            options.limits.trustedProxies = ["127.0.0.1"]
        }
        let all = try (0..<20).map { _ in try trusted.client() }
        for client in all {
            client.request("GET", "/_up")
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `a connection on which no request comes is closed sooner than one between requests`()
        throws
    {
        let served = try serve { $0.limits.firstRequest = .zero }
        let silent = try served.client()
        let busy = try served.client()
        busy.request("GET", "/_up")
        #expect(busy.answer()?.status == 200)
        #expect(silent.isClosed())
        busy.request("GET", "/_up")
        #expect(busy.answer()?.status == 200)
    }

    @Test func `an attachment cannot act in the listener's name`() throws {
        let site = try TestSite()
        site.send("PUT", "/db")
        for (name, type, isSaved) in [
            ("a", "text/html; charset=utf-8", true), ("b", "image/svg+xml", true),
            ("c", "application/xhtml+xml", true), ("d", "image/png", false),
            ("e", "text/html x", true), ("f", "text/plain, TEXT/HTML", true),
            ("g", "text/html(x)", true), ("h", "text/htmlx; a=text/html", false),
        ] {
            let rev = site.send("GET", "/db/d").json["_rev"]?.string.map { "?rev=\($0)" } ?? ""
            #expect(
                site.send("PUT", "/db/d/\(name)" + rev, "x", ["Content-Type": type]).status == 201)
            let answer = site.send("GET", "/db/d/\(name)")
            #expect(answer.headers["Content-Security-Policy"] == "sandbox")
            #expect((answer.headers["Content-Disposition"] == "attachment") == isSaved, "\(type)")
        }
    }

    @Test(arguments: ["\u{0}", "\u{0}x", "\n", "\u{1}", "\u{b}", "\u{c}", "\u{7f}", "\u{0};x"])
    func `a control character behind its type lets no attachment act in the listener's name`(
        end: String
    ) throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        for (id, type) in [("a", "text/html"), ("b", "application/mathml+xml")] {
            let entry: JSONValue = ["content_type": .string(type + end), "data": "eA=="]
            _ = try database.put(DocumentID(id), ["_attachments": ["x": entry]], parent: nil)
            let answer = site.send("GET", "/db/\(id)/x")
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Disposition"] == "attachment", "\(answer.headers)")
        }
    }
}
