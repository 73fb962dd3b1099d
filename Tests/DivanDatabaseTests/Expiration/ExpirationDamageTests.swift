// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanStorage
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Rows of dates that do not fit together, and documents that cannot be purged.
@Suite struct ExpirationDamageTests {
    private let sandbox = Sandbox()
    private let due = Date(timeIntervalSince1970: 1_000_000_000)
    private let later = Date(timeIntervalSince1970: 4_000_000_000)

    private func makeDatabase() throws -> Database {
        let database = try sandbox.database("damaged")
        database.core.expirationTimer.stop()
        return database
    }

    private func key(_ date: Date, _ id: String) -> ExpirationKey {
        ExpirationKey(ExpirationTime(date), DocumentID(id))
    }

    /// Writes a row of dates that no document has.
    private func addRow(_ key: ExpirationKey, to database: Database) throws {
        try addRow(key.bytes, to: database)
    }

    private func addRow(_ key: [UInt8], to database: Database) throws {
        try database.core.write { context in
            let value: [UInt8] = []
            try context.transaction().writer.set(
                value.span, forKey: key.span, in: database.core.stores.expirations)
        }
    }

    @Test func `verify finds a date without its row and a row without its date`() throws {
        let database = try makeDatabase()
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        try database.setExpiration(of: "a", at: later)
        try database.setExpiration(of: "b", at: later)
        #expect(try database.problems() == [])
        try database.core.write { try $0.removeExpiration(key(later, "a")) }
        try addRow(key(due, "b"), to: database)
        try addRow(key(later, "c"), to: database)
        try addRow(key(later, "nobody"), to: database)
        let problems = try database.verify()
        #expect(problems.compactMap(\.documentID) == ["b", "c", "nobody", "a"])
        #expect(problems.last?.message.contains("is missing from 'expirations'") == true)
    }

    @Test func `a row that is not the document's date purges nothing and goes`() throws {
        let database = try makeDatabase()
        try database.create("a")
        try database.create("b")
        try database.setExpiration(of: "b", at: later)
        for id in ["a", "b", "nobody"] { try addRow(key(due, id), to: database) }
        #expect(try database.purgeExpired() == 0)
        #expect(try database.documentCount == 2)
        #expect(try database.documentsExpiring().map(\.documentID) == ["b"])
        #expect(try database.problems() == [])
    }

    @Test func `a damaged document stays and does not hold up the others`() throws {
        var database = try makeDatabase()
        let word = String(repeating: "moonlight ", count: 10)
        for number in 0..<20 {
            try database.create("d\(number)", ["text": .string("\(word)\(number)")])
            // Those with odd numbers a little later, so that the damaged one is in the middle.
            try database.setExpiration(
                of: "d\(number)", at: due.addingTimeInterval(Double(number % 2)))
        }
        database.close()
        let file = sandbox.url("damaged").appending(path: "data-1/\(TestEngine.mainFile)")
        var bytes = try Data(contentsOf: file)
        // LMDB may have copies of the page that are not used any more.
        var copies = 0
        while let found = bytes.firstRange(of: Data("moonlight 7".utf8)) {
            bytes[found.lowerBound] ^= 1
            copies += 1
        }
        #expect(copies > 0)
        try bytes.write(to: file)
        database = try sandbox.database("damaged")
        // Either the timer, which has caught up since it was opened, or this purges the others.
        #expect(code { try database.purgeExpired() } == .corrupted)
        #expect(try database.documentCount == 1)
        #expect(try database.documentsExpiring().map(\.documentID) == ["d7"])
        try database.create("new")
        try database.setExpiration(of: "new", at: due)
        #expect(code { try database.purgeExpired() } == .corrupted)
        #expect(try !database.contains("new"))
    }

    @Test func `salvage brings dates along, also those of rebuilt documents`() throws {
        let database = try makeDatabase()
        for id: DocumentID in ["a", "b", "never"] { try database.create(id, ["n": 1]) }
        try database.setExpiration(of: "a", at: later)
        try database.setExpiration(of: "b", at: due)
        // The record of `a` is lost, its date stands in the other store.
        try database.core.write { context in
            try "a".withSpan { id in
                let junk: [UInt8] = [255]
                try context.transaction().writer.set(
                    junk.span, forKey: id, in: database.core.stores.documents)
            }
        }
        database.close()
        let target = sandbox.url("copy")
        let result = try Database.salvage(from: sandbox.url("damaged"), to: target)
        #expect(result.documentsCopied == 3)
        var options = DatabaseOptions()
        options.readOnly = true
        let copy = try Database.open(at: target, options: options)
        #expect(try copy.documentCount == 3)
        #expect(try copy.documentsExpiring().map(\.documentID) == ["b", "a"])
        #expect(try copy.documentsExpiring().map(\.date) == [due, later])
        #expect(try copy.problems() == [])
    }

    @Test func `rows that cannot be read hold up no document`() throws {
        let database = try makeDatabase()
        for (id, date) in [("a", due), ("b", due + 1), ("c", later)] {
            try database.create(DocumentID(id))
            try database.setExpiration(of: DocumentID(id), at: date)
        }
        // Too short to be a time: one before all others, one between `a` and `b`.
        try addRow([0], to: database)
        try addRow(key(due, "").bytes.prefix(6) + [0x11], to: database)
        #expect(code { try database.purgeExpired() } == .corrupted)
        #expect(try database.allDocuments().map(\.id) == ["c"])
        #expect(try database.verify().count == 2)
        // The list would not be whole, so it is refused as any other read of damage.
        #expect(code { try database.documentsExpiring() } == .corrupted)
        database.core.expirationTimer.start(database.core)
        #expect(database.expirationDeadline == later)
        try database.create("new")
        try database.setExpiration(of: "new", at: due)
        try eventually { try !database.contains("new") }
        eventually { database.expirationDeadline == later }
    }

    @Test(
        .enabled(
            if: TestEngine.isSQLite && !TestEncryption.isOn,
            "The damage is made for the pages of SQLite's files."))
    func `a timer that cannot reach its rows waits longer each time`() throws {
        var database = try makeDatabase()
        try addRow(key(due, "moonlight"), to: database)
        database.close()
        let file = sandbox.url("damaged").appending(path: "data-1/\(TestEngine.mainFile)")
        var bytes = try Data(contentsOf: file)
        let row = try #require(bytes.firstRange(of: Data("moonlight".utf8))).lowerBound
        // The first byte of a page tells what kind of page it is.
        bytes[row / 4_096 * 4_096] = 0
        try bytes.write(to: file)
        database = try sandbox.database("damaged")
        let now = Date(timeIntervalSince1970: 2_000_000_000)
        eventually {
            // Every new clock makes it try again.
            database.setExpirationClock { now }
            return database.expirationDeadline.map { $0 >= now + 8 && $0 < later } ?? false
        }
        #expect(code { try database.purgeExpired() } == .corrupted)
    }
}
