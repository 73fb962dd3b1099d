// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanIndex
@testable import DivanQuery

/// Indexes that are new, which documents without rows do not come to.
struct NewIndexTests {
    private let sandbox = Sandbox()

    @Test func `a document without rows is left out of a new index, and counted`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<900, in: database)
        let view = Self.views(of: database)[1]
        for (newThrough, kept) in [(SequenceNumber.max, 300), (600, 500), (0, 900)] {
            var index = OutdatedIndex(unstored: try view.definition())
            index.newThrough = newThrough
            let piece = try IndexPiece(database.core, for: [index], after: 0, purge: nil)
            let rows = try piece.mapped().rows[0]
            #expect(rows.count == 900)
            #expect(rows.emissions.count == kept)
            #expect(rows.positions.count == kept)
            for (place, position) in rows.positions.enumerated() {
                #expect(try rows.emissions.documentID(place).text == "\(position)")
            }
        }
    }

    @Test func `a document without rows whose map fails is reported by a new index`() throws {
        struct Refusal: Error {}
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<300, in: database)
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in
            let number = document.int(forKey: "n")
            if number == 100 { throw Refusal() }
            if number > 200 { emit(Int64(number), nil) }
        }
        #expect(try view.totalRows == 99)
        #expect(view.failures.map(\.documentID) == ["100"])
        #expect(view.statistics.documents == 300)
    }

    @Test func `a row that is emitted after the map function has returned is nobody's`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<9, in: database)
        // What is on purpose wrong: an emitter kept from the document before.
        nonisolated(unsafe) var kept: Emitter?
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in
            if document.int(forKey: "n") == 3 { kept = emit }
        }
        let other = database.view(named: "other")
        other.setMap(version: "1") { document, emit in
            kept?(document["n"], nil)
            emit(document["n"], nil)
        }
        #expect(try other.totalRows == 9)
        #expect(try view.totalRows == 0)
        #expect(try database.verify().map(\.message) == [])
    }

    @Test func `whatever led to it, a new index has the rows of every document`() throws {
        for round in Soak.rounds(test: 40, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x1E0)
            // Some builds are one write, some are many.
            let memory = [4_000, 20_000, 32 << 20][round % 3]
            let database = try sandbox.database("\(round)") { $0.indexingMemory = memory }
            defer { database.close() }
            for number in 0..<3 {
                try edit(database, count: random.below(400), &random)
                let views = Self.views(of: database, version: "\(number / 2)")
                for (remainder, view) in views.enumerated() {
                    var expected: [DocumentID] = []
                    try database.forEachDocument { row in
                        let document = try #require(try database.document(withID: row.id))
                        guard document.int(forKey: "n") % 3 == remainder else { return }
                        expected.append(row.id)
                    }
                    let found = try view.query().run().map { $0.documentID ?? "" }
                    #expect(found.sorted() == expected.sorted(), "round \(round)")
                }
            }
            #expect(try database.verify().map(\.message) == [], "round \(round)")
        }
    }

    // MARK: - Helpers

    /// Views of a third of the documents each.
    private static func views(of database: Database, version: String = "1") -> [DatabaseView] {
        (0..<3).map { remainder in
            let view = database.view(named: "view \(remainder)")
            view.setMap(version: version) { document, emit in
                guard document.int(forKey: "n") % 3 == remainder else { return }
                emit(document["n"], nil)
            }
            return view
        }
    }

    private func save(_ numbers: Range<Int>, in database: Database) throws {
        try database.inBatch {
            for number in numbers {
                try database.save(
                    MutableDocument(["n": .integer(Int64(number))], id: "\(number)"))
            }
        }
    }

    /// New documents, changed ones, conflicts, deletions and purges, of whole documents and of leaves.
    private func edit(
        _ database: Database, count: Int, _ random: inout DivanTestSupport.SeededRandom
    ) throws {
        try database.inBatch {
            for _ in 0..<count {
                let id: DocumentID = "d\(random.below(150))"
                let body: JSONObject = ["n": .integer(Int64(random.below(9)))]
                let leaf: RevisionID = "1-\(["a", "b", "c", "d"][random.below(4)])"
                switch random.below(12) {
                case 0: try database.purge(id)
                case 1: _ = try database.purge(id, revisions: [leaf])
                case 2:
                    try database.putExistingRevision(
                        id, [:], history: ["2-e", leaf], isDeleted: true)
                case 3: try database.putExistingRevision(id, body, history: ["2-f", leaf])
                default: try database.putExistingRevision(id, body, history: [leaf])
                }
            }
        }
    }
}
