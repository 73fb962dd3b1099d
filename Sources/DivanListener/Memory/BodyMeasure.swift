// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// What a body of JSON would take, found by its brackets, commas and quotes before anything of it is kept.
///
///     {"docs": [{"a": 1}, {"b": [1, 2]}]}
///     └ 1       └ 2 └ 3   └ 4 5  └ 6 7     values, or a few more than there are
///              ╰───────╯ ╰───────────╯     stretches: what one reader of a list holds at a time
///
/// It checks no grammar; of a text that is none the parser says so. What it counts is never too low for any text that
/// a parser may get through before it stops.
struct BodyMeasure: Sendable {
    /// The most that a body may be.
    struct Limits: Sendable, Equatable {
        /// Its bytes, without coding.
        var bytes: Int
        /// Its values: arrays, objects, their elements and members.
        var values = Int.max
    }

    /// The bytes of the text.
    private(set) var bytes = 0
    /// At least the number of values in it.
    private(set) var values = 1
    /// How many elements the longest list in it may have that stands in an object at the top.
    private(set) var elements = 1
    /// The bytes of the longest such element, or of another member.
    private(set) var longest = 0
    /// The values in the element that has the most.
    private(set) var mostValues = 0

    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Where the present element begins, and how many values came before it.
    private var start = 0
    private var before = 0

    /// Goes through a whole body.
    ///
    /// - Throws: `HTTPFailure` 413 as soon as it is more than the limits.
    init(_ pieces: BodyPieces, within limits: Limits) throws {
        while let piece = try pieces.next() {
            add(piece.span)
            guard bytes <= limits.bytes, values <= limits.values else {
                throw HTTPFailure.bodyTooLarge
            }
        }
        end(at: bytes)
    }

    private mutating func add(_ text: Span<UInt8>) {
        // Copies in registers: this is the one loop over every byte that is read.
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
                        end(at: bytes + position)
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

    private mutating func end(at position: Int) {
        elements += 1
        longest = max(longest, position - start)
        mostValues = max(mostValues, values - before)
        start = position
        before = values
    }

    // MARK: - Costs

    /// What an element of a list takes at most beside its text, taken apart and not yet dealt with.
    private static let elementCost = 512

    /// What the body takes at most when it is parsed as a whole.
    func cost(of kind: BodyKind) -> Int { Self.cost(bytes, values, kind) }

    /// What a list takes of which so many bytes and elements are held at once, the elements parsed.
    func cost(of kind: BodyKind, holding held: Int, elements count: Int) -> Int {
        Self.sum(
            Self.cost(longest, mostValues, kind),
            Self.sum(
                min(bytes, held).multipliedClamping(by: 3),
                min(elements, count).multipliedClamping(by: Self.elementCost)))
    }

    private static func cost(_ bytes: Int, _ values: Int, _ kind: BodyKind) -> Int {
        JSONWeight.cost(bytes: bytes, values: values, as: kind.form)
    }

    /// The sum of two costs, or the most there is.
    static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }
}

extension Int {
    /// The product of two numbers of 0 or more, or the most there is.
    func multipliedClamping(by other: Int) -> Int {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
