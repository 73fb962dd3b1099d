// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// A row of an index remembers at which sequence its document stood; what has become of the document since decides
/// what a query reads, never what it finds.
@Suite struct RememberedSequencesTests {
    private static let count = 60

    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.createIndex(PropertyIndex(on: "group"))
        try database.inBatch {
            for number in 0..<Self.count {
                let id = DocumentID("d\(number)")
                try database.create(id, ["group": .integer(Int64(number % 3)), "edit": "0"])
            }
        }
        try database.updateIndexes()
    }

    /// What a query through the index finds, and what each document says when it is asked for by its ID.
    private func check(_ place: SourceLocation = #_sourceLocation) throws {
        let query =
            QueryBuilder
            .select(.expression(Meta.id), .property("edit"), .expression(Meta.revisionID))
            .from(.database(database)).where(.property("group").equalTo(1))
        #expect(try query.explain().index?.name == "group", sourceLocation: place)
        var found: [String: [String?]] = [:]
        for row in try query.run() {
            found[row[0].string ?? ""] = [row[1].string, row[2].string]
        }
        var expected: [String: [String?]] = [:]
        try database.read { transaction in
            for number in 0..<Self.count {
                let id = DocumentID("d\(number)")
                guard let document = try transaction.document(withID: id),
                    document["group"].int64 == 1
                else { continue }
                expected[id.text] = [document["edit"].string, "\(document.revisionID)"]
            }
        }
        #expect(found == expected, sourceLocation: place)
    }

    private func edit(_ number: Int, _ value: Int) throws {
        let document = try database.existing(DocumentID("d\(number)")).toMutable()
        document.set(String(value), forKey: "edit")
        try database.save(document)
    }

    @Test func `documents that have changed under the same key are found as they are now`() throws {
        try check()
        for number in 0..<20 { try edit(number, 1) }
        try check()
        for number in 0..<Self.count { try edit(number, 2) }
        try check()
        try database.compact()
        try check()
        #expect(try database.problems() == [])
    }

    @Test func `documents that were deleted, purged or made again are found as they are now`()
        throws
    {
        for number in 0..<20 { try database.delete(DocumentID("d\(number)")) }
        for number in 20..<40 { try database.purge(DocumentID("d\(number)")) }
        try check()
        for number in 10..<30 {
            let group = JSONValue.integer(Int64(number % 3))
            try database.create(DocumentID("d\(number)"), ["group": group, "edit": "3"])
        }
        try check()
        try database.compact()
        try check()
        #expect(try database.problems() == [])
    }

    @Test func `a query in a batch finds what the batch has written`() throws {
        try database.inBatch {
            for number in 0..<10 { try edit(number, 4) }
            try check()
            for number in 10..<20 { try database.delete(DocumentID("d\(number)")) }
            try check()
        }
        try check()
    }
}
