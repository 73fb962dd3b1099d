// SPDX-License-Identifier: Apache-2.0

/// JSON texts that take the most memory for their length.
public enum WorstText {
    /// The names of the texts.
    public static let all = [
        "objects", "arrays", "numbers", "doubles", "members", "nested", "string", "escapes",
        "strings",
        "selectors",
    ]

    /// A text of about so many bytes.
    ///
    /// - Parameters:
    ///   - name: One of ``all``.
    ///   - size: The bytes.
    /// - Returns: The text; an empty list for another name.
    public static func text(_ name: String, _ size: Int) -> [UInt8] {
        switch name {
        case "objects": list("{},", "{}", size)
        case "arrays": list("[],", "[]", size)
        case "numbers": list("1,", "1", size)
        case "doubles": list("1.5,", "1.5", size)
        case "strings": list(#""","#, #""""#, size)
        case "nested": list("[[[[[1]]]]],", "1", size)
        case "string":
            Array(#"{"a":""#.utf8) + Array(repeating: UInt8(ascii: "x"), count: size)
                + Array(#""}"#.utf8)
        case "escapes": Array(#"{"a":""#.utf8) + repeated(#"\u0001"#, size) + Array(#""}"#.utf8)
        case "members": Array("{".utf8) + members(size) + Array(#""z":1}"#.utf8)
        case "selectors":
            Array(#"{"$or":["#.utf8) + repeated(#"{"a":1},"#, size) + Array(#"{"a":1}]}"#.utf8)
        default: Array("[]".utf8)
        }
    }

    private static func list(_ element: String, _ last: String, _ size: Int) -> [UInt8] {
        Array(#"{"a":{"$in":["#.utf8) + repeated(element, size) + Array("\(last)]}}".utf8)
    }

    private static func members(_ size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + 32)
        var number = 0
        while bytes.count < size {
            bytes += Array(#""\#(String(number, radix: 36))":1,"#.utf8)
            number += 1
        }
        return bytes
    }

    private static func repeated(_ text: String, _ size: Int) -> [UInt8] {
        let unit = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + unit.count)
        while bytes.count < size { bytes += unit }
        return bytes
    }
}
