// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanMaintenance
import DivanModel
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanIndex
@testable import DivanQuery

/// The feed as indexes get it: in pieces, which all cores read and map at once.
struct IndexPieceTests {
    private let sandbox = Sandbox()

    @Test func `every document is in one piece, in the order of the feed`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<7_000, in: database)
        let pieces = try pieces(of: database)
        try expectFeed(pieces, of: database)
        #expect(pieces.map(\.items.count) == [5_000, 2_000])
    }

    @Test func `long stretches without documents are passed in few steps`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<300, in: database)
        for _ in 0..<40 { try save(100..<300, in: database) }
        try save(7_000..<7_400, in: database)
        try database.compact()
        let pieces = try pieces(of: database)
        try expectFeed(pieces, of: database)
        #expect(pieces.count == 1)
    }

    @Test func `a piece ends where its bodies are many bytes, and drops nothing`() throws {
        let database = try sandbox.database { $0.indexingMemory = 4 << 20 }
        defer { database.close() }
        // A part has four large ones, a stretch ten, a piece fourteen: so stretches end midway, and what
        // other threads have read behind that must come again.
        let text = String(repeating: "large ", count: 50_000)
        for start in stride(from: 0, to: 3_000, by: 50) {
            try save(start..<start + 50, in: database)
            try database.save(MutableDocument(["text": .string(text)], id: "large \(start)"))
        }
        let pieces = try pieces(of: database)
        try expectFeed(pieces, of: database)
        #expect(pieces.count > 3)
        #expect(pieces.allSatisfy { $0.bytes < 8 << 20 })
    }

    @Test func `the parts of a write tell the feed, whatever was written and read`() throws {
        for round in Soak.rounds(test: 12, soak: 1_000) {
            var random = Soak.random(round: round, salt: 0xBA7C)
            let memory = [200_000, 1 << 20, 32 << 20][random.below(3)]
            let database = try sandbox.database("\(round)") { $0.indexingMemory = memory }
            defer { database.close() }
            for _ in 0...random.below(6) { try change(database, &random) }
            var outdated: [OutdatedIndex] = []
            for number in 0...random.below(3) {
                let view = database.view(named: "view \(number)")
                view.setMap(version: "1") { document, emit in
                    if document.int(forKey: "n") % 2 == 0 { emit(document["n"], document["text"]) }
                }
                let definition = try view.definition()
                if random.oneIn(2) { try view.updateIndex() }
                let record = try database.core.write { context in
                    try context.transaction().1.indexRecord(definition.name)
                        ?? context.makeIndex(
                            definition.name, signature: definition.signature,
                            version: definition.version)
                }
                outdated.append(OutdatedIndex(definition: definition, record: record))
            }
            for _ in 0...random.below(6) { try change(database, &random) }
            let start = outdated.map(\.record.lastSequence).min() ?? 0
            let first = try IndexPiece(
                database.core, for: outdated, after: start,
                purge: outdated.map(\.record.lastPurge).min(), count: 1 + random.below(2_000))
            var part = first.first.emptied
            part.checkInvariants()
            try first.map(adding: &part)
            part.checkInvariants()
            if random.oneIn(2) { part.narrow(to: outdated.dropLast().map(\.definition)) }
            part.makeRoom(memory: memory)
            while part.lastSequence < part.bound {
                // A later part stands in a later snapshot.
                if random.oneIn(3) { try save(5..<20, in: database) }
                let piece = try IndexPiece(
                    database.core, for: part.indexes, after: part.lastSequence, purge: nil,
                    through: part.bound, count: part.nextCount(memory: memory))
                if random.oneIn(2) {
                    try claim(piece, &random)
                } else {
                    try piece.map(adding: &part)
                }
                piece.checkInvariants()
                part.checkInvariants()
            }
            for place in part.indexes.indices { part.addPurged(to: place) }
            part.checkInvariants()
            let pass = IndexPass(core: database.core, definitions: outdated.map(\.definition))
            let state = try database.core.read { try $0.state() }
            _ = try pass.run()
            try pass.checkInvariants(from: state)
        }
    }

    /// Reads several stretches of a piece by turns, and throws away what is read.
    private func claim(_ piece: IndexPiece, _ random: inout DivanTestSupport.SeededRandom) throws {
        var stretches: [IndexPiece.Stretch] = []
        var isComplete = false
        while !isComplete || !stretches.isEmpty {
            if !isComplete, stretches.isEmpty || random.oneIn(3) {
                if let stretch = piece.claim() {
                    stretches.append(stretch)
                } else {
                    isComplete = true
                }
            } else if !stretches.isEmpty {
                let index = random.below(stretches.count)
                if try piece.read(&stretches[index]) == nil { stretches.remove(at: index) }
            }
            piece.checkInvariants(stretches)
        }
    }

    private func change(_ database: Database, _ random: inout DivanTestSupport.SeededRandom) throws
    {
        let start = random.below(3_000)
        switch random.below(6) {
        case 0:
            let text = String(repeating: "large ", count: 20_000)
            for _ in 0..<random.below(12) {
                try database.save(MutableDocument(["text": .string(text)]))
            }
        case 1: for number in start..<start + 20 { try database.purge("\(number)") }
        case 2: try database.compact()
        default: try save(start..<start + random.below(800), in: database)
        }
    }

    @Test func `in a batch a piece has what the batch wrote`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<1_000, in: database)
        try database.inBatch {
            try save(1_000..<3_000, in: database)
            try expectFeed(try pieces(of: database), of: database)
        }
    }

    @Test func `what an index makes of a lent body is what it makes of the document`() throws {
        let paths = [
            ["a"], ["a.b"], ["a.0"], ["a[1]"], ["a.b[0].c", "b"], ["0"], ["b.a", "a", "c"],
        ]
        let maps = try paths.map { try PropertyIndexMap(PropertyIndex(on: $0)).definition }
        let lents = try maps.map { map in
            let make = try #require(map.makeLentMap)
            return make()
        }
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0x1E27)
            var body = JSONObject()
            for key in ["a", "b", "0"] where random.oneIn(2) {
                body[key] = Self.value(&random, depth: 3)
            }
            let packed = PackedValue(.object(body))
            let id = DocumentID("d\(round)")
            let document = Document(
                id: id, revisionID: RevisionID("1-a"), sequence: 1, isDeleted: false,
                body: packed, store: 0)
            for (map, lent) in zip(maps, lents) {
                var (ofDocument, ofBody) = (EmissionBatch(), EmissionBatch())
                ofDocument.begin(id)
                try EmissionSink(map.coder).collect(document, by: map, into: &ofDocument)
                ofDocument.end()
                ofBody.begin(id)
                packed.withBytes { lent($0, &ofBody) }
                ofBody.end()
                #expect(ofBody.bytes == ofDocument.bytes, "round \(round): \(body)")
            }
        }
    }

    @Test func `only an index on plain properties is lent bodies`() throws {
        func isLent(_ index: PropertyIndex) throws -> Bool {
            try PropertyIndexMap(index).definition.makeLentMap != nil
        }
        #expect(try isLent(PropertyIndex(on: "a", "b.c")))
        #expect(try !isLent(PropertyIndex(on: "a[]")))
        #expect(try !isLent(PropertyIndex(on: "_id")))
        #expect(try !isLent(PropertyIndex(on: "a", filter: DocumentSelector(json: ["b": 1]))))
    }

    // MARK: - Helpers

    private static func value(_ random: inout DivanTestSupport.SeededRandom, depth: Int)
        -> JSONValue
    {
        switch random.below(depth > 0 ? 4 : 2) {
        case 0: return RandomJSON.value(using: &random)
        case 1: return .integer(Int64(random.below(5)))
        case 2: return .array((0..<random.below(3)).map { _ in value(&random, depth: depth - 1) })
        default:
            var object = JSONObject()
            for key in ["a", "b", "c", "0"] where random.oneIn(2) {
                object[key] = value(&random, depth: depth - 1)
            }
            return .object(object)
        }
    }

    private func save(_ numbers: Range<Int>, in database: Database) throws {
        try database.inBatch {
            for number in numbers {
                let id: DocumentID = "\(number)"
                let document =
                    try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
                document.set(document.int(forKey: "n") + 1, forKey: "n")
                try database.save(document)
            }
        }
    }

    @Test func `parts are added in the order of the feed, whichever is made first`() throws {
        for round in Soak.rounds(test: 20, soak: 500) {
            var random = Soak.random(round: round, salt: 0x9A27)
            let database = try Database.inMemory()
            try save(0..<3_000, in: database)
            let definition = try PropertyIndexMap(PropertyIndex(on: "n")).definition
            let piece = try IndexPiece(
                database.core, for: [OutdatedIndex(unstored: definition)], after: 0, purge: nil)
            var parts = [piece.first]
            while var stretch = piece.claim() {
                while let part = try piece.read(&stretch) { parts.append(part) }
            }
            #expect(parts.count > 8)
            // Where one is missing, those before it count.
            let missing = random.oneIn(2) ? random.below(parts.count) : parts.count
            var work = IndexPiece.Work(whole: piece.first.emptied)
            for place in parts.indices.shuffled(using: &random) where place != missing {
                work.add(try parts[place].mapped(unless: nil))
            }
            let expected = parts[..<missing].flatMap { $0.items.map(\.sequence) }
            #expect(work.whole.items.map(\.sequence) == expected, "round \(round)")
            #expect(work.whole.rows[0].emissions.count == expected.count)
            #expect(work.whole.lastSequence == (parts[..<missing].last?.lastSequence ?? 0))
            work.whole.checkInvariants()
        }
    }

    /// All pieces from the first change on, for an index of documents and one of lent bodies.
    private func pieces(of database: Database) throws -> [IndexPart] {
        let view = database.view(named: "all")
        view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
        let definitions = [
            try view.definition(), try PropertyIndexMap(PropertyIndex(on: "n")).definition,
        ]
        let last = try database.core.read { try $0.state() }.lastSequence
        var pieces: [IndexPart] = []
        var sequence: SequenceNumber = 0
        while sequence < last {
            let piece = try IndexPiece(
                database.core, for: definitions.map { OutdatedIndex(unstored: $0) },
                after: sequence, purge: nil
            ).mapped()
            piece.checkInvariants()
            #expect(piece.lastSequence > sequence)
            sequence = piece.lastSequence
            pieces.append(piece)
        }
        return pieces
    }

    /// Compares the documents of pieces with those that changes tell of.
    private func expectFeed(_ pieces: [IndexPart], of database: Database) throws {
        let changes = try database.changes(since: 0).changes.map(\.id)
        for index in 0..<2 {
            let ids = try pieces.flatMap { piece in
                let rows = piece.rows[index]
                #expect(rows.positions == Array(piece.items.indices))
                return try (0..<rows.emissions.count).map {
                    try rows.emissions.documentID($0)
                }
            }
            #expect(ids == changes)
        }
    }
}
