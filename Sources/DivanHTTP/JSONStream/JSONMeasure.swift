// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The size of a JSON text that comes in pieces, found by its brackets, commas and quotes before anything of it is kept.
///
///     {"docs": [{"a": 1}, {"b": [1, 2]}]}
///     └ 1       └ 2 └ 3   └ 4 5  └ 6 7     values, or a few more than there are
///              ╰───────╯ ╰───────────╯     stretches: what one reader of a list holds at a time
///
/// It checks no grammar; of a text that is none the parser says so. What it counts is never too low for any text that
/// a parser may get through before it stops.
package struct JSONMeasure: Sendable {
    /// The bytes of the text.
    package private(set) var bytes = 0
    /// At least the number of values in it: arrays, objects, their elements and members.
    package private(set) var values = 1
    /// How many elements the longest list in it may have that stands in an object at the top.
    package private(set) var elements = 1
    /// The bytes of the longest such element, or of another member.
    package private(set) var longest = 0
    /// The values in the element that has the most.
    package private(set) var mostValues = 0

    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Where the present element begins, and how many values came before it.
    private var start = 0
    private var before = 0

    /// Begins a text.
    package init() {}

    /// Goes through the next piece of the text.
    package mutating func add(_ text: Span<UInt8>) {
        // Copies in registers: this loop looks at every byte.
        var (isInString, isEscaped, depth, values) = (isInString, isEscaped, depth, values)
        var position = 0
        while position < text.count {
            let byte = text[position]
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else {
                    position = text.firstQuoteOrBackslash(from: position)
                    guard position < text.count else { break }
                    isEscaped = text[position] == UInt8(ascii: "\\")
                    isInString = isEscaped
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: ","):
                    values += 1
                    if depth <= 2 {
                        self.values = values
                        endElement(at: bytes + position)
                    }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    values += 1
                    depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                default: break
                }
            }
            position += 1
        }
        (self.isInString, self.isEscaped, self.depth, self.values) =
            (isInString, isEscaped, depth, values)
        bytes += text.count
    }

    /// Ends the text: its last element counts as the others do.
    package mutating func end() { endElement(at: bytes) }

    private mutating func endElement(at position: Int) {
        elements += 1
        longest = max(longest, position - start)
        mostValues = max(mostValues, values - before)
        start = position
        before = values
    }
}
