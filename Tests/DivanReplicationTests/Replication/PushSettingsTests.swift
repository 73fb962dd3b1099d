// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// What a push asks, how much at a time, and what becomes of documents that are over.
@Suite(.timeLimit(.minutes(10))) struct PushSettingsTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    private func fill(_ count: Int, in database: Database) throws {
        try database.inBatch {
            for n in 0..<count {
                try database.put("d\(n)", ["n": .integer(Int64(n))], parent: nil)
            }
        }
    }

    @Test(arguments: [false, true])
    func `what was pushed is purged, once it is safe there`(byOldName: Bool) async throws {
        try fill(30, in: here)
        try here.put("with", [:], parent: nil, attachments: ["a": .bytes([1, 2])])
        try here.delete("d3")
        // A document that the other end has already is over, too.
        try await here.makePushReplication(to: there).run()
        try here.put("new", [:], parent: nil)
        let server = try stand.serve()
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL) {
            if byOldName {
                $0.customProperties = ["purgePushed": true]
            } else {
                $0.purgesPushed = true
            }
        }
        try await push.run()
        #expect(try here.documentCount == 0)
        #expect(try here.changes().changes.isEmpty)
        #expect(try there.documentCount == 31)
        #expect(try there.document(withID: "with")?.attachments.count == 1)
        #expect(stand.count("POST _ensure_full_commit") >= 1)
        #expect(try here.verify().isEmpty)
        // What comes later goes the same way, also by the object that ran before.
        try here.put("later", [:], parent: nil)
        try await push.run()
        #expect(try here.documentCount == 0)
        #expect(try there.contains("later"))
    }

    @Test func `what is refused there, edited meanwhile or filtered out stays`() async throws {
        try fill(3, in: here)
        there.setValidation(named: "no") { revision, context in
            if revision["n"].int == 1 { throw context.rejection("not this one") }
        }
        here.setFilter(named: "not2") { document, _ in document.id != "d2" }
        let edits = Mutex(0)
        let here = here
        let server = try stand.serve { request, _ in
            // An edit between the storing there and the purge here.
            if request.target.hasPrefix("/db/_ensure_full_commit"),
                edits.withLock({ count in
                    count += 1
                    return count == 1
                })
            {
                _ = try? here.put("d0", ["n": 100], parent: here.document(withID: "d0")?.revisionID)
            }
            return false
        }
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL) {
            $0.purgesPushed = true
            $0.filter = "not2"
        }
        push.start()
        await push.waitUntilEnded()
        #expect(try here.document(withID: "d0")?["n"].int == 100)
        #expect(try here.contains("d1"))
        #expect(try here.contains("d2"))
        // The edit goes with the next run.
        push.start()
        await push.waitUntilEnded()
        #expect(try !here.contains("d0"))
        #expect(try there.document(withID: "d0")?["n"].int == 100)
        #expect(try here.contains("d1"))
    }

    @Test func `a push that takes all for new asks nothing, and what is there does no harm`()
        async throws
    {
        try fill(120, in: here)
        try here.put("with", [:], parent: nil, attachments: ["a": .bytes([1, 2])])
        try await here.makePushReplication(to: there).run()
        try here.put("new", [:], parent: nil)
        let server = try stand.serve()
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL) {
            $0.customProperties = ["allNew": true]
        }
        try await push.run()
        #expect(stand.count("POST _revs_diff") == 0)
        #expect(try there.documentCount == 122)
        #expect(try there.verify().isEmpty)
        #expect(try !there.hasConflicts())
    }

    @Test func `attachments are left for later by their old name, too`() async throws {
        try there.put("a", [:], parent: nil, attachments: ["a": .bytes([1, 2])])
        let pull = here.makePullReplication(from: there) {
            $0.customProperties = ["attachments": false]
        }
        try await pull.run()
        let attachment = try #require(try here.document(withID: "a")?.attachments.first)
        #expect(!attachment.isContentAvailable)
        try await pull.downloadAttachment(attachment)
        #expect(try attachment.content() == [1, 2])
    }

    @Test func `pages and fetches are as large as they are set`() async throws {
        try fill(25, in: there)
        let server = try stand.serve()
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL) {
            $0.changesPerPage = 10
            $0.revisionsPerFetch = 4
        }
        try await pull.run()
        #expect(try here.documentCount == 25)
        let requests = stand.requests.withLock { $0 }
        let pages = requests.filter { $0.hasPrefix("GET _changes") }
        #expect(pages.count >= 3)
        #expect(pages.allSatisfy { $0.contains("limit=10") })
        #expect(stand.count("POST _bulk_get") >= 7)
        for (page, fetch) in [(0, 100), (10_001, 100), (1_000, 0), (1_000, 1_001)] {
            let wrong = here.pull(from: server.databaseURL) {
                $0.changesPerPage = page
                $0.revisionsPerFetch = fetch
            }
            await wrong.waitUntilEnded()
            #expect(wrong.lastError?.code == .invalidSetting)
        }
    }
}
