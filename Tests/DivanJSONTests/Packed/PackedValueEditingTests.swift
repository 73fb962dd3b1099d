// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

struct PackedValueEditingTests {
    @Test func `replacing a property keeps the others`() {
        let person = PackedValue(["age": 30, "name": "Ann", "tags": ["a", "b"]])
        let older = person.replacing(["age": 31])
        #expect(older == PackedValue(["age": 31, "name": "Ann", "tags": ["a", "b"]]))
    }

    @Test func `none removes a property and a missing one is fine`() {
        let person = PackedValue(["age": 30, "name": "Ann"])
        let none = JSONValue?.none
        #expect(person.replacing(["age": none, "x": none]) == PackedValue(["name": "Ann"]))
    }

    @Test func `new properties come in the order of keys`() {
        let value = PackedValue(["b": 1]).replacing(["a": 0, "c": 2])
        #expect(value.keys == ["a", "b", "c"])
        #expect(value == PackedValue(["a": 0, "b": 1, "c": 2]))
    }

    @Test func `a value that is no object gives an object of what is set`() {
        #expect(PackedValue([1, 2]).replacing(["a": 1]) == PackedValue(["a": 1]))
    }

    @Test func `a value inside another one is edited as a root of its own`() throws {
        let outer = PackedValue(["inner": ["a": 1], "z": 2])
        let inner = try #require(outer["inner"])
        #expect(inner.replacing(["b": 2]) == PackedValue(["a": 1, "b": 2]))
    }

    @Test func `edits of random objects give the bytes that packing the result gives`() {
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var random = Soak.random(round: round, salt: 77)
            // From none to more than two blocks of sixteen, so that tables come and go.
            var object: JSONObject = [:]
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                object[Self.key(&random)] = .integer(Int64.random(in: 0...70_000, using: &random))
            }
            var changes: NameMap<JSONValue?> = [:]
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                let text = String(repeating: "x", count: Int.random(in: 0...300, using: &random))
                let removes = Bool.random(using: &random)
                changes[Self.key(&random)] = .some(removes ? JSONValue?.none : .string(text))
            }
            var expected = object
            for (key, value) in changes { expected[key] = value }
            let edited = PackedValue(.object(object)).replacing(changes)
            #expect(edited.bytes == PackedValue(.object(expected)).bytes)
        }
    }

    private static func key(_ random: inout some RandomNumberGenerator) -> String {
        let letters = ["a", "b", "Z", "\u{e9}", "\u{ff0e}", "\u{1f600}", "k"]
        return (0...Int.random(in: 0...2, using: &random))
            .map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] }.joined()
    }
}
