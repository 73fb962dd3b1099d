// SPDX-License-Identifier: Apache-2.0

/// Takes rows that are nested too deep out of the answer to a document.
///
///     level   1 2 3    4
///             [ [ ["a",[…]], ["b",1] ], [] ]      functions, rows of one, a row, what it emits
///             [ [ false,     ["b",1] ], [] ]
enum NestedRows {
    /// The level at which a row begins.
    static let level = 3

    /// Writes `false` in place of each row that is nested deeper than it may be.
    ///
    /// - Parameters:
    ///   - most: How many levels the whole line may have.
    ///   - line: The answer, JSON in one line. What is no JSON is copied as it is, to be refused by a parser.
    /// - Returns: The line without such rows.
    static func withoutRows(deeperThan most: Int, in line: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(line.count)
        var (depth, deepest, start) = (0, 0, 0)
        var (isInText, isEscaped) = (false, false)
        for byte in line {
            result.append(byte)
            if isInText {
                isInText = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == level { (start, deepest) = (result.count - 1, 0) }
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                guard depth == level - 1, deepest > most else { continue }
                result.removeSubrange(start...)
                result += "false".utf8
                deepest = 0
            default: continue
            }
        }
        return result
    }
}
