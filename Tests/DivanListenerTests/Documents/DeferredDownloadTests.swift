// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Documents first, content later, from a listener over real sockets.
@Suite(.timeLimit(.minutes(10))) struct DeferredDownloadTests {
    private static let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
    private static let plain = [UInt8](repeating: 0x61, count: 200_000)

    private let site: TestSite
    private let there: Database
    private let here: Database
    private let listener: Listener

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        here = try Database.inMemory(named: "here")
        listener = try site.listen()
    }

    private var url: URL { get throws { try #require(listener.url(of: there)) } }

    private func fill() throws {
        let coded = try #require(GzipCoding.encode(Self.plain))
        try there.put(
            "a", ["n": 1], parent: nil,
            attachments: [
                "large": .bytes(Self.large), "small": .bytes([1, 2, 3]), "empty": .bytes([]),
                "coded/\u{e9}": .bytes(coded).gzipped(decodedLength: Self.plain.count),
            ])
        try there.put("b", ["n": 2], parent: nil)
    }

    private func pulled() async throws -> Replication {
        let pull = here.makePullReplication(from: try url) { $0.downloadsAttachments = false }
        await run(pull)
        return pull
    }

    private func run(_ replication: Replication) async {
        replication.start()
        await replication.waitUntilEnded()
        #expect(replication.lastError == nil)
    }

    private func attachment(_ name: String, of id: DocumentID = "a") async throws
        -> DocumentAttachment
    {
        try #require(try here.document(withID: id)?.attachment(named: name))
    }

    @Test
    func
        `made-up lengths of contents that are not here do not add up past the largest number`()
        async throws
    {
        defer { listener.stop() }
        var reception = Reception(source: "far")
        reception.isDeferring = true
        let stub =
            #"{"digest":"sha1-witfkXg0JglCjW9RssWvTAveakI=","length":LENGTH,"revpos":1,"stub":true}"#
            .replacingOccurrences(of: "LENGTH", with: "\(Int.max)")
        let text = #"{"_id":"a","_rev":"1-a","_attachments":{"x":STUB,"y":STUB}}"#
            .replacingOccurrences(of: "STUB", with: stub)
        let document = try WireDocument(parsing: Array(text.utf8).span)
        let outcome = try await LocalPeer(there, reception: reception).put([document])
        guard case .stored? = outcome.first else { throw Unstored(outcome: outcome) }
        let list = "/notes/_all_docs?include_docs=true&attachments=true"
        #expect(site.send("GET", list).status >= 200)
        #expect(site.send("GET", "/notes/a?attachments=true").status == 412)
    }

    private struct Unstored: Error { var outcome: [PutOutcome] }

    @Test func `documents come without content, and each content when it is asked for`()
        async throws
    {
        defer { listener.stop() }
        try fill()
        let pull = try await pulled()
        #expect(try here.documentCount == 2)
        let document = try #require(try here.document(withID: "a"))
        #expect(document.attachmentNames == ["coded/\u{e9}", "empty", "large", "small"])
        for attachment in document.attachments {
            #expect(!attachment.isContentAvailable)
            #expect(throws: DatabaseError.self) { try attachment.content() }
        }
        #expect(try here.verify().isEmpty)
        let large = try await attachment("large")
        #expect(large.length == Self.large.count)
        let seen = Mutex<[Int]>([])
        try await pull.downloadAttachment(large) { progress in
            seen.withLock { $0.append(progress.completed) }
        }
        #expect(try large.content() == Self.large)
        #expect(seen.withLock { $0.last } == Self.large.count)
        #expect(seen.withLock { $0.count } > 5)
        // The others still wait.
        #expect(try await !attachment("small").isContentAvailable)
        for name in ["small", "empty", "coded/\u{e9}"] {
            try await pull.downloadAttachment(try await attachment(name))
        }
        #expect(try await attachment("small").content() == [1, 2, 3])
        #expect(try await attachment("empty").content() == [])
        #expect(try await attachment("coded/\u{e9}").content() == Self.plain)
        try here.compact()
        #expect(try here.verify().isEmpty)
        #expect(try large.content() == Self.large)
        // The same revision, so nothing is left to do either way.
        await run(here.makePushReplication(to: try url))
        #expect(
            try here.document(withID: "a")?.revisionID
                == there.document(withID: "a")?.revisionID)
    }

    @Test func `a content that comes is news to who watches its document`() async throws {
        defer { listener.stop() }
        try fill()
        let pull = try await pulled()
        let before = try here.lastSequence
        let live = try #require(try here.existingLiveDocument(withID: "a"))
        #expect(live["n"].int == 1)
        let told = Mutex(0)
        let token = try here.addDocumentChangeListener(for: "a") { _ in told.withLock { $0 += 1 } }
        try await pull.downloadAttachment(try await attachment("small"))
        await eventually { told.withLock { $0 } > 0 }
        token.remove()
        let changes = try here.changes(since: before).changes
        #expect(changes.map(\.id) == ["a"])
        #expect(try here.document(withID: "a")?["n"].int == 1)
    }

    @Test func `a peer between two tells that it lacks a content, and hands it on when it comes`()
        async throws
    {
        defer { listener.stop() }
        try fill()
        let middle = try site.manager.database(named: "middle")
        let first = middle.makePullReplication(from: try url) { $0.downloadsAttachments = false }
        await run(first)
        let last = here.makePullReplication(from: try #require(listener.url(of: middle))) {
            $0.isContinuous = true
        }
        let errors = Mutex<[ReplicationError]>([])
        let token = last.addDocumentListener { event in
            if let error = event.error { errors.withLock { $0.append(error) } }
        }
        last.start()
        try await eventually { try here.contains("b") && last.activity == .idle }
        await eventually { errors.withLock { !$0.isEmpty } }
        #expect(try !here.contains("a"))
        #expect(errors.withLock { $0.first?.status } == 412)
        #expect(errors.withLock { $0.first?.documentID } == "a")
        let names = ["coded/\u{e9}", "empty", "large", "small"]
        for name in names {
            let attachment = try #require(
                try middle.document(withID: "a")?.attachment(named: name))
            try await first.downloadAttachment(attachment)
        }
        try await eventually { try here.contains("a") }
        for name in names { #expect(try await attachment(name).isContentAvailable) }
        await last.stopAndWait()
        withExtendedLifetime(token) {}
    }

    @Test func `a listener sends no half of a revision`() async throws {
        defer { listener.stop() }
        try fill()
        let middle = try site.manager.database(named: "middle")
        let pull = middle.makePullReplication(from: there) { $0.downloadsAttachments = false }
        await run(pull)
        let revision = try #require(try middle.document(withID: "a")).revisionID
        #expect(site.send("GET", "/middle/a").status == 200)
        let whole = site.send("GET", "/middle/a?attachments=true")
        #expect(whole.status == 412)
        #expect(whole.json["error"]?.string == "missing_content")
        #expect(
            site.send("GET", "/middle/a?attachments=true", "", ["Accept": "multipart/related"])
                .status == 412)
        let open = site.send(
            "GET", "/middle/a?open_revs=all&attachments=true", "", ["Accept": "application/json"])
        #expect(open.json[0]?["missing"]?.string == revision.description)
        let mixed = site.send("GET", "/middle/a?open_revs=all", "", ["Accept": "multipart/mixed"])
        #expect(mixed.status == 200)
        #expect(mixed.text.contains(#"{"missing":"\#(revision)"}"#))
        let asked = #"{"docs":[{"id":"a"},{"id":"b"}]}"#
        let bulk = site.send("POST", "/middle/_bulk_get?attachments=true", asked)
        let results = bulk.json["results"]
        #expect(results?[0]?["docs"]?[0]?["error"]?["error"]?.string == "missing_content")
        #expect(results?[1]?["docs"]?[0]?["ok"]?["n"]?.int64 == 2)
        #expect(
            site.send("POST", "/middle/_bulk_get", asked).json["results"]?[0]?["docs"]?[0]?["ok"]
                != nil)
        #expect(site.send("GET", "/middle/a/small").status == 404)
        // In a list, a stub says what is there.
        let rows = site.send("GET", "/middle/_all_docs?include_docs=true&attachments=true")
        #expect(
            rows.json["rows"]?[0]?["doc"]?["_attachments"]?["small"]?["stub"]?.bool == true)
    }

    // MARK: - Letting go

    @Test func `content goes when the other end shows that it has it, and comes back`()
        async throws
    {
        defer { listener.stop() }
        try here.put("a", ["n": 1], parent: nil, attachments: ["large": .bytes(Self.large)])
        let push = here.makePushReplication(to: try url)
        let large = try await attachment("large")
        // No other peer has it yet.
        await #expect(throws: ReplicationError.self) {
            try await push.removeLocalContent(of: large)
        }
        #expect(large.isContentAvailable)
        await run(push)
        #expect(try await push.removeLocalContent(of: large) == Self.large.count)
        #expect(!large.isContentAvailable)
        #expect(try here.verify().isEmpty)
        #expect(try await push.removeLocalContent(of: large) == 0)
        // An edit goes over without it.
        try here.update("a") { $0["n"] = 2 }
        await run(push)
        #expect(try there.document(withID: "a")?["n"].int == 2)
        try await push.downloadAttachment(large)
        #expect(try large.content() == Self.large)
        #expect(try here.verify().isEmpty)
    }

    @Test func `content stays that the other end only knows of`() async throws {
        defer { listener.stop() }
        try fill()
        let middle = try site.manager.database(named: "middle")
        let first = middle.makePullReplication(from: try url) { $0.downloadsAttachments = false }
        await run(first)
        await run(here.makePullReplication(from: try url))
        let small = try await attachment("small")
        let remote = try #require(listener.url(of: middle))
        let error = await #expect(throws: ReplicationError.self) {
            try await here.makePushReplication(to: remote).removeLocalContent(of: small)
        }
        #expect(error?.code == .rejected)
        await #expect(throws: ReplicationError.self) {
            try await here.makePushReplication(to: middle).removeLocalContent(of: small)
        }
        #expect(small.isContentAvailable)
        let coded = try await attachment("coded/\u{e9}")
        #expect(try await here.makePushReplication(to: try url).removeLocalContent(of: coded) > 0)
        #expect(!coded.isContentAvailable)
    }

    @Test func `content stays that another document or a blob has, too`() async throws {
        defer { listener.stop() }
        try fill()
        await run(here.makePullReplication(from: try url))
        let small = try await attachment("small")
        let push = here.makePushReplication(to: try url)
        try here.put("c", [:], parent: nil, attachments: ["s": .bytes([1, 2, 3])])
        await #expect(throws: ReplicationError.self) {
            try await push.removeLocalContent(of: small)
        }
        #expect(small.isContentAvailable)
        try here.purge("c")
        let blob = MutableDocument(id: "d")
        blob["b"] = Fragment(Blob(contentType: nil, [1, 2, 3]))
        try here.save(blob)
        await #expect(throws: ReplicationError.self) {
            try await push.removeLocalContent(of: small)
        }
        try here.purge("d")
        #expect(try await push.removeLocalContent(of: small) == 3)
        #expect(try here.verify().isEmpty)
    }
}
