// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ChangesTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `each document comes once at its last change`() throws {
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        try database.update("a") { $0["n"] = 1 }
        try database.update("a") { $0["n"] = 2 }
        let batch = try database.changes()
        #expect(batch.changes.map(\.id) == ["b", "c", "a"])
        #expect(batch.changes.map(\.sequence) == [2, 3, 5])
        #expect(batch.lastSequence == 5)
    }

    @Test func `a change names the current revision`() throws {
        try database.create("a")
        let saved = try database.update("a") { $0["n"] = 1 }
        let change = Change(
            sequence: 2, id: "a", revisions: [saved.revisionID], isDeleted: false)
        #expect(try database.changes().changes == [change])
    }

    @Test func `reading goes on where the last batch ended`() throws {
        for number in 0..<25 { try database.create("\(number)") }
        for number in stride(from: 0, to: 25, by: 3) { try database.delete("\(number)") }
        var since: SequenceNumber = 0
        var seen: [Change] = []
        var sizes: [Int] = []
        while true {
            let batch = try database.changes(since: since, limit: 10)
            if batch.changes.isEmpty { break }
            sizes.append(batch.changes.count)
            seen += batch.changes
            since = batch.lastSequence
        }
        #expect(sizes == [10, 10, 5])
        #expect(try seen == database.changes().changes)
        #expect(try since == database.lastSequence)
    }

    @Test func `since beyond the end and limit zero give nothing`() throws {
        try database.create("a")
        for since: SequenceNumber in [1, 2, 1 << 62, .max] {
            let batch = try database.changes(since: since)
            #expect(batch.changes.isEmpty)
            #expect(batch.lastSequence == since)
        }
        let none = try database.changes(since: 0, limit: 0)
        #expect(none.changes.isEmpty)
        #expect(none.lastSequence == 0)
    }

    @Test func `the last sequence passes what was purged`() throws {
        try database.create("a")
        try database.create("b")
        try database.purge("b")
        let batch = try database.changes()
        #expect(batch.changes.map(\.id) == ["a"])
        #expect(batch.lastSequence == 2)
    }

    @Test func `local documents are not in the feed`() throws {
        try database.putLocalDocument("l", [:])
        #expect(try database.changes().changes.isEmpty)
    }

    @Test func `a feed read in pieces while documents change misses nothing`() throws {
        for number in 0..<30 { try database.create("\(number)") }
        var random = Soak.random(round: 0, salt: 31)
        var since: SequenceNumber = 0
        var latest: [DocumentID: [RevisionID]] = [:]
        for _ in 0..<200 {
            let batch = try database.changes(since: since, limit: 1 + random.below(7))
            for change in batch.changes { latest[change.id] = change.revisions }
            since = batch.lastSequence
            for _ in 0..<random.below(4) {
                try database.update("\(random.below(30))") { $0["n"] = Fragment(random.below(99)) }
            }
        }
        for change in try database.changes(since: since).changes {
            latest[change.id] = change.revisions
        }
        for row in try database.allDocuments() { #expect(latest[row.id] == [row.revisionID]) }
    }
}
