// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@Suite struct JSONValueTests {
    @Test func `literals make values`() {
        let value: JSONValue = ["a": 1, "b": [true, nil, 2.5, "x"], "c": [:]]
        #expect(value["a"] == .integer(1))
        #expect(value["b"]?[2] == .double(2.5))
        #expect(value["b"]?[1] == .null)
        #expect(value["b"]?[4] == nil)
        #expect(value["c"]?.object?.isEmpty == true)
        #expect(value["d"] == nil)
    }

    @Test func `equality is exact`() {
        #expect(JSONValue.integer(1) != .double(1))
        #expect(JSONValue.double(0.0) != .double(-0.0))
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSONValue.double(.nan) == .double(.nan))
        #expect(["a": 1, "b": 2] as JSONValue == ["b": 2, "a": 1])
        #expect(Set<JSONValue>([["a": 1, "b": 2], ["b": 2, "a": 1]]).count == 1)
    }

    @Test func `subscripts change values in place`() {
        var value: JSONValue = ["a": ["b": [1, 2]]]
        value["a"]?["b"]?[0] = 5
        value["a"]?["b"]?[2] = 6
        value["c"] = "new"
        #expect(value == ["a": ["b": [5, 2, 6]], "c": "new"])
        value["a"] = nil
        value["c"]?["x"] = 1
        #expect(value == ["c": "new"])
        var null = JSONValue.null
        null["x"] = 1
        #expect(null == ["x": 1])
    }

    @Test func `integers choose the case that holds them`() {
        #expect(JSONValue(UInt64.max) == .unsigned(.max))
        #expect(JSONValue(UInt8(3)) == .integer(3))
        #expect(JSONValue(Int128.max).description == "\(Int128.max)")
        #expect(JSONValue.unsigned(.max).uint64 == .max)
        #expect(JSONValue.integer(-1).uint64 == nil)
    }

    @Test func `output is compact or pretty`() {
        let value: JSONValue = ["b": [1, [:], []], "a": "x\u{1}\u{1F600}/\"\\"]
        #expect(
            JSONWriter.string(value) == "{\"b\":[1,{},[]],\"a\":\"x\\u0001\u{1F600}/\\\"\\\\\"}")
        #expect(
            JSONWriter.string(["b": [1, [:]], "a": nil], pretty: true)
                == "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": null\n}")
        #expect(
            (try? PackedValue(parsing: "{\"b\":[1,{}],\"a\":null}")).map { value in
                var bytes: [UInt8] = []
                value.appendJSON(to: &bytes, pretty: true)
                return String(decoding: bytes, as: UTF8.self)
            } == "{\n  \"a\": null,\n  \"b\": [\n    1,\n    {}\n  ]\n}")
    }

    @Test func `an object keeps the order of its keys`() {
        var object = JSONObject()
        for index in 0..<50 { object["k\(index)"] = .integer(Int64(index)) }
        object["k3"] = "changed"
        object["k0"] = nil
        #expect(object.removeValue(forKey: "k1") == 1)
        #expect(object.removeValue(forKey: "k1") == nil)
        #expect(object.count == 48)
        #expect(object.keys.first == "k2")
        #expect(object["k3"] == "changed")
        #expect(object["k49"] == 49)
        #expect(object[1].key == "k3")
        for index in stride(from: 49, to: 4, by: -1) { object["k\(index)"] = nil }
        #expect(object == ["k4": 4, "k3": "changed", "k2": 2])
        #expect(object.contains(key: "k2"))
        #expect(!object.contains(key: "k5"))
    }

    /// Never released, since Swift would do that level by level.
    private static let deep: JSONValue = (0..<60_000).reduce(["a", [:]]) { value, level in
        level.isMultiple(of: 2) ? [value, []] : ["b": 1, "a": value]
    }

    @Test func `a value is written and hashed however deep it nests`() {
        let text = JSONWriter.string(Self.deep)
        let opening = String(repeating: #"{"b":1,"a":["#, count: 30_000)
        let closing = String(repeating: ",[]]}", count: 30_000)
        #expect(text.hasSameBytes(as: opening + #"["a",{}]"# + closing))
        #expect(Self.deep.hashValue == Self.deep.hashValue)
        #expect(Self.deep.description.utf8.count == text.utf8.count)
    }

    @Test func `values of many levels are written as those of few are`() throws {
        let inner: JSONValue = ["b": [1, ["x": "y"], []], "a": [:]]
        for pretty in [false, true] {
            let value = (0..<1_022).reduce(inner) { value, _ in [value] }
            var expected = JSONWriter.string(inner, pretty: pretty)
            for _ in 0..<1_022 {
                let lines = expected.split(separator: "\n")
                expected =
                    pretty
                    ? "[\n" + lines.map { "  " + $0 }.joined(separator: "\n") + "\n]"
                    : "[" + expected + "]"
            }
            #expect(JSONWriter.string(value, pretty: pretty).hasSameBytes(as: expected))
        }
    }

    @Test func `depth is measured up to a limit`() {
        #expect(JSONValue.null.isNested(atMost: 0))
        #expect(!JSONValue.array([]).isNested(atMost: 0))
        #expect((["a": [[]]] as JSONValue).isNested(atMost: 3))
        #expect(!(["a": [[]]] as JSONValue).isNested(atMost: 2))
    }
}
