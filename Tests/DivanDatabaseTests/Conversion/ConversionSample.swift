// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanModel
import DivanQuery
import DivanTestChild
import FoundationEssentials
import Testing

/// A database that has one of everything a conversion must bring over, and what it must look like then.
struct ConversionSample {
    var engine: String
    var uuids: [String]
    var incarnation: String
    var count: Int
    var lastSequence: UInt64
    /// A line for each document: its leaves with their sequences and bodies.
    var documents: [String]
    var changes: [String]
    var rows: [String]
    var expiration: Date?

    static let content = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    static let time = Date(timeIntervalSinceReferenceDate: 3_000_000_000)

    /// Makes the database `db` in a sandbox, closes it, and returns how it stood.
    static func make(
        in sandbox: Sandbox, _ adjust: (inout DatabaseOptions) -> Void = { _ in }
    ) throws -> ConversionSample {
        let database = try sandbox.database("db", adjust)
        try database.setRevisionBodyLimit(7)
        try database.inBatch {
            for n in 0..<40 {
                try database.create(
                    "plain-\(n)", ["n": .integer(Int64(n)), "s": "a tale of couches"])
            }
        }
        try database.create("long", ["text": .string(String(repeating: "divan ", count: 9_000))])
        // Conflicts, with a tombstone among the leaves.
        let first = try database.existing("plain-1").revisionID
        for (digest, deleted) in [("aa", false), ("bb", false), ("cc", true)] {
            try database.putExistingRevision(
                "plain-1", ["branch": .string(digest)],
                history: ["2-\(digest)\(digest)", "\(first)"],
                isDeleted: deleted)
        }
        try database.delete(database.existing("plain-2"))
        _ = try database.purge("plain-3")
        let editable = try database.existing("plain-4").toMutable()
        editable["blob"] = Blob(contentType: "text/plain", content)
        try database.save(editable)
        try database.putLocalDocument("local", ["n": 1])
        try database.setExpiration(of: "plain-5", at: time)
        setView(of: database)
        _ = try database.view(named: "byNumber").query().run()
        defer { database.close() }
        return try ConversionSample(of: database)
    }

    private static func setView(of database: Database) {
        database.view(named: "byNumber").setMap(version: "1") { document, emit in
            if document["n"].int != nil { emit(document["n"], nil) }
        }
    }

    init(of database: Database) throws {
        engine = database.storageEngineName
        uuids = [database.publicUUID, database.privateUUID]
        incarnation = database.incarnation
        count = try database.documentCount
        lastSequence = try database.lastSequence
        documents = []
        rows = []
        changes = []
        expiration = try database.expirationDate(of: "plain-5")
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        for row in try database.allDocuments(options) {
            documents.append(try DocumentState.line(row.id, in: database))
        }
        changes = try database.changes().changes.map { "\($0)" }
        Self.setView(of: database)
        rows = try database.view(named: "byNumber").query().run().map {
            "\($0.documentID ?? "") \($0.key)"
        }
    }

    /// Compares an open database with what it was before.
    static func compare(_ database: Database, with before: ConversionSample) throws {
        // A view that was brought over has nothing to index.
        let view = database.view(named: "byNumber")
        setView(of: database)
        #expect(try !view.isStale)
        let after = try ConversionSample(of: database)
        #expect(after.uuids == before.uuids)
        #expect(after.incarnation == before.incarnation)
        #expect(after.count == before.count)
        #expect(after.lastSequence == before.lastSequence)
        #expect(after.documents == before.documents)
        #expect(after.changes == before.changes)
        #expect(after.rows == before.rows)
        #expect(after.expiration == before.expiration)
        #expect(try database.revisionBodyLimit == 7)
        #expect(try database.localDocument("local") == ["n": 1])
        #expect(try database.existing("plain-4").blob(forKey: "blob")?.content() == content)
        #expect(try database.problems() == [])
    }
}
