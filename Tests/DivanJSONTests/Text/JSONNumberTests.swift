// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@Suite struct JSONNumberTests {
    private func big(_ text: String) throws -> JSONValue { .number(try #require(BigNumber(text))) }

    @Test func `integers are exact up to 64 bits and keep their digits beyond`() throws {
        let cases: [(String, JSONValue)] = [
            ("9223372036854775807", .integer(.max)), ("9223372036854775808", .unsigned(1 << 63)),
            ("-9223372036854775808", .integer(.min)), ("18446744073709551615", .unsigned(.max)),
            ("9007199254740993", .integer(9_007_199_254_740_993)),
            ("999999999999999999", .integer(999_999_999_999_999_999)),
            ("18446744073709551616", try big("18446744073709551616")),
            ("19999999999999999999", try big("19999999999999999999")),
            ("99999999999999999999", try big("99999999999999999999")),
            ("-9223372036854775809", try big("-9223372036854775809")),
            ("-99999999999999999999", try big("-99999999999999999999")),
        ]
        for (text, value) in cases {
            #expect(try JSONParser.parse(text) == value)
            for form in ["[\(text)]", "[\(text) ]", "{\"a\":\(text)}"] {
                let packed = try PackedValue(parsing: form)
                #expect(packed == PackedValue(try JSONParser.parse(form)))
                #expect(packed.jsonText == form.filter { $0 != " " })
            }
        }
    }

    @Test(arguments: [
        ("1.0", 1), ("-0.0", -0.0), ("0e0", 0), ("1e2", 100), ("1E+2", 100), ("1.5e-3", 0.0015),
        ("0.1", 0.1), ("0.30000000000000004", 0.1 + 0.2), ("1e22", 1e22), ("1e23", 1e23),
        ("8.5e22", 8.5e22), ("123456789012345678901234567890.0", 123456789012345678901234567890.0),
        ("5e-324", .leastNonzeroMagnitude), ("2.4703282292062327208e-324", 0),
        ("2.4703282292062328e-324", .leastNonzeroMagnitude),
        ("2.2250738585072014e-308", 2.2250738585072014e-308), ("1e-400", 0), ("-1e-400", -0.0),
        ("1.7976931348623157e308", .greatestFiniteMagnitude), ("0e999999999", 0),
        ("9007199254740993.0", 9007199254740992),
        ("9007199254740992.99999999999999999999", 9007199254740992),
        ("1e0000000000000000001", 10), ("0.00000000000000000000000000000000000001e38", 1),
        ("1000e20", 1e23), ("100000000000000e22", 1e36), ("100e-24", 1e-22), ("1.50", 1.5),
    ])
    func `decimals become the nearest double`(text: String, value: Double) throws {
        #expect(try JSONParser.parse(text) == .double(value))
        #expect(try PackedValue(parsing: "[\(text)]") == PackedValue([.double(value)]))
        #expect(try PackedValue(parsing: "[\(text)]")[0]?.double?.bitPattern == value.bitPattern)
    }

    @Test func `decimals beyond a double keep their digits`() throws {
        for text in ["1e400", "-1E+400", "1.7976931348623159e308", "1e99999999999999999999"] {
            #expect(try JSONParser.parse(text) == big(text))
            #expect(try PackedValue(parsing: "[\(text)]").jsonText == "[\(text)]")
            #expect(try PackedValue(parsing: text).bigNumber?.text == text)
        }
    }

    @Test func `doubles are written with their shortest digits`() {
        let cases: [(Double, String)] = [
            (0, "0.0"), (-0.0, "-0.0"), (1, "1.0"), (0.1, "0.1"), (1e20, "100000000000000000000.0"),
            (1e21, "1e21"), (1.5e300, "1.5e300"), (1e-7, "0.0000001"), (1.5e-8, "1.5e-8"),
            (123456.789, "123456.789"), (-2.5, "-2.5"), (.leastNonzeroMagnitude, "5e-324"),
            (0.05, "0.05"),
            (12.000001, "12.000001"), (.nan, "null"), (.infinity, "null"),
        ]
        for (value, text) in cases {
            #expect(JSONWriter.string(.double(value)) == text)
            #expect(PackedValue(.double(value)).jsonText == text)
        }
    }

    @Test func `random doubles survive text and packing`() throws {
        for round in Soak.rounds(test: 3000, soak: 1_000_000) {
            var random = Soak.random(round: round, salt: 11)
            let bits = Double(bitPattern: random.next())
            let short = Double(Int64(random.below(2_000_000) - 1_000_000)) / 1000
            for value in [bits.isFinite ? bits : 0, short, short * 1e15] {
                let text = JSONWriter.string(.double(value))
                #expect(try JSONParser.parse(text) == .double(value))
                let packed = try PackedValue(parsing: "[\(text)]")
                #expect(packed == PackedValue([.double(value)]))
                #expect(packed[0]?.double?.bitPattern == value.bitPattern)
                #expect(packed.jsonText == "[\(text)]")
            }
        }
    }

    @Test func `a big number is a number that fits nothing else`() {
        let texts = [
            "", "1x", "01", "+1", "1.", "NaN", " 1", "1 ", "1", "18446744073709551615", "1e300",
        ]
        for text in texts { #expect(BigNumber(text) == nil) }
        for text in ["1e400x", "1e400 ", "--1e400"] { #expect(BigNumber(text) == nil) }
        #expect(BigNumber("-1e400")?.double == -.infinity)
        #expect(BigNumber("18446744073709551616")?.double == 0x1p64)
    }
}
