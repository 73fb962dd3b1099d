// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Views agree with a naive model on random documents, edits and queries.
@Suite struct ViewReferenceTests {
    @Test func `every query agrees with the naive model`() throws {
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x71E3)
            try Self.run(round, &random)
        }
    }

    private static func run(_ round: Int, _ random: inout SeededRandom) throws {
        let database = try Database.inMemory()
        let view = database.view(named: "v")
        let collation = [Collation.unicode, .raw, .ascii][round % 3]
        view.collation = collation
        view.setMap(version: "1", reduce: .sum) { document, emit in
            for row in document["rows"].array ?? [] { emit(row["k"] ?? .null, row["v"]) }
        }
        var model = ReferenceView(collation)
        for _ in 0..<4 {
            try edit(database, &model, &random)
            for _ in 0..<4 { try ask(view, model, &random, round) }
        }
        #expect(try database.problems() == [], "round \(round)")
    }

    // MARK: - Edits

    private static func edit(
        _ database: Database, _ model: inout ReferenceView, _ random: inout SeededRandom
    ) throws {
        for _ in 0..<Int.random(in: 1...25, using: &random) {
            let id: DocumentID = "d\(Int.random(in: 0..<40, using: &random))"
            let exists = try database.contains(id)
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where exists:
                try database.delete(id)
                model.set(id.text, nil)
            case 1 where exists:
                try database.purge(id)
                model.set(id.text, nil)
            default:
                let rows = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                    (key: key(&random), value: Int64.random(in: -99...99, using: &random))
                }
                let list = JSONValue.array(
                    rows.map { .object(["k": $0.key, "v": .integer($0.value)]) })
                if exists {
                    try database.update(id) { $0["rows"] = Fragment(list) }
                } else {
                    try database.create(id, ["rows": list])
                }
                model.set(id.text, rows)
            }
        }
    }

    /// Few enough different keys that ranges, groups and equal keys are met.
    private static func key(_ random: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .integer(Int64.random(in: -3...3, using: &random))
        case 3: return .double(Double(Int.random(in: -4...4, using: &random)) / 2)
        case 4:
            return .string(["", "a", "A", "b", "\u{e9}", "ab"].randomElement(using: &random) ?? "")
        case 5: return RandomJSON.value(using: &random)
        default:
            let items = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                let number = Int64.random(in: 0...2, using: &random)
                return Bool.random(using: &random)
                    ? JSONValue.integer(number) : .double(Double(number))
            }
            return .array(items)
        }
    }

    // MARK: - Queries

    private static func ask(
        _ view: DatabaseView, _ model: ReferenceView, _ random: inout SeededRandom, _ round: Int
    ) throws {
        var query = view.query()
        let keys = model.rows.map(\.key)
        func bound(_ random: inout SeededRandom) -> JSONValue? {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: nil
            case 1: keys.randomElement(using: &random)
            default: key(&random)
            }
        }
        query.startKey = bound(&random)
        query.endKey = bound(&random)
        query.inclusiveStart = Int.random(in: 0..<4, using: &random) > 0
        query.inclusiveEnd = Int.random(in: 0..<4, using: &random) > 0
        query.descending = Bool.random(using: &random)
        if Bool.random(using: &random) { query.skip = Int.random(in: 0...4, using: &random) }
        if Bool.random(using: &random) { query.limit = Int.random(in: 0...6, using: &random) }
        if Int.random(in: 0..<5, using: &random) == 0 {
            query.keys = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                bound(&random) ?? .null
            }
        }
        query.mapOnly = true
        let expected = model.window(model.rows(query), query)
        let found = try query.run().map {
            ReferenceView.Row(
                key: $0.key, documentID: $0.documentID?.text ?? "", value: $0.value?.int64 ?? 0)
        }
        #expect(found == expected, "round \(round)")
        query.mapOnly = false
        try askReduced(query, model, &random, round)
    }

    private static func askReduced(
        _ query: ViewQuery, _ model: ReferenceView, _ random: inout SeededRandom, _ round: Int
    ) throws {
        var query = query
        let sum = model.rows(query).reduce(0) { $0 + $1.value }
        let isEmpty = model.rows(query).isEmpty
        var whole = query
        (whole.skip, whole.limit) = (0, nil)
        #expect(
            try whole.run().map(\.value) == (isEmpty ? [] : [.integer(sum)]), "round \(round)")
        query.grouping =
            query.keys != nil || Bool.random(using: &random)
            ? .exact : .level(Int.random(in: 1...3, using: &random))
        guard query.keys == nil else { return }
        let expected = model.groups(query)
        let groups = try query.run()
        #expect(groups.map(\.value) == expected.map { .integer($0.sum) }, "round \(round)")
        #expect(groups.map(\.key) == expected.map(\.key), "round \(round)")
    }
}

extension JSONValue {
    fileprivate var array: [JSONValue]? { if case .array(let array) = self { array } else { nil } }
}
