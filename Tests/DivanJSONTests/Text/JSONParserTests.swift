// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@Suite struct JSONParserTests {
    /// Parses a text both ways, which must agree.
    private func parse(_ text: [UInt8]) throws -> JSONValue {
        let value = try JSONParser.parse(text)
        let packed = try PackedValue(parsing: text)
        #expect(packed == PackedValue(value))
        try packed.validate()
        return value
    }

    private static let accepted: [(String, JSONValue)] = [
        ("null", nil), ("true", true), ("false", false), ("0", 0), ("-0", 0), ("-1", -1),
        ("\"\"", ""), ("[]", []), ("{}", [:]), (" \t\n\r[ ] \n", []), ("{ }", [:]),
        ("[1,2 , 3]", [1, 2, 3]), ("{\"a\" : 1 , \"b\":[true]}", ["a": 1, "b": [true]]),
        ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\u{8}\u{C}\n\r\t"),
        ("\"\\u0041\\u00e9\\u4E2D\\uFFFF\"", "A\u{E9}\u{4E2D}\u{FFFF}"),
        ("\"\\uD83D\\uDE00\"", "\u{1F600}"), ("\"\\uDBFF\\uDFFF\"", "\u{10FFFF}"),
        ("\"\\u0000\"", "\u{0}"), ("\"\u{7F}\u{80}\u{2028}\"", "\u{7F}\u{80}\u{2028}"),
        ("\"\u{E9}\u{4E2D}\u{1F600}\u{10FFFF}\"", "\u{E9}\u{4E2D}\u{1F600}\u{10FFFF}"),
        ("[[[[[]]]]]", [[[[[]]]]]), ("{\"\":{\"\":{}}}", ["": ["": [:]]]),
        ("[null,null]", [nil, nil]), ("\"abcdefghijklmnop\"", "abcdefghijklmnop"),
        ("\"abcdefg\\nhijklmnop\"", "abcdefg\nhijklmnop"),
    ]

    @Test(arguments: accepted)
    func `valid texts are read`(text: String, value: JSONValue) throws {
        #expect(try parse(Array(text.utf8)) == value)
    }

    private static let rejected: [(String, Int, String)] = [
        ("", 0, "a value"), ("  ", 2, "a value"), ("nul", 0, "null, true or false"),
        ("nulL", 0, "null, true or false"), ("TRUE", 0, "a value"), ("NaN", 0, "a value"),
        ("Infinity", 0, "a value"), ("-Infinity", 1, "a digit"), ("-", 1, "a digit"),
        ("+1", 0, "a value"), (".5", 0, "a value"), ("-.5", 1, "a digit"),
        ("1.", 2, "a digit after the decimal point"),
        ("1.e5", 2, "a digit after the decimal point"),
        ("1e", 2, "a digit of the exponent"), ("1e+", 3, "a digit of the exponent"),
        ("01", 1, "no digit after a leading zero"), ("-01", 2, "no digit after a leading zero"),
        ("00", 1, "no digit after a leading zero"), ("0x10", 1, "the end of the text"),
        ("1 2", 2, "the end of the text"), ("[] []", 3, "the end of the text"),
        ("{}x", 2, "the end of the text"), ("\u{FEFF}1", 0, "a value"),
        ("[1,]", 3, "a value"), ("[,1]", 1, "a value"),
        ("[1 2]", 3, "a comma or the end of the array"),
        ("[1", 2, "a comma or the end of the array"), ("[", 1, "a value"), ("]", 0, "a value"),
        ("[1}", 2, "a comma or the end of the array"),
        ("{", 1, "a key in quotes"), ("{a:1}", 1, "a key in quotes"),
        ("{1:1}", 1, "a key in quotes"),
        ("{'a':1}", 1, "a key in quotes"), ("{\"a\"}", 4, "a colon after the key"),
        ("{\"a\":}", 5, "a value"), ("{\"a\":1,}", 7, "a key in quotes"),
        ("{\"a\":1 \"b\":2}", 7, "a comma or the end of the object"),
        ("{\"a\":1]", 6, "a comma or the end of the object"),
        ("\"", 1, "the closing quote of a string"), ("\"abc", 4, "the closing quote of a string"),
        ("\"abcdefghijk", 12, "the closing quote of a string"),
        ("\"\\", 2, "the closing quote of a string"), ("\"\\x\"", 1, "one of the escapes of JSON"),
        ("\"\\u12\"", 5, "four hexadecimal digits"), ("\"\\u12g4\"", 5, "four hexadecimal digits"),
        ("\"\\uD800\"", 7, "the other half of a surrogate pair"),
        ("\"\\uD800x\"", 7, "the other half of a surrogate pair"),
        ("\"\\uD800\\u0041\"", 7, "the other half of a surrogate pair"),
        ("\"\\uDC00\"", 1, "a high surrogate before a low one"),
        ("\"a\nb\"", 2, "an escape, because control characters may not stand in strings"),
        ("\"\u{0}\"", 1, "an escape, because control characters may not stand in strings"),
        ("\"\u{1F}\"", 1, "an escape, because control characters may not stand in strings"),
        ("[1] // comment", 4, "the end of the text"), ("/* */ 1", 0, "a value"),
    ]

    @Test(arguments: rejected)
    func `invalid texts are refused where they go wrong`(
        text: String, offset: Int, expectation: String
    ) {
        let kind: JSONParser.Failure.Kind =
            expectation.contains("surrogate") ? .characters : .grammar
        let failure = JSONParser.Failure(offset: offset, expectation: expectation, kind: kind)
        #expect(throws: failure) { try JSONParser.parse(text) }
        #expect(throws: failure) { try PackedValue(parsing: text) }
    }

    @Test func `a failure tells texts that are no JSON from those that only cannot be kept`() {
        func kind(_ text: [UInt8]) -> JSONParser.Failure.Kind? {
            do { _ = try JSONParser.parse(text) } catch { return error.kind }
            return nil
        }
        let deep = String(repeating: "[", count: 513) + String(repeating: "]", count: 513)
        #expect(kind(Array(deep.utf8)) == .nesting)
        #expect(kind(Array(#"["x\ud800y"]"#.utf8)) == .characters)
        #expect(kind([0x22, 0xFF, 0x22]) == .characters)
        #expect(kind(Array("[1,]".utf8)) == .grammar)
        #expect(kind(Array("[1e400]".utf8)) == nil)
    }

    private static let malformed: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80],
        [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80],
        [0xED, 0xBF, 0xBF],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
        [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    ]

    @Test(arguments: malformed)
    func `malformed UTF-8 is refused`(bytes: [UInt8]) {
        for padding in ["", "a", "abcdefgh", "abcdefghijklm"] {
            for tail in ["", "x", "abcdefghijk"] {
                let text = Array("[\"\(padding)".utf8) + bytes + Array("\(tail)\"]".utf8)
                let failure = JSONParser.Failure(
                    offset: 2 + padding.utf8.count, expectation: "valid UTF-8", kind: .characters)
                #expect(throws: failure) { try JSONParser.parse(text) }
                #expect(throws: failure) { try PackedValue(parsing: text) }
            }
        }
    }

    @Test func `of equal keys the last value counts in the first one's place`() throws {
        let value = try parse(Array(#"{"a":1,"b":2,"a":3,"\u0061":4,"c":{"x":1,"x":2}}"#.utf8))
        #expect(value.object?.keys == ["a", "b", "c"])
        #expect(value == ["a": 4, "b": 2, "c": ["x": 2]])
    }

    @Test func `keys in different Unicode forms are different keys`() throws {
        let value = try parse(Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8))
        #expect(value.object?.count == 2)
        #expect(value["\u{E9}"] == 1)
        #expect(value["e\u{301}"] == 2)
    }

    @Test func `nesting is allowed up to the limit and refused beyond`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try parse(Array(nested(512).utf8))
        let failure = JSONParser.Failure(
            offset: 512, expectation: "less nesting of arrays and objects", kind: .nesting)
        #expect(throws: failure) { try JSONParser.parse(nested(513)) }
        #expect(throws: failure) { try PackedValue(parsing: nested(513)) }
        #expect(throws: failure) {
            try PackedValue(parsing: String(repeating: "[", count: 100_000))
        }
        let deep = JSONParser.Options(maximumDepth: 1_000_000)
        #expect(try PackedValue(parsing: nested(1024), options: deep).kind == .array)
        #expect(throws: JSONParser.Failure.self) {
            try PackedValue(parsing: nested(1025), options: deep)
        }
        let flat = JSONParser.Options(maximumDepth: 0)
        #expect(try JSONParser.parse("1", options: flat) == 1)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse("[]", options: flat) }
    }

    @Test func `every way to cut a text short is refused`() {
        let text = Array(
            #"{"a":[1,-2.5e3,"x\n\u00e9 with more than sixteen bytes"],"b":null}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: JSONParser.Failure.self) {
                try JSONParser.parse(Array(text[..<length]))
            }
            #expect(throws: JSONParser.Failure.self) {
                try PackedValue(parsing: Array(text[..<length]))
            }
        }
    }

    @Test func `strings of every length around the heads' limits survive`() throws {
        for length in Array(0...80) + Array(310...330) + Array(65_530...65_540) {
            let text = String(repeating: "x", count: length)
            #expect(try parse(Array("\"\(text)\"".utf8)) == .string(text))
            #expect(try parse(Array("{\"\(text)\":[\"\(text)\"]}".utf8)) == [text: [.string(text)]])
            let escaped = String(repeating: "\\n", count: length)
            #expect(
                try parse(Array("[\"\(escaped)\"]".utf8))
                    == [.string(String(repeating: "\n", count: length))])
        }
    }
}
