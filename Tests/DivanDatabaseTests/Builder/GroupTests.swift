// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// What aggregates give, whatever the way to the documents, and without any.
@Suite struct GroupTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func add(_ documents: KeyValuePairs<String, JSONObject>) throws {
        try database.inBatch {
            for (id, body) in documents { try database.create(DocumentID(id), body) }
        }
    }

    private func rows(_ json: JSONValue) throws -> [JSONValue] {
        try SelectQuery(json: json, from: .database(database)).run()
            .map { .object($0.properties) }
    }

    private func refusal(_ json: JSONValue) -> DatabaseError.Code? {
        #expect(throws: DatabaseError.self, "\(json)") { try rows(json) }?.code
    }

    // MARK: - The order of documents

    @Test func `no index changes a sum, a mean or an extreme`() throws {
        try add([
            "c": ["x": 0.1, "a": 1], "b": ["x": 0.2, "a": 2], "a": ["x": 0.3, "a": 3],
            "h": ["y": 1, "a": 6], "g": ["y": 1.0, "a": 7],
            "k": ["z": -1, "a": 10], "l": ["z": .integer(.max), "a": 8], "j": ["z": 1, "a": 9],
        ])
        let query: JSONValue = [
            "WHAT": [
                ["SUM()", [".x"]], ["AVG()", [".x"]], ["MIN()", [".y"]], ["MAX()", [".y"]],
                ["SUM()", [".z"]],
            ],
            "WHERE": ["<", [".a"], 50],
        ]
        let expected: JSONValue = [
            "$1": .double(0.6), "$2": .double(0.6 / 3), "$3": 1, "$4": 1.0, "$5": .integer(.max),
        ]
        #expect(try rows(query) == [expected])
        try database.createIndex(PropertyIndex(on: "a"))
        #expect(try rows(query) == [expected])
    }

    @Test func `random sums of groups are the same with any index, and exact`() throws {
        for round in Soak.rounds(test: 40, soak: 4_000) {
            var random = Soak.random(round: round, salt: 0x50A7)
            let database = try Database.inMemory()
            var totals: [Int64: Int128] = [:]
            try database.inBatch {
                for number in 0..<random.below(60) + 1 {
                    // Whole numbers of 2^-60, whose sum 128 bits hold.
                    let (group, shift) = (Int64(random.below(3)), [0, 30, 60][random.below(3)])
                    let whole = Int64(truncatingIfNeeded: random.next()) >> 12
                    totals[group, default: 0] += Int128(whole) << Int128(shift)
                    let unit = Double(sign: .plus, exponent: shift - 60, significand: 1)
                    try database.create(
                        "d\(number)",
                        [
                            "x": .double(Double(whole) * unit), "g": .integer(group),
                            "a": .integer(Int64(random.below(1_000))),
                        ])
                }
            }
            let x = QueryExpression.property("x")
            let query = QueryBuilder.select(
                .property("g"), .expression(Function.sum(x)), .expression(Function.average(x)),
                .expression(Function.count())
            ).from(.database(database)).where(.property("a").greaterThanOrEqualTo(0))
                .groupBy(.property("g"))
            let scanned = try query.run()
            #expect(scanned.count == totals.count)
            for row in scanned {
                let exact = Double(totals[Int64(row[0].int ?? -1)] ?? 0) * 0x1p-60
                #expect(row[1].value == .double(exact), "round \(round)")
                #expect(row[2].value == .double(exact / Double(row[3].int ?? 0)))
            }
            try database.createIndex(
                PropertyIndex(on: random.oneIn(2) ? ["a"] : ["a", "x"]))
            #expect(try query.run() == scanned, "round \(round)")
        }
    }

    @Test func `groups of counts come in the order of their lowest IDs, too`() throws {
        try add(["z": ["author": "Ann"], "m": ["author": "Bob"], "a": ["author": "Ann"]])
        let query: JSONValue = ["WHAT": [["AS", ["COUNT()"], "n"]], "GROUP_BY": [[".author"]]]
        #expect(try rows(query) == [["n": 2], ["n": 1]])
        var limited = query
        limited["LIMIT"] = 1
        #expect(try rows(limited) == [["n": 2]])
    }

    // MARK: - What groups ask

    @Test func `an aggregate stands beside the time of expiration`() throws {
        try add(["a": ["x": 1], "b": ["x": 2], "c": ["x": 1]])
        try database.setExpiration(of: "a", at: Date(timeIntervalSince1970: 2e9))
        let sum: JSONValue = ["+", ["COUNT()"], ["._expiration"]]
        #expect(
            try rows(["WHAT": [["AS", sum, "v"]], "GROUP_BY": [[".x"]]])
                == [["v": 2_000_000_000_002], [:]])
        let isMissing: JSONValue = ["IS", ["._expiration"], ["MISSING"]]
        #expect(
            try rows([
                "WHAT": [[".x"]], "GROUP_BY": [[".x"]],
                "HAVING": ["OR", [">", ["COUNT()"], 5], isMissing],
            ]) == [["x": 2]])
        #expect(
            try rows(["WHAT": [[".x"]], "GROUP_BY": [[".x"]], "ORDER_BY": [["DESC", sum]]])
                == [["x": 1], ["x": 2]])
        #expect(
            try rows([
                "WHAT": [["COUNT()"], ["AS", ["AND", [">", ["COUNT()"], 1], isMissing], "v"]]
            ]) == [["$1": 3, "v": false]])
    }

    @Test func `an aggregate stands beside the expiration of a joined document`() throws {
        try add(["a": ["of": "x"], "b": ["of": "x"], "x": ["n": 1]])
        try database.setExpiration(of: "x", at: Date(timeIntervalSince1970: 2e9))
        let query: JSONValue = [
            "WHAT": [["AS", ["+", ["COUNT()"], [".r._expiration"]], "v"], ["SUM()", [".r.n"]]],
            "FROM": [["AS": "m"], ["AS": "r", "ON": ["=", [".r._id"], [".m.of"]]]],
        ]
        #expect(try rows(query) == [["v": 2_000_000_000_002, "$1": 2]])
    }

    @Test func `a condition on groups makes all rows one group`() throws {
        try add(["b": ["x": 1], "a": ["x": 2]])
        #expect(try rows(["HAVING": [">", [".x"], 1]]) == [["id": "a"]])
        #expect(try rows(["HAVING": [">", [".x"], 2]]) == [])
        #expect(try rows(["WHAT": [[".x"]], "HAVING": [">", ["COUNT()"], 1]]) == [["x": 2]])
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
        #expect(try query.having(true).run().count == 1)
        #expect(try query.where(.property("x").equalTo(1)).having(true).run()[0][0].string == "b")
        #expect(try query.having(true).where(false).run().count == 1)
    }

    @Test func `the group of no rows is a row like any other, in which properties are missing`()
        throws
    {
        try add(["a": ["x": 1]])
        let nothing: JSONValue = ["=", [".x"], 99]
        let query: JSONValue = [
            "WHAT": [
                ["COUNT()"], ["AS", ["+", ["COUNT()"], 1], "more"],
                ["AS", ["=", ["COUNT()"], 0], "none"],
                ["AS", ["+", ["AVG()", [".x"]], 1], "mean"],
                [".x"], ["._id"], ["._expiration"],
                ["AS", ["IS", [".x"], ["MISSING"]], "isMissing"],
            ],
            "WHERE": nothing,
        ]
        let expected: JSONValue = [
            "$1": 0, "more": 1, "none": true, "mean": .null, "isMissing": true,
        ]
        #expect(try rows(query) == [expected])
        func count(having condition: JSONValue) throws -> Int {
            try rows(["WHAT": [["COUNT()"]], "WHERE": nothing, "HAVING": condition]).count
        }
        #expect(try count(having: ["=", ["COUNT()"], 0]) == 1)
        #expect(try count(having: [">", ["COUNT()"], 0]) == 0)
        #expect(try count(having: ["=", [".x"], 1]) == 0)
        // There is no group where properties make groups.
        #expect(try rows(["WHAT": [["COUNT()"]], "WHERE": nothing, "GROUP_BY": [[".x"]]]) == [])
    }

    @Test func `an aggregate inside another one is refused`() throws {
        try add(["a": ["x": 1]])
        #expect(refusal(["WHAT": [["SUM()", ["+", ["COUNT()"], 1]]]]) == .invalidQuery)
        #expect(refusal(["HAVING": [">", ["MAX()", ["SUM()", [".x"]]], 1]]) == .invalidQuery)
        #expect(
            refusal(["WHAT": [["COUNT()"]], "ORDER_BY": [["MIN()", ["COUNT()"]]]]) == .invalidQuery)
    }
}
