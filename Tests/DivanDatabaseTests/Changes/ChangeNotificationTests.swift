// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanStorage
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanDatabase

@Suite(.timeLimit(.minutes(10))) struct ChangeNotificationTests {
    private let sandbox = Sandbox()

    @Test func `a change names document, revision, place and source`() async throws {
        let database = try Database.inMemory()
        var changes = try database.databaseChanges.makeAsyncIterator()
        let created = try database.create("a", ["n": 1])
        #expect(
            await changes.next()?.changes == [
                DocumentChange(
                    documentID: "a", revisionID: created.revisionID, sequence: 1,
                    isCurrentRevision: true)
            ])
        let deleted = try database.delete("a")
        let change = try #require(await changes.next())
        #expect(
            change.changes == [
                DocumentChange(
                    documentID: "a", revisionID: deleted.revisionID, sequence: 2,
                    isCurrentRevision: true, isDeletion: true)
            ])
        #expect(change.lastSequence == 2)
        #expect(change.documentIDs == ["a"])
    }

    @Test func `the revision of a change can be fetched by its ID`() async throws {
        let database = try Database.inMemory()
        var changes = try database.databaseChanges.makeAsyncIterator()
        try database.create("a", ["n": 7])
        let change = try #require(await changes.next()?.changes.first)
        let revision = try #require(change.revisionID)
        let document = try database.document(withID: change.documentID, revision: revision)
        #expect(document?["n"].int == 7)
    }

    @Test func `a revision that loses is told as a conflict and not as current`() async throws {
        let database = try Database.inMemory()
        try database.putExistingRevision("a", [:], history: ["2-b", "1-a"])
        var changes = try database.databaseChanges.makeAsyncIterator()
        try database.putExistingRevision("a", [:], history: ["2-a", "1-a"])
        #expect(
            await changes.next()?.changes == [
                DocumentChange(documentID: "a", revisionID: "2-a", sequence: 2, isConflict: true)
            ])
        // The loser's tombstone ends the conflict; the winner stays.
        try database.putExistingRevision(
            "a", [:], history: ["3-c", "2-a"], isDeleted: true)
        #expect(
            await changes.next()?.changes == [
                DocumentChange(documentID: "a", revisionID: "3-c", sequence: 3, isDeletion: true)
            ])
    }

    @Test func `a purge is told, and that of single revisions as what is current then`()
        async throws
    {
        let database = try Database.inMemory()
        try database.putExistingRevision("a", [:], history: ["2-b", "1-a"])
        try database.putExistingRevision("a", [:], history: ["2-c", "1-a"])
        var changes = try database.databaseChanges.makeAsyncIterator()
        try database.purge("a", revisions: ["2-c"])
        #expect(
            await changes.next()?.changes == [
                DocumentChange(
                    documentID: "a", revisionID: "2-b", sequence: 3, isCurrentRevision: true)
            ])
        try database.purge("a")
        let purged = DocumentChange(documentID: "a", isPurge: true)
        #expect(await changes.next()?.changes == [purged])
        // Purged and made anew before the app looks: both are told, the purge first.
        try database.create("a")
        try database.purge("a")
        let anew = try database.create("a")
        let told = try #require(await changes.next()?.changes)
        #expect(told.first == purged)
        #expect(told.last?.revisionID == anew.revisionID)
        #expect(told.count == 2)
    }

    @Test func `a transaction is one change, in the order of its edits`() async throws {
        let database = try Database.inMemory()
        var changes = try database.databaseChanges.makeAsyncIterator()
        try database.inBatch {
            for number in 0..<5_000 { try database.create("\(number)") }
            try database.create("last")
            try? database.inBatch {
                try database.create("undone")
                throw Whim()
            }
        }
        let change = try #require(await changes.next())
        #expect(change.documentIDs == (0..<5_000).map { "\($0)" } + ["last"])
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.create("rolled back")
                throw Whim()
            }
        }
        try database.create("after")
        #expect(await changes.next()?.documentIDs == ["after"])
    }

    @Test func `changes of a labelled transaction carry its source`() async throws {
        let database = try Database.inMemory()
        var changes = try database.databaseChanges.makeAsyncIterator()
        let source = ChangeSource.replication("http://example.org/db")
        try database.create("mine")
        try database.core.batch(source: source) { _ in
            _ = try database.putExistingRevision("theirs", [:], history: ["1-a"])
            _ = try database.purge("mine")
        }
        try database.create("mine again")
        var told: [String: ChangeSource] = [:]
        while told["mine again"] == nil {
            for change in try #require(await changes.next()).changes {
                told[change.documentID.text] = change.source
            }
        }
        #expect(told == ["mine": source, "theirs": source, "mine again": .local])
    }

    @Test func `a sequence begins where the database stood when it was made`() async throws {
        let database = try sandbox.database()
        try database.create("before")
        let changes = try database.databaseChanges
        try database.create("after")
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.documentIDs == ["after"])
        // Made in a batch it begins before the batch, which is not visible outside yet.
        let inner = try database.inBatch {
            try database.create("batch")
            return try database.databaseChanges
        }
        var innerIterator = inner.makeAsyncIterator()
        #expect(await innerIterator.next()?.documentIDs == ["batch"])
    }

    @Test func `a slow loop gets everything in few elements of bounded size`() async throws {
        let database = try Database.inMemory()
        var changes = try database.databaseChanges.makeAsyncIterator()
        try database.create("first")
        #expect(await changes.next()?.documentIDs == ["first"])
        // The loop does not call next meanwhile. What is kept for it must not grow.
        let commits = Soak.count(test: 12_000, soak: 100_000)
        var largest = 0
        for number in 0..<commits {
            try database.create("\(number)")
            if number % 3 == 0 { try database.delete("\(number)") }
            largest = max(largest, database.core.hub.state.withLock { $0.pendingIDs })
        }
        #expect(largest <= ChangeHub.largestPending)
        var seen: [String: Bool] = [:]
        var elements = 0
        while seen.count < commits {
            let change = try #require(await changes.next())
            #expect(change.changes.count <= DatabaseChangeReader.limit)
            for change in change.changes { seen[change.documentID.text] = change.isDeletion }
            elements += 1
        }
        #expect(elements <= commits / DatabaseChangeReader.limit + 1)
        for number in 0..<commits { #expect(seen["\(number)"] == (number % 3 == 0)) }
    }

    @Test func `sequences end when the database is closed`() async throws {
        let database = try sandbox.database()
        let all = try database.databaseChanges
        let one = try database.documentChanges(of: "a")
        async let allEnds = Self.count(all)
        async let oneEnds = Self.count(one)
        try await Task.sleep(for: .milliseconds(30))
        database.close()
        #expect(await allEnds == 0)
        #expect(await oneEnds == 0)
        #expect(code { try database.databaseChanges } == .databaseClosed)
        #expect(code { try database.documentChanges(of: "a") } == .databaseClosed)
    }

    @Test func `sequences end when the database is deleted`() async throws {
        let database = try sandbox.database()
        let changes = try database.databaseChanges
        async let ends = Self.count(changes)
        try database.delete()
        #expect(await ends == 0)
    }

    @Test func `a sequence ends when its task is cancelled`() async throws {
        let database = try sandbox.database()
        let changes = try database.databaseChanges
        let loop = Task { await Self.count(changes) }
        try database.create("a")
        try await Task.sleep(for: .milliseconds(30))
        loop.cancel()
        #expect(await loop.value <= 1)
    }

    private static func count<Element>(_ changes: ChangeNotifications<Element>) async -> Int {
        var count = 0
        for await _ in changes { count += 1 }
        return count
    }

    // MARK: - One document

    @Test func `a document is followed by its ID, before it exists and without an object`()
        async throws
    {
        let database = try Database.inMemory()
        var changes = try database.documentChanges(of: "a").makeAsyncIterator()
        try database.create("other")
        let created = try database.create("a")
        #expect(
            await changes.next()
                == DocumentChange(
                    documentID: "a", revisionID: created.revisionID, sequence: 2,
                    isCurrentRevision: true))
        try database.create("another")
        try database.delete("a")
        #expect(await changes.next()?.isDeletion == true)
        try database.purge("a")
        #expect(await changes.next() == DocumentChange(documentID: "a", isPurge: true))
        #expect(code { try database.documentChanges(of: "") } == .invalidID)
    }

    @Test func `a document that comes into conflict says so`() async throws {
        let database = try Database.inMemory()
        try database.putExistingRevision("a", [:], history: ["1-a"])
        var changes = try database.documentChanges(of: "a").makeAsyncIterator()
        try database.putExistingRevision("a", [:], history: ["1-b"])
        let change = try #require(await changes.next())
        #expect(change.isConflict)
        #expect(change.isCurrentRevision)
        #expect(change.revisionID == "1-b")
    }

    @Test func `a document purged and made anew tells both`() async throws {
        let database = try Database.inMemory()
        try database.create("a")
        var changes = try database.documentChanges(of: "a").makeAsyncIterator()
        try database.inBatch {
            try database.purge("a")
            try database.create("a", ["n": 2])
        }
        #expect(await changes.next()?.isPurge == true)
        #expect(await changes.next()?.sequence == 2)
    }

    @Test func `a damaged row hides no other document's change`() async throws {
        let database = try sandbox.database()
        var changes = try database.databaseChanges.makeAsyncIterator()
        try database.inBatch {
            for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        }
        try database.core.engine.write { writer in
            let row: [UInt8] = [0xFF, 1, 2]
            try writer.set(row.span, forKey: 2, in: database.core.stores.revisions)
        }
        #expect(await changes.next()?.documentIDs == ["a", "c"])
        try database.create("d")
        #expect(await changes.next()?.documentIDs == ["d"])
    }
}
