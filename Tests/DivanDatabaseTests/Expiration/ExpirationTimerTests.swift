// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
internal import DivanModel
import DivanTestSupport
import FoundationEssentials
import Testing

/// Documents that go by themselves when their time comes.
@Suite struct ExpirationTimerTests {
    private let sandbox = Sandbox()
    private let year = 365.0 * 86_400

    private func isGone(_ id: DocumentID, from database: Database) throws -> Bool {
        try eventually { try database.revisionTree(of: id) == nil }
    }

    @Test func `a document goes soon after its time, and others stay`() throws {
        let database = try sandbox.database()
        for id: DocumentID in ["soon", "late", "never"] { try database.create(id) }
        try database.setExpiration(of: "late", after: .seconds(10_000))
        let before = Date()
        try database.setExpiration(of: "soon", after: .milliseconds(200))
        #expect(try isGone("soon", from: database))
        #expect(Date() >= before.addingTimeInterval(0.2))
        #expect(try database.documentCount == 2)
        eventually { database.expirationDeadline != nil }
        let next = try #require(try database.expirationDate(of: "late"))
        eventually { database.expirationDeadline == next }
    }

    @Test func `a date in the past is due at once`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        try database.create("a")
        try database.setExpiration(of: "a", at: Date(timeIntervalSince1970: 1))
        #expect(try isGone("a", from: database))
        eventually { database.expirationDeadline == nil }
    }

    @Test func `what expired while the database was closed goes when it is opened`() throws {
        let first = try sandbox.database()
        first.core.expirationTimer.stop()
        try first.create("a")
        try first.create("b")
        try first.setExpiration(of: "a", at: Date())
        first.close()
        let second = try sandbox.database()
        #expect(try isGone("a", from: second))
        #expect(try second.contains("b"))
    }

    @Test func `a database without dates has no deadline`() throws {
        let database = try sandbox.database()
        try database.create("a")
        #expect(database.expirationDeadline == nil)
        try database.setExpiration(of: "a", after: .seconds(1_000))
        eventually { database.expirationDeadline != nil }
    }

    @Test func `the timer stands at the earliest date`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        let base = Date(timeIntervalSince1970: 4_000_000_000)
        for (id, seconds) in [("a", 20.0), ("b", 10), ("c", 30)] {
            try database.setExpiration(of: DocumentID(id), at: base.addingTimeInterval(seconds))
        }
        eventually { database.expirationDeadline == base.addingTimeInterval(10) }
    }

    @Test func `dates decades ahead wait for their time`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        // 51 days are beyond 32 bits of milliseconds.
        let spans = [51 * 86_400.0, 10 * year, 80 * year, 900 * year]
        for (number, span) in spans.enumerated() {
            try database.create("\(number)")
            try database.setExpiration(of: "\(number)", after: .seconds(span))
        }
        try database.create("probe")
        try database.setExpiration(of: "probe", at: Date())
        #expect(try isGone("probe", from: database))
        #expect(try database.documentCount == spans.count)
        // The clock moves on, and each goes in its time.
        for (number, span) in spans.enumerated() {
            let later = Date(timeIntervalSinceNow: span + 60)
            database.setExpirationClock { later }
            #expect(try isGone("\(number)", from: database))
            #expect(try database.documentCount == spans.count - number - 1)
        }
    }

    @Test func `a clock that is set back keeps documents longer`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        try database.create("a")
        let clock = TestClock(Date(timeIntervalSince1970: 2_000_000_000))
        database.setExpirationClock { clock.now }
        try database.setExpiration(of: "a", after: .seconds(100))
        clock.now = Date(timeIntervalSince1970: 1_000_000_000)
        #expect(try database.purgeExpired() == 0)
        #expect(try database.contains("a"))
        clock.now = Date(timeIntervalSince1970: 2_000_000_100)
        database.setExpirationClock { clock.now }
        #expect(try isGone("a", from: database))
    }

    @Test func `a database that nobody holds goes, timer or not`() throws {
        weak var core: DatabaseCore?
        do {
            let database = try sandbox.database()
            try database.create("a")
            try database.setExpiration(of: "a", after: .seconds(3_600))
            eventually { database.expirationDeadline != nil }
            core = database.core
        }
        // A look that was on its way may still hold it.
        eventually { core == nil }
        // Nothing holds the lock either.
        try sandbox.database().delete()
    }

    @Test func `closing stops the timer`() throws {
        let database = try sandbox.database()
        try database.create("a")
        try database.setExpiration(of: "a", after: .milliseconds(100))
        database.close()
        #expect(database.expirationDeadline == nil)
        let reader = try sandbox.database { $0.readOnly = true }
        Gate().wait(milliseconds: 200)
        #expect(try reader.contains("a"))
    }

    @Test func `a database opened read-only does not expire`() throws {
        let writer = try sandbox.database()
        writer.core.expirationTimer.stop()
        try writer.create("a")
        try writer.setExpiration(of: "a", at: Date(timeIntervalSince1970: 1))
        writer.close()
        let reader = try sandbox.database { $0.readOnly = true }
        #expect(reader.expirationDeadline == nil)
        Gate().wait(milliseconds: 100)
        #expect(try reader.contains("a"))
        #expect(try reader.documentsExpiring().count == 1)
    }

    @Test func `an expired document is logged by number, and the others in the process hear of it`()
        async throws
    {
        let log = DatabaseLog(of: "heard")
        let database = try Database.open(
            at: sandbox.url("heard"), options: Self.creating)
        let observed = Record<UInt64>()
        let token = database.core.hub.follow { event in
            if case .changed(let change) = event { observed.append(change.lastPurge) }
        }
        defer { token.remove() }
        try database.inBatch {
            for number in 0..<3 {
                try database.create("\(number)")
                try database.setExpiration(of: "\(number)", at: Date())
            }
        }
        #expect(log.waits(for: "Purged 3 expired documents of the database 'heard'"))
        await eventually { observed.all.last == 3 }
    }

    private static var creating: DatabaseOptions {
        var options = DatabaseOptions()
        options.create = true
        return options
    }
}
