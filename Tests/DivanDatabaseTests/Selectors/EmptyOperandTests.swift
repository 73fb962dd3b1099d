// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Operators with nothing behind them, by CouchDB's rules.
///
/// A list of conditions without one excludes nothing, unless it is all that a query asks: then the query finds
/// nothing, since a program that builds its alternatives has none. `{}` is everything only as the whole selector; below
/// a name or an operator it is the value `{}`.
@Suite struct EmptyOperandTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var selector: String
        /// The documents that match, which are those that a query finds unless it finds nothing.
        var matching: [String]
        var findsNothing = false
        var testDescription: String { selector }
    }

    /// The documents, by their IDs.
    private static let bodies: [String: String] = [
        "none": "{}", "one": #"{"a":1}"#, "null": #"{"a":null}"#, "array": #"{"a":[]}"#,
        "object": #"{"a":{}}"#, "numbers": #"{"a":[1,2]}"#, "objects": #"{"a":[{},{}]}"#,
        "mixed": #"{"a":[{},{"b":1}]}"#, "inner": #"{"a":{"b":{}}}"#, "text": #"{"a":""}"#,
    ]
    private static let all = bodies.keys.sorted()
    private static let withA = all.filter { $0 != "none" }

    private static func all(but left: String...) -> [String] {
        withA.filter { !left.contains($0) }
    }

    static let rows: [Row] = [
        // Everything.
        Row(selector: "{}", matching: all),
        // Lists alone.
        Row(selector: #"{"$or":[]}"#, matching: all, findsNothing: true),
        Row(selector: #"{"$and":[]}"#, matching: all, findsNothing: true),
        Row(selector: #"{"$nor":[]}"#, matching: all, findsNothing: true),
        Row(selector: #"{"$not":{"$or":[]}}"#, matching: all, findsNothing: true),
        Row(selector: #"{"$not":{"$and":[]}}"#, matching: all, findsNothing: true),
        Row(selector: #"{"$not":{"$not":{"$nor":[]}}}"#, matching: all, findsNothing: true),
        Row(selector: #"{"a":{"$or":[]}}"#, matching: all, findsNothing: true),
        Row(selector: #"{"a":{"b":{"$not":{"$and":[]}}}}"#, matching: all, findsNothing: true),
        // Lists beside others, and in them.
        Row(selector: #"{"a":1,"$or":[]}"#, matching: ["one"]),
        Row(selector: #"{"a":1,"$and":[]}"#, matching: ["one"]),
        Row(selector: #"{"a":1,"$nor":[]}"#, matching: ["one"]),
        Row(selector: #"{"$or":[],"$and":[]}"#, matching: all),
        Row(selector: #"{"$or":[],"a":{"$in":[]}}"#, matching: []),
        Row(selector: #"{"$and":[{"$or":[]}]}"#, matching: all),
        Row(selector: #"{"$or":[{"$or":[]},{"a":1}]}"#, matching: all),
        Row(selector: #"{"$and":[{"$or":[]},{"a":1}]}"#, matching: ["one"]),
        Row(selector: #"{"$nor":[{"$or":[]},{"a":1}]}"#, matching: all(but: "one")),
        Row(selector: #"{"$not":{"$and":[{"$or":[]}]}}"#, matching: all),
        Row(selector: #"{"a":{"$or":[],"$gt":0}}"#, matching: all(but: "null")),
        Row(
            selector: #"{"a":{"$elemMatch":{"$or":[]}}}"#,
            matching: ["mixed", "numbers", "objects"]),
        Row(
            selector: #"{"a":{"$allMatch":{"$or":[]}}}"#, matching: ["mixed", "numbers", "objects"]),
        Row(selector: #"{"a":{"$keyMapMatch":{"$or":[]}}}"#, matching: ["inner"]),
        // Lists of values.
        Row(selector: #"{"a":{"$in":[]}}"#, matching: []),
        Row(selector: #"{"a":{"$nin":[]}}"#, matching: withA),
        Row(selector: #"{"a":{"$all":[]}}"#, matching: []),
        Row(selector: #"{"$not":{"a":{"$in":[]}}}"#, matching: withA),
        Row(selector: #"{"$not":{"a":{"$nin":[]}}}"#, matching: []),
        Row(selector: #"{"$not":{"a":{"$all":[]}}}"#, matching: withA),
        Row(selector: #"{"a":{"$not":{"$in":[]}}}"#, matching: withA),
        Row(selector: #"{"$or":[{"a":{"$in":[]}},{"a":1}]}"#, matching: ["one"]),
        Row(selector: #"{"$nor":[{"a":{"$in":[]}}]}"#, matching: withA),
        Row(selector: #"{"a":[]}"#, matching: ["array"]),
        Row(selector: #"{"a":{"$size":0}}"#, matching: ["array"]),
        Row(selector: #"{"a":{"$beginsWith":""}}"#, matching: ["text"]),
        Row(selector: #"{"a":{"$regex":""}}"#, matching: ["text"]),
        // Objects.
        Row(selector: #"{"a":{}}"#, matching: ["object"]),
        Row(selector: #"{"a":{"b":{}}}"#, matching: ["inner"]),
        Row(selector: #"{"a":{"$not":{}}}"#, matching: all(but: "object")),
        Row(selector: #"{"$not":{"a":{}}}"#, matching: all(but: "object")),
        Row(selector: #"{"a":{"$or":[{}]}}"#, matching: ["object"]),
        Row(selector: #"{"a":{"$and":[{}]}}"#, matching: ["object"]),
        Row(selector: #"{"a":{"$nor":[{}]}}"#, matching: all(but: "object")),
        Row(selector: #"{"a":{"$or":[{},1]}}"#, matching: ["object", "one"]),
        Row(selector: #"{"a":{"$in":[{}]}}"#, matching: ["mixed", "object", "objects"]),
        Row(selector: #"{"a":{"$elemMatch":{}}}"#, matching: ["mixed", "objects"]),
        Row(selector: #"{"a":{"$allMatch":{}}}"#, matching: ["objects"]),
        Row(selector: #"{"a":{"$keyMapMatch":{}}}"#, matching: []),
        Row(selector: #"{"a":{"$elemMatch":{"$not":{}}}}"#, matching: ["mixed", "numbers"]),
        Row(selector: #"{"$not":{"a":{"$elemMatch":{}}}}"#, matching: all(but: "mixed", "objects")),
        // No document is {}: it has an ID.
        Row(selector: #"{"$or":[{}]}"#, matching: []),
        Row(selector: #"{"$or":[{},{"a":1}]}"#, matching: ["one"]),
        Row(selector: #"{"$and":[{}]}"#, matching: []),
        Row(selector: #"{"$nor":[{}]}"#, matching: all),
        Row(selector: #"{"$nor":[{},{"a":1}]}"#, matching: all(but: "one")),
        Row(selector: #"{"$and":[{"$not":{}},{"a":1}]}"#, matching: ["one"]),
    ]

    @Test(arguments: rows) func `a selector matches by CouchDB's rules`(_ row: Row) throws {
        let selector = try DocumentSelector(json: JSONParser.parse(row.selector))
        let matching = try Self.bodies.filter { id, body in
            try selector.matches(PackedValue(parsing: body), id: DocumentID(id))
        }
        #expect(matching.keys.sorted() == row.matching)
    }

    /// What the planner has to go by.
    enum Indexes: CaseIterable {
        case none, property, elements, partial
    }

    @Test(arguments: Indexes.allCases)
    func `a query finds what matches, whatever indexes there are`(_ indexes: Indexes) throws {
        let database = try Database.inMemory()
        for (id, body) in Self.bodies {
            try database.save(
                MutableDocument(JSONParser.parse(body).object ?? [:], id: DocumentID(id)))
        }
        switch indexes {
        case .none: break
        case .property: try database.createIndex(PropertyIndex(on: "a"))
        case .elements: try database.createIndex(PropertyIndex(on: "a[]"))
        case .partial:
            let filter = try DocumentSelector(json: ["a": ["$exists": true]])
            try database.createIndex(PropertyIndex(on: "a", filter: filter))
        }
        for row in Self.rows {
            var query = try database.find(selector: JSONParser.parse(row.selector))
            let found = try query.run().map(\.id.text).sorted()
            #expect(found == (row.findsNothing ? [] : row.matching), "\(row.selector)")
            guard indexes == .property else { continue }
            (query.useIndex, query.sort) = ("a", [.ascending("a")])
            let sorted = try query.run().map(\.id.text).sorted()
            #expect(Set(sorted).isSubset(of: found), "\(row.selector), sorted")
        }
    }

    @Test(arguments: rows)
    func `an index whose filter is a selector has what matches it`(_ row: Row) throws {
        let database = try Database.inMemory()
        for (id, body) in Self.bodies {
            try database.save(
                MutableDocument(JSONParser.parse(body).object ?? [:], id: DocumentID(id)))
        }
        let filter = try DocumentSelector(json: JSONParser.parse(row.selector))
        try database.createIndex(PropertyIndex(named: "i", on: "a", filter: filter))
        try database.updateIndexes()
        #expect(try database.indexReports().map(\.rows) == [row.matching.count])
    }

    @Test func `an empty object without anything to compare is refused`() throws {
        for text in [#"{"$not":{}}"#, #"{"$not":{"$not":{}}}"#] {
            let json = try JSONParser.parse(text)
            let error = #expect(throws: DatabaseError.self) { try DocumentSelector(json: json) }
            #expect(error?.code == .invalidQuery)
            #expect(error?.message.contains("$not") == true)
        }
    }
}
