// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport

/// Documents that look for trouble. Their IDs say what each is about.
enum Material {
    /// Values of all kinds, most of them at an edge of something.
    static func values(isQuick: Bool) -> [RevisionText] {
        numbers.map { RevisionText("number \($0)", "\"v\":\($0)") }
            + strings.map { RevisionText("string \($0.key)", "\"v\":\($0.value)") }
            + keys.map { RevisionText("key \($0.key)", $0.value) }
            + structures.map { RevisionText("structure \($0.key)", $0.value) }
            + (isQuick
                ? []
                : [
                    RevisionText(
                        "string 1 MB", "\"v\":\"\(String(repeating: "x", count: 1 << 20))\""),
                    RevisionText(
                        "string 50,000 emoji",
                        "\"v\":\"\(String(repeating: "\u{1F600}", count: 50_000))\""),
                ])
    }

    private static let numbers = [
        "0", "-0", "-0.0", "0.0", "1", "-1", "1.0", "-1.0", "1.50", "0.1", "1e5", "1E+5", "1e-5",
        "1e21",
        "1e22", "1e-7", "5e-324", "-5e-324", "1e-320", "2.2250738585072014e-308", "1e-400",
        "1e308", "1.7976931348623157e308", "-1.7976931348623157e308", "2147483647", "2147483648",
        "-2147483649", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993",
        "-9007199254740993", "9007199254740993.0", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890", "0.30000000000000004", "123456789.123456789",
        "3.141592653589793238462643383279", "1234567890123456789012345678901234567890.5",
    ]

    private static let strings: KeyValuePairs<String, String> = [
        "empty": #""""#, "quote": #""\"""#, "backslash": #""\\""#, "slash escaped": #""\/""#,
        "slash plain": #""/""#, "short escapes": #""\b\f\n\r\t""#, "NUL": #""a\u0000b""#,
        "controls": #""\u0001\u0002\u001f""#, "DEL": #""\u007f""#, "C1": #""\u0080\u009f""#,
        "line separators": #""\u2028\u2029""#, "noncharacters": #""\ufffe\uffff\ufdd0""#,
        "private use": #""\ue000""#, "BOM": #""\ufeffx""#, "astral escaped": #""\ud83d\ude00""#,
        "astral plain": "\"\u{1F600}\"", "last character": "\"\u{10FFFF}\"",
        "composed": "\"\u{E9}\"", "decomposed": "\"e\u{301}\"", "combining alone": "\"\u{301}\"",
        "family": "\"\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\"",
        "right to left": "\"\u{5D0}\u{202E}x\"",
        "hangul": "\"\u{AC00}\u{1100}\u{1161}\"", "markup": #""</script><!--&amp;""#,
        "like a number": #""1e5""#,
        "like null": #""null""#, "replacement character": "\"\u{FFFD}\"",
    ]

    private static let keys: KeyValuePairs<String, String> = [
        "empty": #""": 1"#, "space": #"" ": 1"#,
        "all escapes": #""\"\\\/\b\f\n\r\t\u0000\u001f": 1"#,
        "composed and decomposed": "\"\u{E9}\": 1, \"e\u{301}\": 2", "emoji": "\"\u{1F600}\": 1",
        "dots and slashes": ##""a.b": 1, "a/b": 2, "$ref": 3, "#": 4"##,
        "of prototypes": #""proto__": 1, "constructor": {"prototype": 2}"#,
        "underscore within": #""a": {"_id": 1, "_rev": 2, "_deleted": true, "_attachments": {}}"#,
        "like numbers": #""10": 1, "9": 2, "-1": 3, "1e5": 4"#,
        "upper and lower": #""a": 1, "A": 2"#,
        "order": #""z": 1, "a": 2, "m": 3"#, "empty within": #""v": {"": {"": {"": 1}}}"#,
        "long": "\"\(String(repeating: "k", count: 10_000))\": 1",
        "a thousand": (0..<1_000).map { "\"key\($0)\": \($0)" }.joined(separator: ","),
        "right to left": "\"\u{5D0}\": 1", "controls": #""\u0001": 1, "\u007f": 2"#,
    ]

    private static let structures: KeyValuePairs<String, String> = [
        "nothing": "", "empty object": #""v": {}"#, "empty array": #""v": []"#,
        "constants": #""n": null, "t": true, "f": false"#,
        "nested empties": #""v": [[], {}, [[]], {"a": {}}]"#,
        "array of all": #""v": [null, true, 1, 1.5, "s", [1], {"a": 1}]"#,
        "white space": " \"v\" :\t[ 1 ,\n2 ] ",
        "arrays 100 deep": "\"v\": \(nested("[", "]", 100))",
        "arrays 499 deep": "\"v\": \(nested("[", "]", 499))",
        "objects 100 deep": "\"v\": \(nested("{\"a\":", "}", 100))",
        "objects 499 deep": "\"v\": \(nested("{\"a\":", "}", 499))",
        "long array": "\"v\": [\((0..<10_000).map(String.init).joined(separator: ","))]",
        "a key twice": #""a": 1, "a": 2"#,
    ]

    /// A value that is nested so many levels.
    static func nested(_ opening: String, _ closing: String, _ levels: Int) -> String {
        String(repeating: opening, count: levels) + "1" + String(repeating: closing, count: levels)
    }

    /// Random bodies.
    static func random(_ count: Int, _ random: SeededRandom) -> [RevisionText] {
        var random = random
        return (0..<count).map { number in
            let value = RandomJSON.value(using: &random)
            let text = isTheSameEverywhere(value) ? JSONWriter.string(value) : "null"
            return RevisionText("random \(number)", "\"v\":\(text)")
        }
    }

    /// Whether CouchDB holds all its numbers as they are: those at the edges have documents of their own.
    private static func isTheSameEverywhere(_ value: JSONValue) -> Bool {
        switch value {
        case .number(let number): Double("\(number)")?.isFinite ?? false
        case .double(let number): number.isNormal || number.bitPattern == 0
        case .array(let items): items.allSatisfy(isTheSameEverywhere)
        case .object(let object): object.values.allSatisfy(isTheSameEverywhere)
        default: true
        }
    }
}
