// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

@Suite struct ReadOnlyTests {
    private let sandbox = Sandbox()

    init() throws {
        let database = try sandbox.database()
        try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        try database.create("gone")
        try database.delete("gone")
        try database.putLocalDocument("l", ["n": 1])
        database.close()
    }

    @Test func `reads work and every write is refused`() throws {
        let database = try sandbox.database { $0.readOnly = true }
        #expect(try database.existing("a")["n"].int == 2)
        #expect(try database.allDocuments().map(\.id) == ["a"])
        #expect(try database.changes().changes.count == 2)
        #expect(try database.localDocument("l") == ["n": 1])
        #expect(try database.documentCount == 1)
        #expect(try database.problems() == [])
        let document = try database.existing("a")
        let writes: [() throws -> Void] = [
            { try database.create("b") },
            { try database.save(document.toMutable()) },
            { _ = try database.save(document.toMutable()) { _, _ in true } },
            { try database.update("a") { $0["n"] = 3 } },
            { try database.delete("a") },
            { try database.delete(document) },
            { try database.purge("a") },
            { try database.purge("a", revisions: []) },
            { try database.put("b", [:], parent: nil) },
            { try database.putExistingRevision("b", [:], history: ["1-b"]) },
            { try database.putLocalDocument("l", [:]) },
            { try database.deleteLocalDocument("l") },
            { try database.setRevisionBodyLimit(5) },
            { try database.inBatch {} },
            { try database.write { _ in } },
            { try database.compact() },
            { try database.replaceUUIDs() },
            { try database.delete() },
        ]
        for (index, write) in writes.enumerated() {
            #expect(code { try write() } == .readOnly, "write \(index)")
        }
    }

    @Test func `reading leaves every byte of the files as it was`() throws {
        let before = try sandbox.contents()
        do {
            let database = try sandbox.database { $0.readOnly = true }
            #expect(try database.existing("a")["n"].int == 2)
            #expect(code { try database.create("b") } == .readOnly)
            #expect(try database.problems() == [])
            database.close()
        }
        let after = try sandbox.contents()
        // Readers write their places into LMDB's table of readers.
        for (path, bytes) in before where !path.hasSuffix("-lock") {
            #expect(after[path] == bytes, "\(path)")
        }
        // The engine may leave its index of the log; nothing of the database's own is new.
        let new = Set(after.keys).subtracting(before.keys)
        #expect(new.allSatisfy { $0.hasSuffix("-shm") || $0.hasSuffix("-wal") }, "\(new)")
    }

    @Test func `a read-only manager opens what exists and creates nothing`() throws {
        var options = ManagerOptions()
        options.readOnly = true
        let manager = try sandbox.manager(options)
        let database = try manager.database(named: "db")
        #expect(try database.existing("a")["n"].int == 2)
        #expect(code { try database.create("b") } == .readOnly)
        #expect(code { try manager.database(named: "new") } == .databaseNotFound)
        #expect(code { try manager.deleteDatabase(named: "db") } == .readOnly)
        #expect(try manager.allDatabaseNames() == ["db"])
    }

    @Test func `a read-only handle sees what a writable one of the process writes`() throws {
        let writable = try sandbox.database()
        let readOnly = try sandbox.database { $0.readOnly = true }
        try writable.create("b")
        #expect(try readOnly.contains("b"))
        #expect(code { try readOnly.create("c") } == .readOnly)
        #expect(try writable.create("c").sequence > 0)
    }

    @Test func `a missing database cannot be opened read-only`() {
        #expect(code { try sandbox.database("new") { $0.readOnly = true } } == .databaseNotFound)
        #expect(!FileManager.default.fileExists(atPath: sandbox.url("new").path()))
    }
}
