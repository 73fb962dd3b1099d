// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

/// Attachments whose `revpos` says what is not so: a server keeps whatever it was once told, or 0.
@Suite(.timeLimit(.minutes(10))) struct RevisionPositionTests {
    let here: Database
    let server = RawStandIn()

    init() throws { here = try Database.inMemory(named: "here") }

    /// A content, in base64 and by its MD5.
    private struct Content {
        var bytes: [UInt8]
        var base64: String
        var digest: String
    }

    // All of one length, so that only the digest tells them apart.
    private static let hello = Content(
        bytes: Array("hello".utf8), base64: "aGVsbG8=", digest: "md5-XUFAKrxLKna5cZ2REBfFkg==")
    private static let world = Content(
        bytes: Array("world".utf8), base64: "d29ybGQ=", digest: "md5-fXkwN6B2AYZXSwKC8vQ15w==")

    /// Puts a revision there, with one attachment whose entry says `revpos`; nil for nothing.
    private func put(_ history: [String], _ content: Content, _ revpos: String?, n: Int = 1) {
        let start = history.count
        let ids = history.map { "\"\($0)\"" }.joined(separator: ",")
        let position = revpos.map { #","revpos":\#($0)"# } ?? ""
        let entry = #""content_type":"x/y","digest":"\#(content.digest)"\#(position)"#
        @Sendable func text(_ content: String) -> String {
            #"{"_id":"a","_rev":"\#(start)-\#(history[0])","n":\#(n),"#
                + #""_revisions":{"start":\#(start),"ids":[\#(ids)]},"#
                + #""_attachments":{"file":{\#(entry),\#(content)}}}"#
        }
        let stub = text(#""stub":true,"length":5"#)
        var item = RawStandIn.Item("a", "\(start)-\(history[0])", stub)
        // As CouchDB compares them: everything but a number stands above all numbers.
        let isOld = revpos.map { (Double($0) ?? .infinity) < Double(start) } ?? true
        item.alone = { namesKnown in
            (200, namesKnown && isOld ? stub : text(#""data":"\#(content.base64)""#))
        }
        server.add(item)
    }

    private func attachment(_ database: Database) throws -> DocumentAttachment {
        try #require(try database.document(withID: "a")?.attachment(named: "file"))
    }

    private static let positions: [String?] = [
        "0", "-1", "-9223372036854775808", "9223372036854775808", "1e400", "0.5", "\"x\"", "null",
        "99", "1", nil,
    ]

    @Test(arguments: positions)
    func `content comes whatever its revpos says, and other content later`(
        revpos: String?
    ) async throws {
        put(["x"], Self.hello, revpos)
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try attachment(here).content() == Self.hello.bytes)
        // The same content, and then another one of the same length.
        put(["y", "x"], Self.hello, revpos, n: 2)
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try here.document(withID: "a")?["n"].int == 2)
        #expect(try attachment(here).content() == Self.hello.bytes)
        put(["z", "y", "x"], Self.world, revpos, n: 3)
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try attachment(here).content() == Self.world.bytes)
        #expect(try here.verify().isEmpty)
    }

    @Test(arguments: ["0", "-1", "\"x\"", nil]) func `content that is here is not fetched again`(
        revpos: String?
    ) async throws {
        put(["x"], Self.hello, revpos)
        try await server.pull(into: here)
        #expect(server.count("GET a") == 1)
        for n in 2...4 {
            put((0..<n).map { "r\(n - $0)" } + ["x"], Self.hello, revpos, n: n)
            try await server.pull(into: here)
            #expect(try here.document(withID: "a")?["n"].int == n)
        }
        #expect(server.count("GET a") == 1)
        #expect(try attachment(here).content() == Self.hello.bytes)
    }

    @Test(arguments: ["0", "-1", "1"]) func `what is sent on has a revpos that is true`(
        revpos: String
    ) async throws {
        let third = try Database.inMemory(named: "third")
        put(["x"], Self.hello, revpos)
        try await server.pull(into: here)
        #expect(try attachment(here).revisionPosition == 1)
        try await here.makePushReplication(to: third).run()
        put(["y", "x"], Self.world, revpos)
        try await server.pull(into: here)
        #expect(try attachment(here).revisionPosition == 2)
        try await here.makePushReplication(to: third).run()
        #expect(try attachment(third).content() == Self.world.bytes)
    }

    @Test(arguments: ["0", "-1", nil])
    func `content that is to come later is told from what is here`(
        revpos: String?
    ) async throws {
        put(["x"], Self.hello, revpos)
        try await server.pull(into: here, deferring: true)
        #expect(try !attachment(here).isContentAvailable)
        let other = try Database.inMemory(named: "other")
        try await server.pull(into: other)
        put(["y", "x"], Self.world, revpos)
        for database in [here, other] {
            try await server.pull(into: database, deferring: true)
            #expect(try attachment(database).digest == Self.world.digest)
            #expect(try !attachment(database).isContentAvailable)
        }
    }

    @Test func `a document without the content of its attachment is left out until it has it`()
        async throws
    {
        put(["x"], Self.hello, "0")
        let stub = try #require(server.item("a")?.text)
        server.change("a") { $0.alone = { _ in (200, stub) } }
        server.add(RawStandIn.Item("b", "1-b", #"{"_id":"b","_rev":"1-b"}"#))
        let errors = try await server.pull(into: here).compactMap(\.error)
        #expect(errors.map(\.documentID) == ["a"])
        #expect(errors.first?.isTransient == false)
        #expect(try here.document(withID: "b") != nil)
        // The checkpoint is past it, and the next revision brings all.
        #expect(try await server.pull(into: here).isEmpty)
        put(["y", "x"], Self.hello, "0")
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try attachment(here).content() == Self.hello.bytes)
    }
}
