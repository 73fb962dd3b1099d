// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanStorage
import Testing

/// Rows whose checksum is right and whose content is not: an operation that meets one leaves nothing
/// half done.
@Suite struct MalformedRowTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// Replaces a row by bytes that break its format.
    private func spoil(
        _ store: (Stores) -> Store, _ key: [UInt8], _ row: [UInt8] = [0xFF, 0xFF]
    ) throws {
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            try writer.set(row.span, forKey: key.span, in: store(snapshot.core.stores))
        }
    }

    private func spoilRevision(_ sequence: SequenceNumber) throws {
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let row: [UInt8] = [0xFF, 0xFF]
            try writer.set(
                row.span, forKey: Int64(sequence), in: snapshot.core.stores.revisions)
        }
    }

    /// Makes a document in conflict; returns its first leaf.
    @discardableResult
    private func makeConflict(_ id: DocumentID) throws -> Document {
        let first = try database.create(id, ["n": 1])
        try database.putExistingRevision(id, ["n": 2], history: ["1-0"])
        return first
    }

    /// Everything that is stored, row by row.
    private func rows() throws -> [String] {
        var rows: [String] = []
        try database.inspect { rows.append("\($0.store) \($0.key) \($0.summary) \($0.byteCount)") }
        return rows
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 7], [UInt64.max, UInt64(Int64.max)])
    func `counters that no database comes to are damage`(word: Int, value: UInt64) throws {
        try database.create("a")
        var row: [UInt8] = []
        for position in 0..<9 {
            row.append(fixed64: position == word ? value : position == 6 || position == 8 ? 20 : 0)
        }
        try spoil(\.info, DatabaseState.key, row)
        let before = try rows()
        #expect(code { try database.create("b") } == .corrupted)
        #expect(code { try database.lastSequence } == .corrupted)
        #expect(try !database.verify().isEmpty)
        #expect(try rows() == before)
    }

    @Test(arguments: [6, 8], [0, UInt64(Int32.max) + 1, UInt64(Int64.max), .max])
    func `a stored limit of revisions that is out of bounds is the nearest one`(
        word: Int, value: UInt64
    ) throws {
        try database.create("a")
        let state = try database.core.read { try $0.state() }
        var row: [UInt8] = []
        try state.encode(into: &row)
        var limit: [UInt8] = []
        limit.append(fixed64: value)
        row.replaceSubrange(word * 8..<(word + 1) * 8, with: limit)
        try spoil(\.info, DatabaseState.key, row)
        let nearest = value == 0 ? 1 : Int(Int32.max)
        #expect(try (word == 6 ? database.revisionBodyLimit : database.revisionLimit) == nearest)
        try database.create("b")
        #expect(try database.verify().isEmpty)
        try database.setRevisionLimit(100)
        #expect(try database.revisionLimit == 100)
    }

    @Test(arguments: [UInt64.max, UInt64(Int64.max)])
    func `a transaction whose counters would be damage is refused and stores nothing`(value: UInt64)
        throws
    {
        try database.create("a")
        let before = try rows()
        for counter in [
            \.lastSequence, \.lastPurge, \.liveDocuments, \.deletedDocuments,
            \.conflictedDocuments, \.deadBodies, \.forgottenPurge,
        ] as [WritableKeyPath<DatabaseState, UInt64>] {
            #expect(
                code {
                    try database.core.write { context in context.state[keyPath: counter] = value }
                } == .corrupted)
        }
        #expect(try rows() == before)
        try database.create("b")
        #expect(try database.verify().isEmpty)
    }

    @Test func `a local document's counter does not overflow`() throws {
        var row: [UInt8] = []
        Varint.append(.max, to: &row)
        row += PackedValue.emptyObject.bytes
        #expect(throws: MalformedRow.self) {
            var refused: [UInt8] = []
            try LocalRecord(revision: .max, body: .emptyObject).encode(into: &refused)
        }
        try spoil(\.local, Array("l".utf8), row)
        #expect(code { try database.localDocument("l") } == .corrupted)
        #expect(code { try database.putLocalDocument("l", ["n": 1]) } == .corrupted)
        #expect(try database.verify().count == 1)
    }

    @Test func `an operation that fails in its middle dooms the batch`() throws {
        let document = try database.create("a", ["n": 1])
        try spoilRevision(document.sequence)
        let before = try rows()
        // A purge notices only when it removes the row; the batch does not care, but the commit does.
        var inside: [DatabaseError.Code?] = []
        let outcome = code {
            try database.inBatch {
                try database.create("b")
                inside.append(code { try database.purge("a") })
                inside.append(code { try database.create("c") })
            }
        }
        #expect(outcome == .corrupted)
        #expect(inside == [.corrupted, .corrupted])
        #expect(try rows() == before)
        try database.create("b")
    }

    @Test func `a nested batch that is undone takes the doom with it`() throws {
        let document = try database.create("a", ["n": 1])
        try spoilRevision(document.sequence)
        try database.inBatch {
            try database.create("b")
            let inside = code { try database.inBatch { try database.purge("a") } }
            #expect(inside == .corrupted)
            try database.create("c")
        }
        #expect(try database.allDocuments().map(\.id) == ["a", "b", "c"])
    }

    @Test func `an operation that fails before it writes leaves the batch as it was`() throws {
        try database.create("a", ["n": 1])
        try spoil(\.documents, Array("a".utf8))
        try database.inBatch {
            try database.create("b")
            #expect(code { try database.delete("a") } == .corrupted)
            #expect(code { try database.purge("a") } == .corrupted)
            #expect(
                code { try database.putExistingRevision("a", [:], history: ["1-x"]) } == .corrupted)
            try database.create("c")
        }
        #expect(try database.documentCount == 3)
        #expect(try database.document(withID: "c") != nil)
    }

    @Test func `a compaction that meets damage leaves its batch undone`() throws {
        for id: DocumentID in ["a", "b", "c"] {
            try database.create(id, ["n": 1])
            try database.update(id) { $0["n"] = 2 }
        }
        let dead = try #require(try database.revisionTree(of: "b")?.nodes.last?.sequence)
        try spoilRevision(dead)
        let before = try rows()
        #expect(code { try database.compact() } == .corrupted)
        #expect(try rows() == before)
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `a resolution that meets damage leaves the conflict`() throws {
        try database.setRevisionBodyLimit(1)
        let first = try makeConflict("a")
        let conflict = try #require(try database.conflict(of: "a"))
        // With a depth of 1 the resolution removes the old leaves' rows, of which one is damaged.
        try spoilRevision(first.sequence)
        let before = try rows()
        #expect(code { try database.resolve(conflict, by: .save(["n": 3])) } == .corrupted)
        #expect(try rows() == before)
    }

    @Test func `damaged documents hold up no resolution of other conflicts`() throws {
        // More of them than are read at once.
        let damaged = (100..<220).map { DocumentID("a\($0)") }
        for id in damaged {
            try makeConflict(id)
            try spoil(\.documents, Array(id.text.utf8))
        }
        try makeConflict("b")
        let report = try database.resolveConflicts(with: .keepWinner)
        #expect(report.resolved == 1)
        #expect(report.failures.map(\.id) == damaged)
        #expect(report.failures.allSatisfy { ($0.error as? DatabaseError)?.code == .corrupted })
        #expect(try database.conflict(of: "b") == nil)
    }

    @Test func `damage that a resolution meets undoes no resolution of other conflicts`() throws {
        // With a depth of 1 the resolution removes the old leaves' rows, of which one is damaged.
        try database.setRevisionBodyLimit(1)
        for id: DocumentID in ["a", "c"] { try makeConflict(id) }
        let first = try makeConflict("b")
        let report = try database.resolveConflicts { conflict in
            if conflict.id == "b" { try spoilRevision(first.sequence) }
            return .save(["n": 3])
        }
        #expect(report.resolved == 2)
        #expect(report.failures.map(\.id) == ["b"])
        #expect((report.failures.first?.error as? DatabaseError)?.code == .corrupted)
        #expect(try database.existing("c")["n"].int == 3)
        #expect(try database.conflictCount == 1)
    }
}
