// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanQuery
import DivanStorage
import DivanStorageConformance
import DivanTestChild
import FoundationEssentials
import Testing

/// The storage fails at every point there is, one after the other: whatever was being done is undone
/// whole, and the database goes on.
@Suite struct FullDiskTests {
    /// A piece of work on a database with some documents.
    struct Work: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var run: @Sendable (Database) throws -> Void

        init(_ name: String, _ run: @escaping @Sendable (Database) throws -> Void) {
            testDescription = name
            self.run = run
        }
    }

    static let works = [
        Work("save") { try $0.save(body("new", 1)) },
        Work("save a large body") { try $0.save(body("new", 50)) },
        Work("update") { try $0.update("document-2") { $0["n"] = 1 } },
        Work("update in conflict") { try $0.update("conflict") { $0["n"] = 1 } },
        Work("delete") { try $0.delete("document-3") },
        Work("create after deletion") { try $0.save(body("deleted", 1)) },
        Work("purge") { try $0.purge("document-0") },
        Work("purge a conflict") { database in
            let losing = try database.conflictingRevisions(of: "conflict").last?.revisionID
            try database.purge("conflict", revisions: [losing ?? ""])
        },
        Work("put a conflict") {
            try $0.putExistingRevision("document-4", ["n": 2], history: ["1-abc"])
        },
        Work("prune") { database in
            try database.setRevisionBodyLimit(2)
            for n in 0..<4 { try database.update("document-5") { $0.set(n, forKey: "n") } }
        },
        Work("move revisions into a block") { try $0.update("long") { $0["n"] = 1 } },
        Work("branch off an older revision") { database in
            let history: [RevisionID] = ["7-b"] + (1...6).reversed().map { "\($0)-x" }
            try database.putExistingRevision("long", ["n": 2], history: history)
        },
        Work("purge a long history") { try $0.purge("long") },
        Work("purge a long branch") { try $0.purge("forked", revisions: ["66-x"]) },
        Work("forget revisions") { database in
            try database.write { transaction in
                transaction.context.state.revisionLimit = 30
                try transaction.update("long") { $0["n"] = 1 }
            }
        },
        Work("local document") { try $0.putLocalDocument("local", ["n": 2]) },
        Work("batch") { database in
            try database.inBatch {
                for n in 0..<5 { try database.save(body("new-\(n)", n)) }
                try database.delete("document-1")
            }
        },
        Work("batch that catches") { database in
            try database.inBatch {
                for n in 0..<3 { _ = try? database.save(body("new-\(n)", n)) }
                _ = try? database.purge("conflict")
            }
        },
        Work("transaction that catches") { database in
            try database.write { transaction in
                for n in 0..<3 { _ = try? transaction.save(body("new-\(n)", n)) }
                _ = try? transaction.update("conflict") { $0["n"] = 1 }
                _ = try? transaction.purge("document-50")
            }
        },
        Work("nested batch that catches") { database in
            try database.inBatch {
                try database.save(body("outer", 1))
                try? database.inBatch {
                    try database.save(body("inner", 1))
                    try database.update("document-6") { $0["n"] = 1 }
                }
                try database.save(body("outer-2", 1))
            }
        },
    ]

    @Test(arguments: works, [StorageError.Code.full, .io])
    func `a failed write undoes its work whole`(_ work: Work, _ code: StorageError.Code) throws {
        var number = 0
        while true {
            number += 1
            let storage = try TestStorage.make()
            // Kept, since a database that goes closes its engine.
            let filled = try Self.database(on: storage)
            defer { filled.close() }
            try Self.fill(filled)
            let before = try Dump(filled)
            let plan = FaultPlan(failing: number, with: code)
            let database = try Self.database(on: FaultyEngine(storage, plan: plan))
            let result = Result { try work.run(database) }
            guard plan.hasFailed else {
                try result.get()
                break
            }
            let error = #expect(throws: DatabaseError.self) { try result.get() }
            #expect(error?.code == (code == .full ? .storageFull : .io))
            // Work of several transactions keeps those that were committed.
            if work.testDescription != "prune" { #expect(try Dump(database) == before) }
            #expect(try database.verify().isEmpty)
            // The fault was one; the same work now goes through.
            try work.run(database)
            #expect(try Dump(database) != before)
            #expect(try database.verify().isEmpty)
        }
        #expect(number > 1, "No write was ever failed.")
    }

    @Test func `a failed compaction changes no document and can be done again`() throws {
        var number = 0
        while true {
            number += 1
            let storage = try TestStorage.make()
            // Kept, since a database that goes closes its engine.
            let filled = try Self.database(on: storage)
            defer { filled.close() }
            try Self.fill(filled)
            let before = try Dump(filled)
            let plan = FaultPlan(failing: number, with: .full)
            let database = try Self.database(on: FaultyEngine(storage, plan: plan))
            let result = Result { try database.compact() }
            #expect(try Dump(database) == before)
            #expect(try database.verify().isEmpty)
            guard plan.hasFailed else { break }
            #expect(throws: DatabaseError.self) { try result.get() }
            try database.compact()
            #expect(try Dump(database) == before)
            #expect(try database.verify().isEmpty)
        }
        #expect(number > 1, "No write was ever failed.")
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a full disk keeps what was acknowledged and refuses the rest`() throws {
        let directory = try TestDirectory("full")
        try #require(try Mounting.memory(at: directory.path, bytes: 6 << 20))
        defer { Mounting.unmount(directory.path) }
        let filler = directory.url("filler")
        try Mounting.fill(directory.path("filler"), bytes: 1 << 20)
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { database.close() }
        var saved: [String] = []
        var refusal: DatabaseError?
        for batch in 0..<2_000 where refusal == nil {
            do {
                try database.inBatch {
                    for n in 0..<20 {
                        try database.save(Self.body("document-\(batch)-\(n)", n * 31 + 7))
                    }
                }
                saved += (0..<20).map { "document-\(batch)-\($0)" }
            } catch let error as DatabaseError { refusal = error }
        }
        #expect(refusal?.code == .storageFull)
        #expect(try database.documentCount == saved.count)
        for id in saved {
            #expect(try database.document(withID: DocumentID(id)).map(KnownBody.isWhole) == true)
        }
        #expect(try database.verify().isEmpty)
        // Room again: the same handle goes on.
        try FileManager.default.removeItem(at: filler)
        try database.save(Self.body("after", 1))
        #expect(try database.documentCount == saved.count + 1)
        #expect(try database.verify().isEmpty)
        database.close()
        let again = try Database.forTest(at: directory.path("app.divan"))
        defer { again.close() }
        #expect(try again.documentCount == saved.count + 1)
        #expect(try again.verify().isEmpty)
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a disk without any room is told when a database is opened or made`() throws {
        let directory = try TestDirectory("full-opening")
        try #require(try Mounting.memory(at: directory.path, bytes: 4 << 20))
        defer { Mounting.unmount(directory.path) }
        try directory.makeDatabase("app.divan")
        let data = directory.path("app.divan/data-1/")
        for name in try FileManager.default.contentsOfDirectory(atPath: data)
        where name.hasPrefix("main.") && (name.hasSuffix("-lock") || name.hasSuffix("-shm")) {
            try FileManager.default.removeItem(atPath: data + name)
        }
        try Mounting.fill(directory.path("filler"), bytes: 2 << 20)
        #expect(throws: (any Error).self) {
            try Mounting.fill(directory.path("rest"), bytes: 4 << 20)
        }
        let url = directory.url("app.divan")
        for isReadOnly in [true, false] {
            var options = DatabaseOptions()
            options.readOnly = isReadOnly
            options.create = false
            #expect(code { try Database.open(at: url, options: options) } == .storageFull)
        }
        #expect(
            code { try Database.forTest(at: directory.path("new.divan"), create: true) }
                == .storageFull)
        // Room again: nothing of it is damaged.
        try FileManager.default.removeItem(at: directory.url("filler"))
        let database = try Database.forTest(at: directory.path("app.divan"))
        defer { database.close() }
        #expect(try database.documentCount == 20)
        #expect(try database.verify().isEmpty)
    }

    @Test(
        .enabled(if: Mounting.isAllowed, "It has to mount a file system."),
        arguments: Keeping.allCases)
    func `a disk that fills while an index is built costs the index only`(_ keeping: Keeping)
        throws
    {
        let directory = try TestDirectory("full-index")
        try #require(try Mounting.memory(at: directory.path, bytes: 96 << 20))
        defer { Mounting.unmount(directory.path) }
        let database = try Database.forTest(
            at: directory.path("app.divan"), create: true, keeping: keeping)
        defer { database.close() }
        let filler = directory.url("filler")
        try Mounting.fill(directory.path("filler"), bytes: 91 << 20)
        for batch in 0..<10 {
            try database.inBatch {
                for n in 0..<40 { try database.save(Self.body("document-\(batch)-\(n)", n * 31)) }
            }
        }
        // Rows that have no room: ten times what the documents take.
        let padding = String(repeating: "wide ", count: 500)
        func define() -> DatabaseView {
            let view = database.view(named: "wide")
            view.setMap(version: "1") { document, emit in
                let number = document["n"].int64 ?? 0
                for copy in 0..<Int64(8) {
                    emit([.integer(number), .integer(copy)] as JSONValue, "\(copy) \(padding)")
                }
            }
            return view
        }
        let view = define()
        #expect(code { try view.query().run() } == .storageFull)
        #expect(try database.documentCount == 400)
        #expect(try database.verify().isEmpty)
        #expect(try database.document(withID: "document-3-7").map(KnownBody.isWhole) == true)
        // What was built stays, and the rest follows once there is room.
        try FileManager.default.removeItem(at: filler)
        #expect(code { try view.query().run() } == nil)
        #expect(try view.query().run().count == 3_200)
        #expect(try database.verify().isEmpty)
    }

    // MARK: - Support

    static func body(_ id: DocumentID, _ n: Int) -> MutableDocument {
        MutableDocument(KnownBody.make(id.text, n), id: id)
    }

    private static func database(on engine: any StorageEngine) throws -> Database {
        let core = try DatabaseCore(
            name: "faulty", directory: nil, engine: engine, options: DatabaseOptions())
        return Database(name: "faulty", core: core, readOnly: false, registration: nil)
    }

    /// Some documents of every kind.
    private static func fill(_ database: Database) throws {
        for n in 0..<8 { try database.save(body("document-\(n)", n)) }
        try database.save(body("document-50", 50))
        try database.update("document-0") { $0["n"] = 100 }
        try database.save(body("deleted", 1))
        try database.delete("deleted")
        try database.save(body("conflict", 1))
        try database.update("conflict") { $0["n"] = 2 }
        try database.putExistingRevision("conflict", ["n": 3], history: ["2-abc", "1-abc"])
        try database.putLocalDocument("local", ["n": 1])
        // The next edit moves revisions into a block.
        let long: [RevisionID] = (1...66).reversed().map { "\($0)-x" }
        try database.putExistingRevision("long", ["n": 1], history: long)
        try database.putExistingRevision("forked", ["n": 1], history: long)
        let fork: [RevisionID] = (8...50).reversed().map { "\($0)-f" } + long.suffix(7)
        try database.putExistingRevision("forked", ["n": 2], history: fork)
    }
}

/// Everything a database says, without old bodies, which a compaction takes away.
struct Dump: Equatable {
    private var lines: [String] = []

    init(_ database: Database) throws {
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        for row in try database.allDocuments(options) {
            lines.append(try DocumentState.line(row.id, in: database))
            for node in try database.revisionTree(of: row.id)?.nodes ?? [] {
                lines.append("\(node.id) \(node.parent ?? -1)")
            }
            for leaf in try database.leafRevisions(of: row.id) { lines.append(leaf.toJSON()) }
        }
        for change in try database.changes().changes { lines.append("\(change)") }
        lines.append("\(try database.lastSequence) \(try database.documentCount)")
        lines.append("\(try database.hasConflicts()) \(try database.revisionBodyLimit)")
        lines.append("\(String(describing: try database.localDocument("local")))")
    }
}
