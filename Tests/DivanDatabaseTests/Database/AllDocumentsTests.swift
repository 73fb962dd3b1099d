// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct AllDocumentsTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func ids(_ adjust: (inout AllDocumentsOptions) -> Void = { _ in }) throws -> [String] {
        var options = AllDocumentsOptions()
        adjust(&options)
        return try database.allDocuments(options).map(\.id.text)
    }

    @Test func `documents come in the bytewise order of their IDs`() throws {
        let sorted = ["A", "Z", "_design/x", "a", "aa", "b", "\u{E9}", "\u{FF5E}", "\u{1F600}"]
        for id in sorted.shuffled() { try database.create(DocumentID(id)) }
        #expect(try ids() == sorted)
        #expect(try ids { $0.descending = true } == sorted.reversed())
    }

    @Test func `an empty database has none`() throws {
        #expect(try ids() == [])
        #expect(try ids { $0.descending = true } == [])
        #expect(try ids { $0.startID = "a" } == [])
    }

    @Test func `start and end are inclusive and need not exist`() throws {
        for id: DocumentID in ["a", "b", "c", "d"] { try database.create(id) }
        #expect(try ids { ($0.startID, $0.endID) = ("b", "c") } == ["b", "c"])
        #expect(try ids { ($0.startID, $0.endID) = ("aa", "cc") } == ["b", "c"])
        #expect(try ids { ($0.startID, $0.endID) = ("c", "b") } == [])
        #expect(
            try ids { ($0.startID, $0.endID, $0.descending) = ("c", "b", true) } == ["c", "b"])
        #expect(
            try ids { ($0.startID, $0.endID, $0.descending) = ("cc", "aa", true) } == ["c", "b"])
    }

    @Test func `deleted documents come when they are asked for`() throws {
        for id: DocumentID in ["a", "b"] { try database.create(id) }
        let tombstone = try database.delete("a")
        #expect(try ids() == ["b"])
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        options.includeDocuments = true
        let rows = try database.allDocuments(options)
        #expect(rows.map(\.id) == ["a", "b"])
        #expect(rows.map(\.isDeleted) == [true, false])
        #expect(rows[0].revisionID == tombstone.revisionID)
        #expect(rows[0].document?.isDeleted == true)
    }

    @Test func `rows tell revision, sequence and conflict`() throws {
        let first = try database.create("a", ["n": 1])
        try database.putExistingRevision("a", [:], history: ["1-0"])
        let second = try database.create("b")
        let rows = try database.allDocuments()
        #expect(rows.map(\.revisionID) == [first.revisionID, second.revisionID])
        #expect(rows.map(\.sequence) == [1, 3])
        #expect(rows.map(\.isConflicted) == [true, false])
        #expect(rows.allSatisfy { $0.document == nil })
    }

    @Test func `an error from the closure ends the enumeration`() throws {
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        var seen = 0
        #expect(throws: Whim()) {
            try database.forEachDocument { _ in
                seen += 1
                if seen == 2 { throw Whim() }
            }
        }
        #expect(seen == 2)
        try database.create("d")
    }

    @Test func `an error from the closure ends the enumeration of IDs`() throws {
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        var seen: [UInt8] = []
        #expect(throws: Whim()) {
            try database.forEachDocumentID { id in
                seen.append(id[0])
                if seen.count == 2 { throw Whim() }
            }
        }
        #expect(seen == Array("ab".utf8))
        try database.create("d")
    }

    @Test func `every combination of options equals a naive filter`() throws {
        var random = Soak.random(round: 0, salt: 21)
        var reference: [(id: String, isDeleted: Bool, isConflicted: Bool, n: Int)] = []
        try database.inBatch {
            var taken: Set<String> = []
            for n in 0..<300 {
                let id = Self.randomID(&random)
                guard taken.insert(id).inserted else { continue }
                // Some bodies are large, so that they lie elsewhere.
                let filler = String(repeating: "x", count: random.oneIn(20) ? 20_000 : 3)
                try database.create(
                    DocumentID(id), ["n": .integer(Int64(n)), "f": .string(filler)])
                let isConflicted = random.oneIn(6)
                if isConflicted {
                    try database.putExistingRevision(DocumentID(id), [:], history: ["1-0"])
                }
                let isDeleted = !isConflicted && random.oneIn(5)
                if isDeleted { try database.delete(DocumentID(id)) }
                if random.oneIn(8), !isDeleted {
                    try database.update(DocumentID(id)) { $0["more"] = true }
                }
                reference.append((id, isDeleted, isConflicted, n))
            }
        }
        reference.sort { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }

        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round, salt: 22)
            var options = AllDocumentsOptions()
            if random.oneIn(2) {
                options.startID =
                    random.oneIn(2)
                    ? DocumentID(reference[random.below(reference.count)].id)
                    : DocumentID(Self.randomID(&random))
            }
            if random.oneIn(2) {
                options.endID =
                    random.oneIn(2)
                    ? DocumentID(reference[random.below(reference.count)].id)
                    : DocumentID(Self.randomID(&random))
            }
            options.descending = random.oneIn(2)
            if random.oneIn(2) { options.skip = random.below(random.oneIn(2) ? 20 : 320) }
            if random.oneIn(2) { options.limit = random.below(40) }
            options.includeDeleted = random.oneIn(2)
            options.onlyConflicts = random.oneIn(3)
            options.includeDocuments = random.oneIn(3)
            options.excludesStart = random.oneIn(3)
            options.excludesEnd = random.oneIn(3)

            let ordered = options.descending ? reference.reversed() : reference
            func isBefore(_ left: String, _ right: String) -> Bool {
                let isLess = left.utf8.lexicographicallyPrecedes(right.utf8)
                return options.descending ? !isLess && left != right : isLess
            }
            let expected =
                ordered
                .filter { row in options.startID.map { !isBefore(row.id, $0.text) } ?? true }
                .filter { row in options.endID.map { !isBefore($0.text, row.id) } ?? true }
                .filter { !options.excludesStart || $0.id != options.startID?.text }
                .filter { !options.excludesEnd || $0.id != options.endID?.text }
                .filter { options.includeDeleted || !$0.isDeleted }
                .filter { !options.onlyConflicts || $0.isConflicted }
                .dropFirst(options.skip).prefix(options.limit ?? .max)
            let rows = try database.allDocuments(options)
            #expect(rows.map(\.id.text) == expected.map(\.id), "seed \(Soak.seed), round \(round)")
            var lent: [String] = []
            try database.forEachDocumentID(options) { lent.append(DocumentID(copying: $0).text) }
            #expect(lent == expected.map(\.id), "seed \(Soak.seed), round \(round)")
            guard options.includeDocuments else { continue }
            for (row, expected) in zip(rows, expected) where !expected.isDeleted {
                #expect(row.document?.int(forKey: "n") == expected.n)
                #expect(row.document?.id == row.id)
                #expect(row.document?.revisionID == row.revisionID)
            }
        }
    }

    private static func randomID(_ random: inout SeededRandom) -> String {
        let letters = ["a", "b", "c", "\u{E9}", "\u{1F600}", "0", "~"]
        return (0...random.below(3)).map { _ in random.element(of: letters) }.joined()
    }
}
