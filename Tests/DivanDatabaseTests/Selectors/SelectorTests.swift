// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// What each operator of a selector is fulfilled by.
@Suite struct SelectorTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var selector: String
        var matching: [String]
        var others: [String]
        var testDescription: String { selector }
    }

    private static func matches(_ selector: String, _ body: String) throws -> Bool {
        try DocumentSelector(json: JSONParser.parse(selector)).matches(
            PackedValue(parsing: body), id: "id-1", revisionID: "2-b")
    }

    private static func check(_ row: Row) throws {
        for body in row.matching { #expect(try matches(row.selector, body), "\(body)") }
        for body in row.others { #expect(try !matches(row.selector, body), "\(body)") }
    }

    @Test func `an element has properties of its own under the names of a document's facts`() throws
    {
        for row in [
            Row(
                selector: #"{"a":{"$elemMatch":{"_id":"x"}}}"#, matching: [#"{"a":[{"_id":"x"}]}"#],
                others: [#"{"a":[{"_id":"id-1"}]}"#, #"{"a":[{}]}"#]),
            Row(
                selector: #"{"a":{"$elemMatch":{"_id":{"$exists":false}}}}"#,
                matching: [#"{"a":[{}]}"#], others: [#"{"a":[{"_id":"id-1"}]}"#]),
            Row(
                selector: #"{"a":{"$allMatch":{"_rev":{"$gt":"1"}}}}"#,
                matching: [#"{"a":[{"_rev":"2-b"}]}"#], others: [#"{"a":[{}]}"#]),
            Row(
                selector: #"{"a":{"$elemMatch":{"_deleted":true}}}"#,
                matching: [#"{"a":[{"_deleted":true}]}"#], others: [#"{"a":[{}]}"#]),
            // Texts of an element compare as texts, also under this name.
            Row(
                selector: #"{"a":{"$elemMatch":{"_id":{"$lt":"B"}}}}"#,
                matching: [#"{"a":[{"_id":"a"}]}"#], others: [#"{"a":[{"_id":"c"}]}"#]),
        ] { try Self.check(row) }
    }

    @Test func `a regular expression is no longer than it can be compiled in a moment`() {
        let long = String(repeating: "a{0,99}", count: 3_000)
        #expect {
            _ = try DocumentSelector(json: ["a": ["$regex": .string(long)]])
        } throws: { error in
            (error as? DatabaseError)?.message.contains("at most 16384 bytes") == true
        }
    }

    @Test(arguments: [
        Row(selector: "{}", matching: ["{}", #"{"a":1}"#], others: []),
        Row(
            selector: #"{"a":1}"#, matching: [#"{"a":1}"#, #"{"a":1.0}"#],
            others: ["{}", #"{"a":2}"#, #"{"a":[1]}"#, #"{"a":"1"}"#, #"{"a":null}"#]),
        Row(selector: #"{"a":null}"#, matching: [#"{"a":null}"#], others: ["{}", #"{"a":0}"#]),
        Row(selector: #"{"a":{}}"#, matching: [#"{"a":{}}"#], others: ["{}", #"{"a":{"b":1}}"#]),
        Row(
            selector: #"{"a":{"$ne":1}}"#, matching: [#"{"a":2}"#, #"{"a":null}"#],
            others: [#"{"a":1}"#, #"{"a":1.0}"#, "{}"]),
        Row(
            selector: #"{"a":{"$lt":5}}"#,
            matching: [#"{"a":4}"#, #"{"a":null}"#, #"{"a":true}"#],
            others: [#"{"a":5}"#, #"{"a":5.0}"#, #"{"a":"4"}"#, "{}"]),
        Row(
            selector: #"{"a":{"$lte":"b"}}"#,
            matching: [#"{"a":"b"}"#, #"{"a":"A"}"#, #"{"a":9}"#],
            others: [#"{"a":"B"}"#, #"{"a":[]}"#]),
        Row(
            selector: #"{"a":{"$gt":[1]}}"#, matching: [#"{"a":[1,0]}"#, #"{"a":{}}"#],
            others: [#"{"a":[1]}"#, #"{"a":[1.0]}"#, #"{"a":[0,9]}"#]),
        Row(
            selector: #"{"a":{"$gte":2,"$lt":4}}"#, matching: [#"{"a":2}"#, #"{"a":3.9}"#],
            others: [#"{"a":4}"#, #"{"a":1}"#]),
    ])
    func `comparisons are of the collation and need the property`(_ row: Row) throws {
        try Self.check(row)
    }

    @Test(arguments: [
        Row(
            selector: #"{"a":{"$in":[1,"x",null]}}"#,
            matching: [#"{"a":1}"#, #"{"a":"x"}"#, #"{"a":null}"#, #"{"a":[7,1]}"#],
            others: [#"{"a":2}"#, #"{"a":[7]}"#, "{}"]),
        Row(selector: #"{"a":{"$in":[]}}"#, matching: [], others: [#"{"a":1}"#, "{}"]),
        Row(
            selector: #"{"a":{"$nin":[1,2]}}"#, matching: [#"{"a":3}"#, #"{"a":[3]}"#],
            others: [#"{"a":1}"#, #"{"a":[3,2]}"#, "{}"]),
        Row(selector: #"{"a":{"$nin":[]}}"#, matching: [#"{"a":1}"#], others: []),
        Row(
            selector: #"{"a":{"$all":[1,2]}}"#, matching: [#"{"a":[2,3,1]}"#],
            others: [#"{"a":[1]}"#, #"{"a":1}"#]),
        Row(
            selector: #"{"a":{"$all":[[1]]}}"#, matching: [#"{"a":[1]}"#, #"{"a":[[1],2]}"#],
            others: [#"{"a":[2]}"#]),
        Row(selector: #"{"a":{"$all":[]}}"#, matching: [], others: [#"{"a":[]}"#, #"{"a":[1]}"#]),
        Row(
            selector: #"{"a":{"$size":2}}"#, matching: [#"{"a":[1,[]]}"#],
            others: [#"{"a":[1]}"#, #"{"a":"ab"}"#, #"{"a":{"b":1,"c":2}}"#]),
        Row(
            selector: #"{"a":{"$elemMatch":{"b":1,"c":{"$gt":1}}}}"#,
            matching: [#"{"a":[{"b":1,"c":2}]}"#],
            others: [
                #"{"a":[{"b":1,"c":1},{"b":2,"c":2}]}"#, #"{"a":{"b":1,"c":2}}"#, #"{"a":[]}"#,
            ]
        ),
        Row(
            selector: #"{"a":{"$elemMatch":{"$gte":80,"$lt":85}}}"#,
            matching: [#"{"a":[1,82]}"#], others: [#"{"a":[79,85]}"#]),
        Row(
            selector: #"{"a":{"$allMatch":{"$gt":0}}}"#, matching: [#"{"a":[1,2]}"#],
            others: [#"{"a":[]}"#, #"{"a":[1,0]}"#, #"{"a":1}"#]),
        Row(
            selector: #"{"a":{"$keyMapMatch":{"$eq":"b"}}}"#, matching: [#"{"a":{"b":null}}"#],
            others: [#"{"a":{"c":"b"}}"#, #"{"a":["b"]}"#, #"{"a":"b"}"#]),
    ])
    func `operators on arrays and objects look at their elements`(_ row: Row) throws {
        try Self.check(row)
    }

    @Test(arguments: [
        Row(
            selector: #"{"a":{"$exists":true}}"#, matching: [#"{"a":null}"#, #"{"a":1}"#],
            others: ["{}"]),
        Row(selector: #"{"a":{"$exists":false}}"#, matching: ["{}"], others: [#"{"a":null}"#]),
        Row(
            selector: #"{"a.b":{"$exists":false}}"#, matching: ["{}", #"{"a":{}}"#],
            others: [#"{"a":5}"#, #"{"a":{"b":0}}"#]),
        Row(
            selector: #"{"a":{"$type":"number"}}"#,
            matching: [#"{"a":1}"#, #"{"a":1.5}"#, #"{"a":1e400}"#], others: [#"{"a":"1"}"#, "{}"]),
        Row(selector: #"{"a":{"$type":"null"}}"#, matching: [#"{"a":null}"#], others: ["{}"]),
        Row(
            selector: #"{"a":{"$mod":[3,1]}}"#,
            matching: [#"{"a":4}"#, #"{"a":18446744073709551613}"#],
            others: [#"{"a":3}"#, #"{"a":4.0}"#, #"{"a":-4}"#, #"{"a":"4"}"#]),
        Row(
            selector: #"{"a":{"$mod":[-1,0]}}"#, matching: [#"{"a":-9223372036854775808}"#],
            others: []),
        Row(
            selector: #"{"a":{"$regex":"^O.*o$"}}"#, matching: [#"{"a":"Oslo"}"#],
            others: [#"{"a":"oslo"}"#, #"{"a":["Oslo"]}"#, #"{"a":1}"#]),
        Row(
            selector: #"{"a":{"$beginsWith":"Os"}}"#, matching: [#"{"a":"Oslo"}"#, #"{"a":"Os"}"#],
            others: [#"{"a":"oslo"}"#, #"{"a":"O"}"#, #"{"a":1}"#]),
        Row(selector: #"{"_id":"id-1"}"#, matching: ["{}"], others: []),
        Row(selector: #"{"_id":{"$gt":"ID-1"}}"#, matching: ["{}"], others: []),
        Row(selector: #"{"_rev":{"$regex":"^2-"}}"#, matching: ["{}"], others: []),
        Row(selector: #"{"_deleted":true}"#, matching: [], others: ["{}"]),
    ])
    func `properties are looked at for being there, type and text`(_ row: Row) throws {
        try Self.check(row)
    }

    @Test(arguments: [
        Row(
            selector: #"{"a":{"b":1}}"#, matching: [#"{"a":{"b":1,"c":2}}"#],
            others: [#"{"a":1}"#, #"{"b":1}"#]),
        Row(selector: #"{"a.b":1}"#, matching: [#"{"a":{"b":1}}"#], others: [#"{"a.b":1}"#]),
        Row(selector: #"{"a\\.b":1}"#, matching: [#"{"a.b":1}"#], others: [#"{"a":{"b":1}}"#]),
        Row(selector: #"{"a.1.b":1}"#, matching: [#"{"a":[0,{"b":1}]}"#], others: [#"{"a":[]}"#]),
        Row(selector: #"{"a.1":1}"#, matching: [#"{"a":{"1":1}}"#], others: []),
        Row(selector: #"{"a[0]":1}"#, matching: [#"{"a[0]":1}"#], others: [#"{"a":[1]}"#]),
        Row(
            selector: #"{"a":{"b":{"$gt":1},"c":{"d":2}}}"#,
            matching: [#"{"a":{"b":2,"c":{"d":2}}}"#], others: [#"{"a":{"b":2,"c":{}}}"#]),
        Row(
            selector: #"{"a":{"$gt":0,"$lt":3},"b":1}"#, matching: [#"{"a":1,"b":1}"#],
            others: [#"{"a":1}"#, #"{"a":5,"b":1}"#]),
    ])
    func `paths lead into objects and arrays`(_ row: Row) throws { try Self.check(row) }

    @Test(arguments: [
        Row(
            selector: #"{"$or":[{"a":1},{"b":2}]}"#, matching: [#"{"a":1}"#, #"{"b":2}"#],
            others: ["{}", #"{"a":2}"#]),
        Row(
            selector: #"{"$and":[{"a":{"$gt":1}},{"a":{"$lt":3}}]}"#, matching: [#"{"a":2}"#],
            others: [#"{"a":3}"#]),
        Row(
            selector: #"{"$nor":[{"a":1},{"b":2}]}"#, matching: [#"{"a":2,"b":1}"#],
            others: [#"{"a":2}"#, #"{"a":1,"b":1}"#]),
        Row(
            selector: #"{"$not":{"a":{"$lt":5}}}"#, matching: [#"{"a":5}"#],
            others: ["{}", #"{"a":4}"#]),
        Row(
            selector: #"{"a":{"$not":{"$regex":"x"}}}"#, matching: [#"{"a":"y"}"#, #"{"a":1}"#],
            others: [#"{"a":"x"}"#, "{}"]),
        Row(
            selector: #"{"$not":{"a":1,"b":2}}"#, matching: [#"{"a":2}"#, #"{"a":1,"b":1}"#],
            others: [#"{"a":1,"b":2}"#, "{}"]),
        Row(
            selector: #"{"$not":{"$or":[{"a":1},{"b":2}]}}"#, matching: [#"{"a":0,"b":0}"#],
            others: [#"{"a":0}"#, #"{"a":1,"b":0}"#]),
        Row(
            selector: #"{"$not":{"$nor":[{"a":1},{"b":2}]}}"#, matching: [#"{"a":1}"#],
            others: ["{}"]),
        Row(
            selector: #"{"$not":{"a":{"$exists":true}}}"#, matching: ["{}"], others: [#"{"a":1}"#]),
        Row(
            selector: #"{"a":{"$or":[{"$eq":1},{"b":2},3]}}"#,
            matching: [#"{"a":1}"#, #"{"a":{"b":2}}"#, #"{"a":3}"#], others: [#"{"a":2}"#]),
        Row(selector: #"{"$or":[]}"#, matching: ["{}"], others: []),
        Row(selector: #"{"a":1,"$or":[]}"#, matching: [#"{"a":1}"#], others: ["{}"]),
        Row(selector: #"{"$and":[{}]}"#, matching: [], others: ["{}"]),
    ])
    func `conditions combine, and negations move to the values`(_ row: Row) throws {
        try Self.check(row)
    }

    @Test func `a stored document is asked with its ID and revision`() throws {
        let database = try Database.inMemory()
        try database.create("task-1", ["done": false])
        let document = try #require(try database.document(withID: "task-1"))
        #expect(try DocumentSelector(json: ["_id": "task-1", "done": false]).matches(document))
        #expect(
            try DocumentSelector(json: ["_rev": .string(document.revisionID.description)]).matches(
                document))
        #expect(try !DocumentSelector(json: ["done": true]).matches(document))
    }

    @Test func `selectors are equal when their JSON is`() throws {
        let selector = try DocumentSelector(json: ["a": 1, "b": 2])
        #expect(try selector == DocumentSelector(json: ["b": 2, "a": 1]))
        #expect(try selector != DocumentSelector(json: ["a": 1]))
        #expect(selector.json == ["a": 1, "b": 2])
    }
}
