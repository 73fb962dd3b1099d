// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPlatform
import DivanTestSupport
import Testing

/// What a partition answers is what the whole database answers, without the documents of others.
///
/// Soak slices: 2
@Suite struct PartitionReferenceTests {
    /// Names that lie beside each other, that Swift takes for equal, and that an index keeps put together.
    private static let names = [
        "a", "aa", "a b", "e\u{301}", "\u{E9}", "12", "12ab34cd", "deadbeef-0000", "\u{1F600}", ";",
    ]

    private struct Pair {
        let database: Database
        let parts: DatabaseView
        let whole: DatabaseView
    }

    @Test func `random queries of a partition agree with filtered queries of all`() throws {
        for round in Soak.rounds(test: 30, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x9A27)
            let pair = try Self.pair(&random)
            for _ in 0..<3 {
                try Self.edit(pair.database, &random)
                for _ in 0..<6 {
                    try Self.compareRows(pair, &random, round)
                    try Self.compareFound(pair.database, &random, round)
                }
            }
            #expect(try pair.database.problems() == [], "round \(round)")
        }
    }

    private static func pair(_ random: inout SeededRandom) throws -> Pair {
        let database = try Database.inMemory(partitioned: true)
        let (parts, whole) = (database.view(named: "parts"), database.view(named: "whole"))
        parts.isPartitioned = true
        let collation: Collation = random.oneIn(2) ? .unicode : .raw
        for view in [parts, whole] {
            view.collation = collation
            view.setMap(version: "1", reduce: .sum) { document, emit in
                for key in document["keys"].array ?? [] { emit(key, document["n"]) }
            }
        }
        if random.oneIn(2) {
            var index = PropertyIndex(named: "n", on: "n", "keys")
            index.isPartitioned = random.oneIn(2)
            try database.createIndex(index)
        }
        return Pair(database: database, parts: parts, whole: whole)
    }

    private static func edit(_ database: Database, _ random: inout SeededRandom) throws {
        try database.inBatch {
            for _ in 0..<random.below(60) + 1 {
                let id = DocumentID(
                    partition: random.element(of: names), "\(random.below(12))")
                if try database.contains(id) {
                    if random.oneIn(2) { try database.purge(id) } else { try database.delete(id) }
                }
                guard !random.oneIn(5) else { continue }
                let keys = (0..<random.below(4)).map { _ in key(&random) }
                try database.create(
                    id, ["n": .integer(Int64(random.below(9))), "keys": .array(keys)])
            }
        }
    }

    private static func key(_ random: inout SeededRandom) -> JSONValue {
        switch random.below(4) {
        case 0: .integer(Int64(random.below(5)))
        case 1: .string(random.element(of: names))
        case 2: [.string(random.element(of: names)), .integer(Int64(random.below(3)))]
        default: .null
        }
    }

    private static func compareRows(_ pair: Pair, _ random: inout SeededRandom, _ round: Int) throws
    {
        let name = random.element(of: names)
        let partition = pair.database.partition(name)
        var query = partition.query(pair.parts)
        query.descending = random.oneIn(2)
        if random.oneIn(2) { query.startKey = key(&random) }
        if random.oneIn(2) { query.endKey = key(&random) }
        query.inclusiveEnd = !random.oneIn(3)
        if random.oneIn(4) { query.keys = [key(&random), key(&random)] }
        var reference = query
        reference = pair.whole.query()
        (reference.startKey, reference.endKey) = (query.startKey, query.endKey)
        (reference.keys, reference.descending) = (query.keys, query.descending)
        reference.inclusiveEnd = query.inclusiveEnd
        reference.mapOnly = true
        reference.filter = { $0.sourceDocumentID.map(partition.owns) ?? false }
        let expected = try reference.run().map(Line.init)

        query.mapOnly = true
        #expect(try query.run().map(Line.init) == expected, "round \(round)")
        query.skip = random.below(4)
        query.limit = random.below(6)
        #expect(
            try query.run().map(Line.init)
                == Array(expected.dropFirst(query.skip).prefix(query.limit ?? 0)), "round \(round)")
        (query.skip, query.limit, query.mapOnly) = (0, nil, false)
        let sum = try query.run().first?.value
        let sums = expected.compactMap { $0.value?.int64 }.reduce(0, +)
        #expect(sum == (expected.isEmpty ? nil : .integer(sums)), "round \(round)")
        guard query.keys == nil else { return }
        query.grouping = .exact
        var groups: [(key: JSONValue, sum: Int64)] = []
        for line in expected {
            let value = line.value?.int64 ?? 0
            if groups.last?.key == line.key {
                groups[groups.count - 1].sum += value
            } else {
                groups.append((line.key, value))
            }
        }
        let found = try query.run()
        #expect(found.map(\.key) == groups.map(\.key), "round \(round)")
        #expect(found.map(\.value) == groups.map { .integer($0.sum) }, "round \(round)")
    }

    /// A row without its place in an index.
    private struct Line: Equatable {
        let key: JSONValue
        let value: JSONValue?
        let id: DocumentID?

        init(_ row: QueryRow) { (key, value, id) = (row.key, row.value, row.sourceDocumentID) }
    }

    private static func compareFound(
        _ database: Database, _ random: inout SeededRandom, _ round: Int
    ) throws {
        let partition = database.partition(random.element(of: names))
        let least = random.below(9)
        var query = try partition.find(selector: ["n": ["$gte": .integer(Int64(least))]])
        let isSorted = random.oneIn(2)
        if isSorted { query.sort = [SortKey("n", isDescending: random.oneIn(2))] }
        var whole = query
        whole.partition = nil
        let expected = try whole.run().map(\.id).filter(partition.owns)
        let found = try query.run().map(\.id)
        #expect(
            isSorted
                ? found == expected : Set(found) == Set(expected) && found.count == expected.count,
            "round \(round)")
        #expect(
            try partition.allDocuments().map(\.id)
                == database.allDocuments().map(\.id).filter(partition.owns), "round \(round)")
        #expect(
            try partition.info().documentCount == partition.allDocuments().count, "round \(round)")
    }
}
