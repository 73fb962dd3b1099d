// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@Suite struct JSONCodingTests {
    private struct Address: Codable, Equatable {
        var street: String
        var zip: Int?
    }

    private enum Level: String, Codable { case low, high }

    private enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case empty
    }

    private struct Person: Codable, Equatable {
        var name = "Ann"
        var age: UInt8 = 30
        var large = UInt64.max
        var small = Int64.min
        var ratio: Float = 0.1
        var precise = 0.1 + 0.2
        var tags: [String] = ["a", "b"]
        var matrix: [[Int]] = [[1], [], [2, 3]]
        var addresses: [String: Address] = ["home": Address(street: "Main", zip: nil)]
        var level = Level.high
        var shapes: [Shape] = [.circle(radius: 2), .empty]
        var missing: Int?
        var optionals: [Int?] = [1, nil]
        var any: JSONValue = ["x": [1, 1.0, nil, "y"]]
    }

    @Test func `a type survives being coded`() throws {
        let value = try JSONValueEncoder().encode(Person())
        #expect(value["large"] == .unsigned(.max))
        #expect(value["ratio"] == .double(0.1))
        #expect(value["addresses"] == ["home": ["street": "Main"]])
        #expect(value["missing"] == nil)
        #expect(value["level"] == "high")
        #expect(value["any"] == ["x": [1, 1.0, nil, "y"]])
        #expect(value["optionals"] == [1, nil])
        #expect(try JSONValueDecoder().decode(Person.self, from: value) == Person())
        let text = JSONWriter.string(value)
        #expect(
            try JSONValueDecoder().decode(Person.self, from: JSONParser.parse(text)) == Person())
    }

    @Test func `scalars and empty types are coded at the top`() throws {
        struct Nothing: Codable, Equatable {}
        #expect(try JSONValueEncoder().encode(3) == 3)
        #expect(try JSONValueEncoder().encode("x") == "x")
        #expect(try JSONValueEncoder().encode([Int]()) == [])
        #expect(try JSONValueEncoder().encode(Nothing()) == [:])
        #expect(try JSONValueEncoder().encode(Int?.none) == nil)
        #expect(try JSONValueDecoder().decode(Nothing.self, from: [:]) == Nothing())
        #expect(try JSONValueDecoder().decode(JSONObject.self, from: ["a": 1]) == ["a": 1])
    }

    @Test func `numbers are read only where they fit`() throws {
        let decoder = JSONValueDecoder()
        #expect(try decoder.decode(Int.self, from: 1.0) == 1)
        #expect(try decoder.decode(Double.self, from: 1) == 1)
        #expect(try decoder.decode(UInt64.self, from: .unsigned(.max)) == .max)
        #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: 1.5) }
        #expect(throws: DecodingError.self) { try decoder.decode(UInt8.self, from: 256) }
        #expect(throws: DecodingError.self) { try decoder.decode(UInt.self, from: -1) }
        #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: "1") }
        #expect(throws: DecodingError.self) { try decoder.decode(Bool.self, from: 1) }
        #expect(throws: EncodingError.self) { try JSONValueEncoder().encode([Double.nan]) }
    }

    @Test func `an error names the path`() {
        let value: JSONValue = ["addresses": ["home": ["street": 5]]]
        struct Holder: Decodable { var addresses: [String: Address] }
        do {
            _ = try JSONValueDecoder().decode(Holder.self, from: value)
            Issue.record("The number was taken for a string.")
        } catch DecodingError.typeMismatch(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["addresses", "home", "street"])
        } catch {
            Issue.record(error)
        }
    }

    @Test func `super is coded under its own key`() throws {
        class Base: Codable { var a = 1 }
        final class Derived: Base {
            var b = 2
            private enum CodingKeys: CodingKey { case b }
            override init() { super.init() }
            required init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                b = try container.decode(Int.self, forKey: .b)
                try super.init(from: container.superDecoder())
            }
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(b, forKey: .b)
                try super.encode(to: container.superEncoder())
            }
        }
        let value = try JSONValueEncoder().encode(Derived())
        #expect(value == ["b": 2, "super": ["a": 1]])
        #expect(try JSONValueDecoder().decode(Derived.self, from: value).a == 1)
    }
}
