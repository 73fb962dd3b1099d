// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// What becomes of documents for which a regular expression takes too many steps.
@Suite(.timeLimit(.minutes(5))) struct UndecidedSelectorTests {
    /// An expression that gives up at the text.
    private static let pattern: JSONValue = ["$regex": "(a+)+$"]
    private static let text = JSONValue.string(String(repeating: "a", count: 40) + "!")

    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.create("calm", ["t": "b", "n": 1])
        try database.create("stuck", ["t": Self.text, "n": 2])
    }

    private func ids(_ selector: JSONValue, index: String? = nil) throws -> [String] {
        try database.find(selector: selector) { $0.useIndex = index }.run().map(\.id.text).sorted()
    }

    @Test func `a condition that decides does so beside one that is unknown`() throws {
        let stuck: JSONValue = ["t": Self.pattern]
        let rows: [(JSONValue, Bool?)] = [
            (stuck, nil), (["t": ["$not": Self.pattern]], nil), (["$nor": [stuck]], nil),
            (["$not": ["$not": stuck]], nil),
            (["$or": [stuck, ["n": 2]]], true), (["$or": [["n": 2], stuck]], true),
            (["$or": [stuck, ["n": 1]]], nil),
            (["$and": [stuck, ["n": 1]]], false), (["$and": [["n": 1], stuck]], false),
            (["$and": [stuck, ["n": 2]]], nil),
            (["$nor": [stuck, ["n": 2]]], false), (["$nor": [stuck, ["n": 1]]], nil),
            (["list": ["$elemMatch": Self.pattern]], true),
            (["list": ["$allMatch": Self.pattern]], false),
            (["hard": ["$elemMatch": Self.pattern]], nil),
            (["hard": ["$allMatch": Self.pattern]], nil),
            (["hard": ["$not": ["$allMatch": Self.pattern]]], nil),
            (["keys": ["$keyMapMatch": Self.pattern]], nil),
        ]
        let body = PackedValue([
            "t": Self.text, "n": 2, "list": [Self.text, "b", "a"], "hard": [Self.text],
            "keys": .object([Self.text.string ?? "": 1]),
        ])
        for (json, truth) in rows {
            let selector = try DocumentSelector(json: json)
            #expect(selector.truth(of: body, id: "x") == truth, "\(json)")
            #expect(selector.matches(body, id: "x") == (truth ?? false), "\(json)")
        }
    }

    @Test(
        arguments: [["t": pattern], ["t": ["$not": pattern]], ["$nor": [["t": pattern]]]]
            as [JSONValue])
    func `a query fails, and names the document of which it cannot tell`(selector: JSONValue)
        async throws
    {
        let error = #expect(throws: DatabaseError.self) { try ids(selector) }
        #expect(error?.code == .invalidQuery)
        #expect(error?.documentID == "stuck")
        #expect(error?.message.contains("'stuck'") == true)
        #expect(error?.message.contains("aaaa") == false)
        let live = try database.find(selector: selector).live()
        let told = await #expect(throws: DatabaseError.self) {
            for try await _ in live { break }
        }
        #expect(told?.documentID == "stuck")
        // Where another condition leaves the document out there is nothing to tell.
        let found = try ids(["$and": [selector, ["n": ["$lt": 2]]]])
        #expect(found == (selector == ["t": Self.pattern] ? [] : ["calm"]))
    }

    @Test func `an index with a filter has the document of which the filter cannot tell`() throws {
        // So many others that an index is worth while.
        for number in 0..<50 { try database.create("other-\(number)", ["kind": "other"]) }
        let condition: JSONValue = ["t": ["$not": Self.pattern]]
        try database.createIndex(
            PropertyIndex(named: "some", on: "n", filter: DocumentSelector(json: condition)))
        #expect(try ids(["n": ["$gt": 0]], index: "some") == ["calm", "stuck"])
        let error = #expect(throws: DatabaseError.self) {
            try ids(["$and": [condition, ["n": ["$gt": 0]]]], index: "some")
        }
        #expect(error?.documentID == "stuck")
        #expect(try database.problems() == [])
    }
}
