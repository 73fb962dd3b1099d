// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanTestSupport
import FoundationEssentials
import Testing

/// A clock that a test sets.
final class TestClock: Sendable {
    private let milliseconds: Record<Date>

    init(_ date: Date) {
        milliseconds = Record()
        milliseconds.append(date)
    }

    var now: Date {
        get { milliseconds.all.last ?? .distantPast }
        set { milliseconds.append(newValue) }
    }
}

/// Dates of expiration and the purge by hand; the timer is stopped here.
@Suite struct ExpirationTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let clock: TestClock

    /// A moment in the far future, so many seconds after a fixed one.
    private func date(_ seconds: Double) -> Date {
        Date(timeIntervalSince1970: 4_000_000_000 + seconds)
    }

    init() throws {
        clock = TestClock(Date(timeIntervalSince1970: 4_000_000_000))
        database = try sandbox.database()
        database.core.expirationTimer.stop()
        database.setExpirationClock { [clock] in clock.now }
    }

    private func expire(_ id: DocumentID, at seconds: Double) throws {
        try database.create(id)
        try database.setExpiration(of: id, at: date(seconds))
    }

    private var ids: [String] {
        get throws {
            var options = AllDocumentsOptions()
            options.includeDeleted = true
            return try database.allDocuments(options).map(\.id.text)
        }
    }

    @Test func `a date that is set inside an edit of the document stays`() throws {
        try database.put("a", [:], parent: nil)
        try database.write { transaction in
            try transaction.update("a") { document in
                document["n"] = 1
                try database.setExpiration(of: "a", at: date(1))
            }
        }
        #expect(try database.expirationDate(of: "a") == date(1))
        try database.write { transaction in
            try transaction.update("a") { document in
                document["n"] = 2
                try database.setExpiration(of: "a", at: nil)
            }
        }
        #expect(try database.expirationDate(of: "a") == nil)
        // The same in the handler of a conflict.
        let stale = try database.existing("a").toMutable()
        stale["n"] = 4
        try database.update("a") { $0["n"] = 3 }
        try database.write { transaction in
            try transaction.save(stale) { _, _ in
                try database.setExpiration(of: "a", at: date(2))
                return true
            }
        }
        #expect(try database.existing("a")["n"].int == 4)
        #expect(try database.expirationDate(of: "a") == date(2))
        #expect(try database.problems() == [])
    }

    @Test func `a date is set, read, changed and cleared`() throws {
        try database.create("a")
        #expect(try database.expirationDate(of: "a") == nil)
        try database.setExpiration(of: "a", at: date(1))
        #expect(try database.expirationDate(of: "a") == date(1))
        try database.setExpiration(of: "a", at: date(2))
        #expect(try database.expirationDate(of: "a") == date(2))
        #expect(try database.documentsExpiring().map(\.date) == [date(2)])
        try database.setExpiration(of: "a", at: nil)
        #expect(try database.expirationDate(of: "a") == nil)
        #expect(try database.documentsExpiring() == [])
        clock.now = date(10)
        #expect(try database.purgeExpired() == 0)
        #expect(try database.contains("a"))
        #expect(try database.problems() == [])
    }

    @Test func `a date is no revision and no change`() throws {
        let before = try database.create("a")
        try database.setExpiration(of: "a", at: date(1))
        #expect(try database.existing("a") == before)
        #expect(try database.lastSequence == 1)
        #expect(try database.changes(since: 1).changes.isEmpty)
    }

    @Test func `a date is kept to the millisecond within its limits`() throws {
        try database.create("a")
        for (set, kept) in [
            (1_700_000_000.4321, 1_700_000_000.432), (-5.0, 0), (0.0, 0),
            (Date.distantPast.timeIntervalSince1970, 0),
            (Date.distantFuture.timeIntervalSince1970, Date.distantFuture.timeIntervalSince1970),
            (1e15, 253_402_300_799.999), (Double.infinity, 253_402_300_799.999),
        ] {
            try database.setExpiration(of: "a", at: Date(timeIntervalSince1970: set))
            let found = try #require(try database.expirationDate(of: "a"))
            #expect(abs(found.timeIntervalSince1970 - kept) < 0.000_1, "\(set)")
            #expect(try database.documentsExpiring().count == 1)
        }
        #expect(try database.problems() == [])
    }

    @Test func `a time span counts from now`() throws {
        try database.create("a")
        try database.setExpiration(of: "a", after: .seconds(90))
        #expect(try database.expirationDate(of: "a") == date(90))
        try database.setExpiration(of: "a", after: .seconds(60 * 86_400))
        #expect(try database.expirationDate(of: "a") == date(60 * 86_400))
        try database.setExpiration(of: "a", after: .seconds(-1))
        #expect(try database.purgeExpired() == 1)
    }

    @Test func `a missing document has no date and can be given none`() throws {
        #expect(try database.expirationDate(of: "a") == nil)
        #expect(code { try database.setExpiration(of: "a", at: date(1)) } == .documentNotFound)
        #expect(code { try database.setExpiration(of: "a", at: nil) } == .documentNotFound)
        #expect(code { try database.setExpiration(of: "", at: date(1)) } == .invalidID)
        #expect(code { try database.setExpiration(of: "_local/x", at: date(1)) } == .invalidID)
        #expect(try database.documentsExpiring() == [])
    }

    @Test func `new revisions keep the date, whoever makes them`() throws {
        let first = try database.create("a", ["n": 1])
        try database.setExpiration(of: "a", at: date(5))
        try database.update("a") { $0["n"] = 2 }
        #expect(try database.expirationDate(of: "a") == date(5))
        try database.putExistingRevision("a", ["n": 3], history: ["2-f", first.revisionID])
        #expect(try database.expirationDate(of: "a") == date(5))
        try database.purge("a", revisions: ["2-f"])
        #expect(try database.expirationDate(of: "a") == date(5))
        try database.compact()
        #expect(try database.expirationDate(of: "a") == date(5))
        try database.delete("a")
        #expect(try database.expirationDate(of: "a") == date(5))
        #expect(try database.problems() == [])
    }

    @Test func `a document that is made anew after a deletion has no date`() throws {
        let makers: [(DocumentID) throws -> Void] = [
            { _ = try database.save(MutableDocument(["n": 4], id: $0)) },
            { _ = try database.put($0, ["n": 4], parent: nil) },
            {
                let tombstone = try database.revisionTree(of: $0)?.winner?.id
                _ = try database.put($0, ["n": 4], parent: tombstone)
            },
            { id in try database.inBatch { _ = try database.create(id, ["n": 4]) } },
            {
                var revision = try database.liveDocument(withID: $0).makeRevision()
                revision["n"] = 4
                _ = try revision.save()
            },
        ]
        for (number, make) in makers.enumerated() {
            let id = DocumentID("\(number)")
            try expire(id, at: 1)
            try database.delete(id)
            try make(id)
            #expect(try database.expirationDate(of: id) == nil)
        }
        #expect(try database.documentsExpiring() == [])
        clock.now = date(2)
        #expect(try database.purgeExpired() == 0)
        for number in makers.indices { #expect(try database.contains(DocumentID("\(number)"))) }
        #expect(try database.problems() == [])
    }

    @Test func `a date set for what was made anew counts`() throws {
        try expire("a", at: 1)
        try database.delete("a")
        try database.create("a")
        try database.setExpiration(of: "a", at: date(3))
        clock.now = date(2)
        #expect(try database.purgeExpired() == 0)
        clock.now = date(3)
        #expect(try database.purgeExpired() == 1)
    }

    @Test func `a replicated revision that undoes a deletion keeps the date`() throws {
        try expire("a", at: 1)
        try database.delete("a")
        let leaf = try #require(try database.revisionTree(of: "a")?.winner?.id)
        try database.putExistingRevision("a", ["n": 3], history: ["3-f", leaf])
        #expect(try database.expirationDate(of: "a") == date(1))
        #expect(try database.problems() == [])
    }

    @Test func `a purge takes the date along`() throws {
        try expire("a", at: 1)
        try database.purge("a")
        #expect(try database.documentsExpiring() == [])
        try database.create("a")
        #expect(try database.expirationDate(of: "a") == nil)
        clock.now = date(2)
        #expect(try database.purgeExpired() == 0)
        #expect(try database.contains("a"))
        try database.setExpiration(of: "a", at: date(1))
        let leaf = try database.existing("a").revisionID
        #expect(try database.purge("a", revisions: [leaf]) == [leaf])
        #expect(try database.documentsExpiring() == [])
        #expect(try database.problems() == [])
    }

    @Test func `a deleted document can expire and takes its tombstone along`() throws {
        try database.create("a")
        try database.delete("a")
        try database.setExpiration(of: "a", at: date(1))
        clock.now = date(1)
        #expect(try database.purgeExpired() == 1)
        #expect(try database.revisionTree(of: "a") == nil)
        #expect(try database.problems() == [])
    }

    @Test func `dates survive reopening`() throws {
        try expire("a", at: 1)
        database.close()
        let again = try sandbox.database()
        #expect(try again.expirationDate(of: "a") == date(1))
        #expect(try again.documentsExpiring().map(\.documentID) == ["a"])
    }

    @Test func `what is due is purged, and nothing else`() throws {
        try expire("late", at: 3)
        try expire("due", at: 2)
        try expire("past", at: 1)
        try database.create("kept")
        clock.now = date(2)
        #expect(try database.purgeExpired() == 2)
        #expect(try ids == ["kept", "late"])
        #expect(try database.documentCount == 2)
        #expect(try database.changes().changes.map(\.id) == ["late", "kept"])
        #expect(try database.lastSequence == 4)
        var purged: [String] = []
        try database.inspect(store: "purges") { purged.append($0.summary) }
        #expect(purged.map { $0.prefix(4) } == ["past", "due "])
        #expect(try database.purgeExpired() == 0)
        #expect(try database.problems() == [])
    }

    @Test func `an expired document comes back when a replication brings it`() throws {
        let first = try database.create("a", ["n": 1])
        try database.setExpiration(of: "a", at: date(-1))
        #expect(try database.purgeExpired() == 1)
        let history = ["2-abc", first.revisionID]
        #expect(try database.putExistingRevision("a", ["n": 2], history: history))
        #expect(try database.existing("a")["n"].int == 2)
        #expect(try database.expirationDate(of: "a") == nil)
    }

    @Test func `documents that expire before a date come in order`() throws {
        for (id, seconds) in [("c", 3.0), ("a", 1), ("z", 2), ("b", 2), ("d", 4)] {
            try expire(DocumentID(id), at: seconds)
        }
        try database.create("never")
        func found(_ seconds: Double?, _ limit: Int? = nil) throws -> [String] {
            try database.documentsExpiring(before: seconds.map { date($0) }, limit: limit)
                .map(\.documentID.text)
        }
        #expect(try found(nil) == ["a", "b", "z", "c", "d"])
        #expect(try found(3) == ["a", "b", "z"])
        #expect(try found(3.001) == ["a", "b", "z", "c"])
        #expect(try found(1) == [])
        #expect(try found(nil, 2) == ["a", "b"])
        #expect(try found(nil, 0) == [])
        #expect(
            try database.documentsExpiring(limit: 1) == [
                Expiration(documentID: "a", date: date(1))
            ])
    }

    @Test func `a date set in a batch is part of it`() throws {
        try database.create("a")
        try? database.inBatch {
            try database.setExpiration(of: "a", at: date(1))
            #expect(try database.expirationDate(of: "a") == date(1))
            #expect(try database.documentsExpiring().count == 1)
            throw Whim()
        }
        #expect(try database.expirationDate(of: "a") == nil)
        try database.write { transaction in
            try transaction.setExpiration(of: "a", at: date(2))
            try? database.inBatch {
                try database.setExpiration(of: "a", at: nil)
                throw Whim()
            }
            #expect(try transaction.expirationDate(of: "a") == date(2))
        }
        #expect(try database.documentsExpiring().map(\.date) == [date(2)])
        #expect(try database.problems() == [])
    }

    private func fill(_ count: Int) throws {
        try database.inBatch {
            for number in 0..<count { try expire("\(number)", at: -1) }
        }
    }

    @Test func `stopping keeps whole batches and leaves the rest for later`() throws {
        let count = ExpirationPass.batchSize * 2 + 5
        try fill(count)
        var reports: [Int] = []
        #expect(throws: Whim.self) {
            try database.purgeExpired { progress in
                reports.append(progress.completed)
                if progress.completed > 0 { throw Whim() }
            }
        }
        #expect(reports == [0, ExpirationPass.batchSize])
        #expect(try database.documentCount == count - ExpirationPass.batchSize)
        #expect(try database.purgeExpired() == ExpirationPass.batchSize + 5)
        #expect(try database.problems() == [])
    }

    @Test func `a cancelled task purges nothing more`() async throws {
        try fill(10)
        let task = Task { [database] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await database.perform { try $0.purgeExpired() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try database.documentsExpiring().count == 10)
        #expect(try database.purgeExpired() == 10)
    }

    @Test func `purging by hand is refused read-only, in a batch and when closed`() throws {
        try expire("a", at: -1)
        let reader = try sandbox.database { $0.readOnly = true }
        #expect(code { try reader.purgeExpired() } == .readOnly)
        #expect(code { try reader.setExpiration(of: "a", at: nil) } == .readOnly)
        #expect(try reader.expirationDate(of: "a") == date(-1))
        #expect(code { try database.inBatch { try database.purgeExpired() } } == .databaseBusy)
        reader.close()
        database.close()
        #expect(code { try database.purgeExpired() } == .databaseClosed)
        #expect(code { try database.expirationDate(of: "a") } == .databaseClosed)
    }

    @Test func `inspect shows dates and no content`() throws {
        try database.create("a", ["word": "moonlight"])
        try database.setExpiration(of: "a", at: Date(timeIntervalSince1970: 4_102_444_800))
        var rows: [String] = []
        try database.inspect { row in
            if row.store == "expirations" || row.store == "documents" {
                rows.append("\(row.key) \(row.summary)")
            }
        }
        #expect(rows.contains("2100-01-01T00:00:00.000Z a "))
        #expect(rows.contains { $0.hasPrefix("a update 1 expires 2100-01-01T00:00:00.000Z 1-") })
    }
}
