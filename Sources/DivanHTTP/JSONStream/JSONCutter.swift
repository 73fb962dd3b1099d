// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Finds where one JSON value ends, in bytes that come piece by piece.
///
/// It looks at brackets and strings only and checks nothing else: what it cuts out is parsed afterwards.
struct JSONCutter: Sendable {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var isScalar = false

    /// Takes bytes from the front until the value ends.
    ///
    /// A number or a word ends before the byte that follows it, so the cutter must see that byte too.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; the first one that this cutter sees begins the value.
    ///   - start: Where to begin.
    /// - Returns: The offset behind the value; `nil` when it does not end here.
    mutating func end(in bytes: Span<UInt8>, from start: Int) -> Int? {
        var position = start
        while position < bytes.count {
            let byte = bytes[position]
            if isInString, isEscaped {
                isEscaped = false
            } else if isInString {
                position = bytes.firstQuoteOrBackslash(from: position)
                guard position < bytes.count else { return nil }
                isEscaped = bytes[position] == UInt8(ascii: "\\")
                isInString = isEscaped
                if !isInString, depth == 0 { return position + 1 }
            } else if isScalar {
                switch byte {
                case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: "}"),
                    UInt8(ascii: "]"):
                    return position
                default: break
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    if depth <= 0 { return position + 1 }
                default: if depth == 0 { isScalar = true }
                }
            }
            position += 1
        }
        return nil
    }
}
