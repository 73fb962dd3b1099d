// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPlatform
import DivanTestSupport
import Testing

/// Finding with random indexes agrees with looking through all documents.
///
/// Soak slices: 4
@Suite struct FindReferenceTests {
    private static let order = ValueOrder(.unicode, strings: ICUCollator.root)

    @Test func `random queries with random indexes agree with the naive model`() throws {
        for round in Soak.rounds(test: 60, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0xF1D)
            let database = try Database.inMemory()
            var documents: [DocumentID: JSONValue] = [:]
            try Self.declare(database, &random)
            for _ in 0..<3 {
                try Self.edit(database, &documents, &random)
                for _ in 0..<4 { try Self.ask(database, documents, &random, round) }
            }
            #expect(try database.problems() == [], "round \(round)")
        }
    }

    private static func declare(_ database: Database, _ random: inout SeededRandom) throws {
        for number in 0..<random.below(4) {
            var paths = Set((0..<random.below(3) + 1).map { _ in RandomSelector.path(&random) })
            if random.oneIn(3), let first = paths.popFirst() {
                paths.insert(first + (random.oneIn(2) ? "[]" : "[].a"))
            }
            if paths.isEmpty { paths = ["a"] }
            // Whatever orders indexes have, they never change a result.
            let collations: [Collation?] = [nil, nil, .unicode, .raw, .ascii]
            try database.createIndex(
                PropertyIndex(
                    named: "i\(number)", on: Array(paths),
                    collation: random.element(of: collations)))
        }
    }

    private static func edit(
        _ database: Database, _ documents: inout [DocumentID: JSONValue],
        _ random: inout SeededRandom
    ) throws {
        try database.inBatch {
            for _ in 0..<random.below(60) {
                let id: DocumentID = "d\(random.below(80))"
                if try database.contains(id) {
                    if random.oneIn(2) { try database.purge(id) } else { try database.delete(id) }
                    documents[id] = nil
                }
                guard !random.oneIn(5) else { continue }
                let body = RandomSelector.document(3, &random)
                try database.create(id, body)
                documents[id] = .object(body)
            }
        }
    }

    private static func ask(
        _ database: Database, _ documents: [DocumentID: JSONValue], _ random: inout SeededRandom,
        _ round: Int
    ) throws {
        let json = RandomSelector.selector(2, &random)
        let reference = ReferenceSelector(json)
        var query = try database.find(selector: json)
        query.sort = (0..<random.below(3)).map { _ in
            SortKey(RandomSelector.path(&random), isDescending: random.oneIn(2))
        }
        let expected = documents.filter { !reference.isEmptyList && reference.matches($0.value) }
        let sorted = expected.sorted { comesBefore($0, $1, query.sort) }.map(\.key)
        let found = try query.run().map(\.id)
        if query.sort.isEmpty {
            #expect(found.sorted() == sorted.sorted(), "round \(round): \(json)")
        } else {
            #expect(found == sorted, "round \(round): \(json) by \(query.sort)")
        }
        #expect(Set(found).count == found.count)
        // The same by pages.
        query.limit = random.below(4) + 1
        var paged: [DocumentID] = []
        while true {
            let page = try query.run()
            paged += page.map(\.id)
            guard let bookmark = page.bookmark, paged.count <= found.count else { break }
            query.bookmark = bookmark
        }
        #expect(paged.sorted() == sorted.sorted(), "round \(round): pages of \(json)")
        if !query.sort.isEmpty { #expect(paged == sorted, "round \(round): pages of \(json)") }
    }

    private static func comesBefore(
        _ left: (key: DocumentID, value: JSONValue), _ right: (key: DocumentID, value: JSONValue),
        _ sort: [SortKey]
    ) -> Bool {
        for key in sort {
            let place = compare(value(left.value, key.path), value(right.value, key.path))
            if place != 0 { return (place < 0) != key.isDescending }
        }
        let isReversed = !sort.isEmpty && sort.allSatisfy(\.isDescending)
        return left.key.text.utf8.lexicographicallyPrecedes(right.key.text.utf8) != isReversed
    }

    private static func compare(_ left: JSONValue?, _ right: JSONValue?) -> Int {
        guard let left, let right else { return (left == nil ? 0 : 1) - (right == nil ? 0 : 1) }
        return order.collate(left, right)
    }

    private static func value(_ document: JSONValue, _ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(JSONValue?.some(document)) { value, step in
            if case .array? = value { return Int(step).flatMap { value?[$0] } }
            return value?[String(step)]
        }
    }
}
