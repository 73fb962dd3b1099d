// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@testable import DivanListener

@Suite struct FindSelectorTests {
    private static func selector(_ text: String) throws -> FindSelector {
        try FindSelectorParser.parse(try JSONParser.parse(text))
    }

    @Test(arguments: [
        ("{}", "{}"), (#"{"a":1}"#, #"{"a":{"$eq":1}}"#),
        (#"{"a":{"b":2}}"#, #"{"a.b":{"$eq":2}}"#), (#"{"a":{}}"#, #"{"a":{"$eq":{}}}"#),
        (#"{"a":1,"b":2}"#, #"{"$and":[{"a":{"$eq":1}},{"b":{"$eq":2}}]}"#),
        (#"{"a":{"$gt":1,"$lt":5}}"#, #"{"$and":[{"a":{"$gt":1}},{"a":{"$lt":5}}]}"#),
        (
            #"{"$or":[{"a":1},{"b":{"$in":[1]}}]}"#,
            #"{"$or":[{"a":{"$eq":1}},{"b":{"$in":[1]}}]}"#
        ),
        (#"{"a":{"$elemMatch":{"$eq":1}}}"#, #"{"a":{"$elemMatch":{"$eq":1}}}"#),
        (#"{"a":{"$elemMatch":{"b":{"c":1}}}}"#, #"{"a":{"$elemMatch":{"b.c":{"$eq":1}}}}"#),
        (#"{"$not":{"a":1}}"#, #"{"a":{"$ne":1}}"#),
        (#"{"$nor":[{"a":{"$lt":5}},{"b":2}]}"#, #"{"$and":[{"a":{"$gte":5}},{"b":{"$ne":2}}]}"#),
        (#"{"$not":{"$and":[{"a":1},{"b":1}]}}"#, #"{"$or":[{"a":{"$ne":1}},{"b":{"$ne":1}}]}"#),
        (#"{"a":{"$not":{"$regex":"x"}}}"#, #"{"a":{"$not":{"$regex":"x"}}}"#),
        (#"{"a":{"$not":{"$exists":true}}}"#, #"{"a":{"$exists":false}}"#),
        (
            #"{"$or":[{"$text":"x"},{"a":1}]}"#,
            #"{"$or":[{"$default":{"$text":"x"}},{"a":{"$eq":1}}]}"#
        ),
    ])
    func `a selector is shown with its operators, and negations carried down`(
        given: String, shown: String
    ) throws {
        #expect(try Self.selector(given).shown == JSONParser.parse(shown))
    }

    @Test(arguments: [
        ("[]", "invalid_selector_json"), (#"{"$gt":1}"#, "invalid_selector"),
        (#"{"a":1,"$gt":1}"#, "invalid_selector"), (#"{"$or":[1]}"#, "invalid_selector"),
        (#"{"a":{"$bad":1}}"#, "invalid_operator"),
        (#"{"a":{"$beginsWith":true}}"#, "invalid_operator"),
        (#"{"a":{"$regex":1}}"#, "invalid_operator"), (#"{"a":{"$regex":"("}}"#, "bad_arg"),
        (#"{"a":{"$in":1}}"#, "bad_arg"), (#"{"a":{"$exists":1}}"#, "bad_arg"),
        (#"{"a":{"$size":-1}}"#, "bad_arg"), (#"{"a":{"$mod":[0,1]}}"#, "bad_arg"),
        (#"{"a":{"$type":1}}"#, "bad_arg"), (#"{"a":{"$elemMatch":1}}"#, "bad_arg"),
        (#"{"$and":{}}"#, "bad_arg"), (#"{"$not":1}"#, "bad_arg"),
        (#"{"$text":1}"#, "bad_arg"), (#"{"a":{"$text":"x"}}"#, "bad_arg"),
        (#"{"$not":{"$text":"x"}}"#, "bad_arg"), (#"{"$nor":[{"$text":"x"}]}"#, "bad_arg"),
        (#"{"a":{"$elemMatch":{"$text":"x"}}}"#, "bad_arg"),
        (#"{"a":{"$where":"x"}}"#, "not_supported"),
        (#"{"a..b":1}"#, "invalid_field_name"),
    ])
    func `what is wrong with a selector has its name`(given: String, error: String) {
        #expect {
            try Self.selector(given)
        } throws: { thrown in
            guard let failure = thrown as? HTTPFailure else { return false }
            return failure.status == 400 && failure.error == error
        }
    }

    @Test func `a selector that nests too deeply is refused`() {
        let deep =
            String(repeating: #"{"a":"#, count: 300) + "1" + String(repeating: "}", count: 300)
        #expect(throws: HTTPFailure.self) { try Self.selector(deep) }
    }

    @Test(arguments: [
        (#"{"a":{"$gt":1}}"#, "(1,", ")"), (#"{"a":{"$gte":1,"$lt":"x"}}"#, "[1,", #""x")"#),
        (#"{"a":5}"#, "[5,", "5]"), (#"{"a":{"$beginsWith":"b"}}"#, #"["b","#, "\"b\u{FFFF}\"]"),
        (#"{"$and":[{"a":{"$gt":1}},{"a":{"$gt":3}},{"a":{"$lte":9}}]}"#, "(3,", "9]"),
        (#"{"$and":[{"a":{"$gt":1}},{"a":{"$lt":1}}]}"#, "none", ""),
        (#"{"a":{"$gte":1,"$lte":1}}"#, "[1,", "1]"), (#"{"a":{"$exists":true}}"#, "(,", ")"),
    ])
    func `conditions on a field leave a run of values`(given: String, lower: String, upper: String)
        throws
    {
        let ranges = try Self.selector(given).ranges
        #expect(ranges.map(\.field) == ["a"])
        guard let range = ranges[0].range else {
            #expect(lower == "none")
            return
        }
        let (low, high) = (range.lower, range.upper)
        #expect((low.isIncluded ? "[" : "(") + (low.value?.description ?? "") + "," == lower)
        #expect((high.value?.description ?? "") + (high.isIncluded ? "]" : ")") == upper)
    }

    @Test(
        arguments: [
            (#"{"a":1}"#, ["a"], ["b"]), (#"{"a":{"$exists":false},"b":1}"#, ["b"], ["a"]),
            (#"{"$or":[{"a":1,"b":2},{"a":2}]}"#, ["a"], ["b"]), (#"{"$or":[]}"#, ["a", "b"], []),
            (#"{"a":{"$nin":[1]}}"#, ["a"], []), ("{}", [], ["a"]),
        ] as [(String, [String], [String])])
    func `a selector asks for fields`(given: String, asked: [String], missing: [String]) throws {
        let selector = try Self.selector(given)
        for name in asked { #expect(try selector.fieldsNotRequired([FieldPath(name)]).isEmpty) }
        for name in missing { #expect(try !selector.fieldsNotRequired([FieldPath(name)]).isEmpty) }
    }

    @Test func `paths that are too long together are refused before they are held`() throws {
        let site = try TestSite()
        site.send("PUT", "/db")
        let prefix = Array(repeating: "a", count: 16_000).joined(separator: ".")
        let members = (0..<2_000).map { "\"m\($0)\":1" }.joined(separator: ",")
        let body = "{\"selector\":{\"\(prefix)\":{\(members)}}}"
        for route in ["_find", "_explain"] {
            let answer = site.send("POST", "/db/\(route)", body)
            #expect(answer.status == 400)
            #expect(answer.json["error"] == "invalid_selector_json")
        }
        #expect(site.send("POST", "/db/_changes?filter=_selector", body).status == 400)
        // One long path, and many short ones, are fine.
        #expect(site.send("POST", "/db/_find", "{\"selector\":{\"\(prefix)\":1}}").status == 200)
        #expect(site.send("POST", "/db/_find", "{\"selector\":{\(members)}}").status == 200)
    }
}
