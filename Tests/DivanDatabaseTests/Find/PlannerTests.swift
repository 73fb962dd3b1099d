// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// The chosen plan reads at most twice the rows of the best one, however skewed the data are.
@Suite struct PlannerTests {
    /// Skewed: most documents have the same "kind", "size" is rare at one end, and both are related.
    private static func fill(_ database: Database, _ count: Int, _ random: inout SeededRandom)
        throws
    {
        try database.inBatch {
            for number in 0..<count {
                let kind = random.oneIn(10) ? random.below(20) : 0
                let size = random.below(random.below(1_000) + 1) + (kind == 0 ? 0 : 500)
                try database.create(
                    "d\(number)",
                    [
                        "kind": .integer(Int64(kind)), "size": .integer(Int64(size)),
                        "color": .string(random.oneIn(50) ? "red" : "blue"),
                    ])
            }
        }
    }

    private static func condition(_ random: inout SeededRandom) -> JSONValue {
        let kind: JSONValue = ["kind": .integer(Int64(random.below(20)))]
        let bound = JSONValue.integer(Int64(random.below(1_500)))
        switch random.below(7) {
        case 0: return kind
        case 1: return ["size": ["$gt": bound]]
        case 2: return ["size": ["$lt": bound], "kind": ["$gt": 0]]
        case 3: return ["kind": 0, "size": ["$gte": bound], "color": "red"]
        case 4: return ["$or": [kind, ["size": ["$gt": bound]]]]
        case 5:
            return [
                "kind": ["$in": [.integer(Int64(random.below(20))), 1]], "size": ["$lt": bound],
            ]
        default: return ["size": bound, "kind": ["$gte": 0]]
        }
    }

    @Test func `the chosen plan reads at most twice the rows of the best one`() throws {
        var database = try Database.inMemory()
        let count = 2_000
        let rounds = Soak.rounds(test: 200, soak: 10_000)
        for round in rounds {
            var random = Soak.random(round: round, salt: 0x91A)
            if round % 1_000 == 0 || round == rounds.lowerBound {
                database = try Database.inMemory()
                try Self.fill(database, count, &random)
                try database.createIndex(PropertyIndex(on: "kind"))
                try database.createIndex(PropertyIndex(on: "size"))
            }
            var query = try database.find(selector: Self.condition(&random))
            if random.oneIn(2) {
                let path = random.element(of: ["size", "kind"])
                query.sort = [SortKey(path, isDescending: random.oneIn(2))]
                if random.oneIn(2) { query.limit = random.below(50) + 1 }
            }
            let chosen = try query.run().statistics.rowsExamined
            // A scan reads all documents; each index alone is the other way.
            var best = count
            for name in ["kind", "size"] {
                query.useIndex = name
                best = min(best, try query.run().statistics.rowsExamined)
            }
            #expect(chosen <= 2 * best, "round \(round): \(query.selector.json) by \(query.sort)")
        }
    }

    @Test func `an order is given up when its index finds too little`() throws {
        let database = try Database.inMemory()
        try database.inBatch {
            for number in 0..<1_000 {
                try database.create(
                    "d\(number)",
                    ["a": .integer(number < 10 ? 1 : 0), "b": .integer(Int64(1_000 - number))])
            }
        }
        try database.createIndex(PropertyIndex(on: "a"))
        try database.createIndex(PropertyIndex(on: "b"))
        var query = try database.find(selector: ["a": 1])
        (query.sort, query.limit) = ([.ascending("b")], 3)
        // The ten documents lie at the end of the index of b.
        let found = try query.run()
        #expect(found.map(\.id) == ["d9", "d8", "d7"])
        #expect(found.statistics.rowsExamined <= 21)
        #expect(try query.explain().text.contains("gave up"))
        // From the other end they come first.
        query.sort = [.descending("b")]
        let quick = try query.run()
        #expect(quick.map(\.id) == ["d0", "d1", "d2"])
        #expect(quick.statistics.rowsExamined == 3)
    }
}
