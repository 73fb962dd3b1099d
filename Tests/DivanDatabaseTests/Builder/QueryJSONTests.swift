// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Queries of the builder in their JSON form.
@Suite struct QueryJSONTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        let documents: [(String, JSONObject)] = [
            ("ann", ["type": "person", "name": "Ann", "age": 30, "tags": ["a", "b"]]),
            ("bob", ["type": "person", "name": "bob", "age": 25, "tags": ["b"]]),
            ("cat", ["type": "person", "name": "Cat", "age": .null, "at": ["city": "Rome"]]),
            ("p1", ["type": "post", "title": "One", "author": "ann", "stars": 3]),
            ("p2", ["type": "post", "title": "Two", "author": "nobody", "stars": 5]),
        ]
        for (id, body) in documents { try database.create(DocumentID(id), body) }
    }

    private func rows(_ json: JSONValue, _ parameters: JSONObject = [:]) throws -> [JSONValue] {
        try SelectQuery(json: json, from: .database(database)).bind(parameters).run()
            .map { .object($0.properties) }
    }

    private func ids(_ condition: JSONValue, _ parameters: JSONObject = [:]) throws -> [String] {
        try rows(["WHERE": condition, "ORDER_BY": [["._id"]]], parameters)
            .compactMap { $0["id"]?.string }
    }

    @Test func `very many texts may be put one behind the other`() throws {
        let many = Array(repeating: JSONValue.string("x"), count: 100_000)
        let concatenation = JSONValue.array(["||", [".name"]] + many + ["."])
        let found = try rows([
            "WHAT": [["AS", concatenation, "text"]], "WHERE": ["=", ["._id"], "ann"],
        ])
        let text = try #require(found.first?["text"]?.string)
        #expect(text.utf8.count == 100_004 && text.hasPrefix("Annx") && text.hasSuffix("x."))
        #expect(
            try rows(["WHAT": [["AS", ["||", [".name"], [".age"]], "text"]]]).allSatisfy {
                $0["text"]?.string == nil
            })
    }

    @Test func `every operator does what the builder's does`() throws {
        #expect(try ids(["=", [".type"], "post"]) == ["p1", "p2"])
        #expect(try ids(["AND", [">=", [".age"], 25], ["!=", [".name"], "Ann"]]) == ["bob"])
        #expect(try ids(["or", ["<", [".age"], 26], [">", [".stars"], 4]]) == ["bob", "p2"])
        #expect(try ids(["NOT", ["<=", [".stars"], 3]]) == ["p2"])
        #expect(try ids(["BETWEEN", [".age"], 25, 30]) == ["ann", "bob"])
        #expect(try ids(["IN", [".name"], ["[]", "Ann", "Cat"]]) == ["ann", "cat"])
        #expect(try ids(["NOT IN", [".name"], ["[]", "Ann", "Cat"]]) == ["bob"])
        #expect(try ids(["LIKE", [".title"], "T%"]) == ["p2"])
        #expect(try ids(["IS", [".age"], .null]) == ["cat"])
        #expect(try ids(["IS", [".age"], ["MISSING"]]) == ["p1", "p2"])
        #expect(try ids(["IS NOT", [".at"], ["MISSING"]]) == ["cat"])
        #expect(try ids(["IS VALUED", [".age"]]) == ["ann", "bob"])
        #expect(try ids(["EXISTS", [".stars"]]) == ["p1", "p2"])
        #expect(try ids(["=", [".at.city"], "Rome"]) == ["cat"])
        #expect(try ids(["=", [".", "at", "city"], "Rome"]) == ["cat"])
        #expect(try ids(["ANY", "t", [".tags"], ["=", ["?t"], "a"]]) == ["ann"])
        #expect(try ids(["any and every", "t", [".tags"], ["=", ["?t"], "b"]]) == ["bob"])
        #expect(try ids(["=", ["LOWER()", [".name"]], "ann"]) == ["ann"])
        #expect(try ids(["REGEXP_LIKE()", [".name"], "^[a-z]"]) == ["bob"])
        #expect(try ids(["=", ["%", [".stars"], 2], 1]) == ["p1", "p2"])
        #expect(try ids(["=", ["-", [".stars"]], -3]) == ["p1"])
        #expect(try ids(["=", ["||", [".name"], "-", ["._id"]], "Ann-ann"]) == ["ann"])
        #expect(
            try ids(["<", ["COLLATE", ["UNICODE": true], [".name"]], "B"]) == ["ann"])
        #expect(try ids(["=", [".name"], ["$who"]], ["who": "bob"]) == ["bob"])
    }

    @Test func `IS knows null and what is missing, and IS NOT is all the rest`() throws {
        let all = ["ann", "bob", "cat", "p1", "p2"]
        func check(
            _ left: JSONValue, _ right: JSONValue, _ expected: [String],
            _ parameters: JSONObject = [:]
        )
            throws
        {
            #expect(try ids(["IS", left, right], parameters) == expected)
            #expect(
                try ids(["IS NOT", left, right], parameters)
                    == all.filter { !expected.contains($0) })
        }
        func check() throws {
            try check([".age"], 30, ["ann"])
            try check(30, [".age"], ["ann"])
            try check([".age"], .null, ["cat"])
            try check([".age"], ["MISSING"], ["p1", "p2"])
            try check([".age"], ["$p"], ["cat"], ["p": .null])
            try check([".age"], ["$p"], ["bob"], ["p": 25.0])
            try check([".age"], [".stars"], [])
            try check([".none"], [".nothing"], all)
            try check(["+", [".age"], 1], .null, ["cat"])
        }
        try check()
        try database.createIndex(PropertyIndex(on: "age"))
        try check()
    }

    @Test func `conditions may be nested as values without being computed again and again`() throws
    {
        var (between, list, identity): (JSONValue, JSONValue, JSONValue) = (true, true, true)
        for _ in 0..<90 {
            between = ["BETWEEN", between, false, true]
            list = ["IN", list, ["[]", false, 1, "x", true]]
            identity = ["IS", ["IS NOT", identity, .null], true]
        }
        for condition in [between, list, identity] {
            #expect(try ids(condition).count == 5)
            #expect(try ids(["AND", condition, ["=", [".age"], 30]]) == ["ann"])
            #expect(try rows(["WHAT": [["AS", condition, "v"]], "LIMIT": 1]) == [["v": true]])
        }
    }

    @Test func `collations are the two that there are`() throws {
        func ids(_ options: JSONValue) throws -> [String] {
            try self.ids(["<", ["COLLATE", options, [".name"]], "C"])
        }
        #expect(try ids([:]) == ["ann"])
        #expect(try ids(["UNICODE": false, "CASE": true, "DIAC": true]) == ["ann"])
        #expect(try ids(["unicode": true, "LOCALE": .null]) == ["ann", "bob"])
        for options: JSONValue in [
            ["CASE": false], ["UNICODE": true, "DIAC": false], ["LOCALE": "sv"], ["UNICODE": 1],
            ["STRENGTH": 1],
        ] {
            let error = #expect(throws: DatabaseError.self, "\(options)") { try ids(options) }
            #expect(error?.code == .invalidQuery)
        }
    }

    @Test func `very many columns may have the same name, and be of many sources`() throws {
        var sources: [JSONValue] = [["AS": "s"]]
        for number in 0..<900 {
            let name = JSONValue.string("s\(number)")
            let id = JSONValue.array([.string(".s\(number)._id")])
            sources.append(["AS": name, "JOIN": "LEFT OUTER", "ON": ["=", id, "none"]])
        }
        let columns = (0..<20_000).map { JSONValue.array([.string(".s\($0 % 900).age")]) }
        let query: JSONValue = [
            "WHAT": .array([[".s.age"]] + columns), "FROM": .array(sources),
            "WHERE": ["=", [".s._id"], "ann"],
        ]
        let rows = try SelectQuery(json: query, from: .database(database)).run()
        #expect(rows.keys.count == 20_001 && rows.keys.last == "age_20001")
        #expect(rows.count == 1 && rows[0][0].int == 30 && !rows[0][1].exists)
    }

    @Test func `a property is of the source that it begins with`() throws {
        let query: JSONValue = [
            "WHAT": [
                ["AS", [".a.b.title"], "title"], ["AS", [".a.name"], "by"], ["AS", [".ab.x"], "x"],
                ["AS", [".a"], "whole"],
            ],
            "FROM": [
                ["AS": "a.b"],
                ["AS": "a", "JOIN": "LEFT OUTER", "ON": ["=", [".a._id"], [".a.b.author"]]],
            ],
            "WHERE": ["=", [".a.b.title"], "Two"],
        ]
        #expect(try rows(query) == [["title": "Two"]])
    }

    @Test func `columns, groups, order and window are as in the builder`() throws {
        #expect(
            try rows([
                "WHAT": [["AS", [".type"], "kind"], ["COUNT()"], ["MAX()", [".stars"]]],
                "GROUP_BY": [[".type"]], "HAVING": [">", ["COUNT()"], 1],
                "ORDER_BY": [["DESC", [".type"]]],
            ]) == [["kind": "post", "$1": 2, "$2": 5], ["kind": "person", "$1": 3, "$2": .null]])
        #expect(
            try rows([
                "WHAT": [".name", ["*", [".age"], 2]], "WHERE": ["IS VALUED", [".age"]],
                "ORDER_BY": [[".age"]], "LIMIT": 1, "OFFSET": 1,
            ]) == [["name": "Ann", "$1": 60]])
        #expect(
            try rows(["DISTINCT": true, "WHAT": [[".type"]], "ORDER_BY": [[".type"]]])
                == [["type": "person"], ["type": "post"]])
    }

    @Test func `sources are joined by ID`() throws {
        let query: JSONValue = [
            "WHAT": [["AS", [".post.title"], "title"], ["AS", [".author.name"], "by"]],
            "FROM": [
                ["AS": "post"],
                [
                    "AS": "author", "JOIN": "LEFT OUTER",
                    "ON": ["=", [".author._id"], [".post.author"]],
                ],
            ],
            "WHERE": ["=", [".post.type"], "post"], "ORDER_BY": [[".post.title"]],
        ]
        #expect(try rows(query) == [["title": "One", "by": "Ann"], ["title": "Two"]])
    }

    @Test func `what is not understood is refused with a sentence`() throws {
        for json: JSONValue in [
            1, ["WHAT": 1], ["WHERE": []], ["WHERE": [1]], ["WHERE": ["~", 1]],
            ["WHERE": ["=", 1]], ["WHERE": ["IN", [".a"], [1, 2]]], ["WHERE": [".a", 1]],
            ["WHERE": ["LOWER()", 1, 2]], ["WHERE": ["ANY", 1, [".a"], true]], ["LIMIT": -1],
            ["LIMIT": "x"], ["ORDER_BY": 1], ["WHICH": 1], ["FROM": []], ["FROM": [["AS": 1]]],
            ["FROM": [["AS": "a"], ["AS": "b"]]], ["WHERE": ["COLLATE", 1, 2]],
            ["FROM": [["AS": "a"], ["AS": "b", "JOIN": "CROSS", "ON": true]]],
            ["FROM": [["AS": "a"], ["AS": "b", "JOIN": 1, "ON": ["=", [".b._id"], "x"]]]],
            ["FROM": [1]], ["FROM": [["AS": "a", "UNNEST": [".b"]]]], ["DISTINCT": 1],
            ["DISTINCT": .null],
            ["FROM": .array((0...1_000).map { ["AS": .string("s\($0)"), "ON": true] })],
        ] {
            let error = #expect(throws: DatabaseError.self, "\(json)") { try rows(json) }
            #expect(error?.code == .invalidQuery)
        }
        var deep: JSONValue = true
        for _ in 0..<1_000 { deep = ["NOT", deep] }
        #expect(throws: DatabaseError.self) { try ids(deep) }
    }
}
