// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel

/// A document's ID as the stores of an index have it: in the order of its UTF-8, and without a zero.
///
/// IDs that programs make are hexadecimal digits for the most part, and each stands in an index twice. So
/// from the third digit on two of them share a byte, and the hyphens of a UUID are left out: 17 bytes
/// instead of 36, or instead of the 32 of CouchDB's IDs a few more. An ID that does not begin with two
/// digits is kept as it is, and so is what follows the digits of any other ID:
///
///     0190abcd-7e2f-7abc-8def-0123456789ab    "01" 90 AB CD 7E 2F 7A BC 8D EF 01 04 23 45 67 89 AB
///     person:17                               "person:17"
///     ab-17                                   "ab" 01 02 "-17"
///
/// A byte is two digits, which are lower-case. Two of its values are reserved for other content, so
/// some pairs take two bytes:
///
///     01 01   before the place of a hyphen: no hyphen, but something below it; the rest as it is
///     01 02   no two digits, but something below any two; the rest as it is
///     01 03   the digits 00
///     01 04   the digits 01
///     FF 01   the digits ff
///     FF 02   before the place of a hyphen: no hyphen, but something above it; no hyphens from here on
///     FF 03   not the two digits before, but something between them and the next two; the rest as it is
///
/// The places of hyphens are behind 8, 12, 16 and 20 digits.
///
/// ## Invariants
///
/// ``checkInvariants(of:and:)`` tests each.
///
/// 1. Of two IDs, the one whose UTF-8 stands first stands first, also with a zero behind each: an ID
///    that ends stands before one that goes on.
/// 2. No byte is zero, if none is in the text, and the first one is that of the text.
/// 3. The text comes back as it was.
package enum RowDocumentID {
    private enum Mark {
        static let low: UInt8 = 0x01
        static let belowHyphen: UInt8 = 0x01
        static let belowDigits: UInt8 = 0x02
        static let zeroZero: UInt8 = 0x03
        static let zeroOne: UInt8 = 0x04

        static let high: UInt8 = 0xFF
        static let digits: UInt8 = 0x01
        static let noHyphens: UInt8 = 0x02
        static let aboveDigits: UInt8 = 0x03
    }

    private static let hyphen = UInt8(ascii: "-")

    private static func isPlaceOfHyphen(_ digits: Int) -> Bool {
        digits >= 8 && digits <= 20 && digits.isMultiple(of: 4)
    }

    // MARK: - Writing

    /// Appends an ID.
    package static func append(_ id: DocumentID, to bytes: inout [UInt8]) {
        append(id.text, to: &bytes)
    }

    /// Appends a text that may be an ID.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.makeContiguousUTF8()
        let utf8 = text.utf8
        append(utf8.span, to: &bytes)
    }

    /// Appends an ID in UTF-8.
    package static func append(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        if let bits = HexadecimalText.uuid(text) {
            return append(bits.high, bits.low, to: &bytes)
        }
        guard text.count >= 2, digit(text[0]) != nil, digit(text[1]) != nil else {
            return bytes.append(copying: text)
        }
        bytes.append(text[0])
        bytes.append(text[1])
        var (at, digits, hasHyphens) = (2, 2, true)
        while at < text.count {
            if hasHyphens, isPlaceOfHyphen(digits) {
                if text[at] < hyphen {
                    return append(Mark.low, Mark.belowHyphen, text, from: at, to: &bytes)
                }
                if text[at] == hyphen {
                    at += 1
                } else {
                    bytes.append(Mark.high)
                    bytes.append(Mark.noHyphens)
                    hasHyphens = false
                }
            }
            if at + 1 < text.count, let first = digit(text[at]), let second = digit(text[at + 1]) {
                append(pair: first << 4 | second, to: &bytes)
                (at, digits) = (at + 2, digits + 2)
                continue
            }
            guard let pair = lastPair(below: text.extracting(at...)) else {
                return append(Mark.low, Mark.belowDigits, text, from: at, to: &bytes)
            }
            append(pair: pair, to: &bytes)
            return append(Mark.high, Mark.aboveDigits, text, from: at, to: &bytes)
        }
    }

    /// Appends a UUID.
    package static func append(_ high: UInt64, _ low: UInt64, to bytes: inout [UInt8]) {
        let first = UInt64(HexadecimalText.digits(UInt32(high >> 56)) & 0xFFFF)
        // The bytes behind the first: eight, and eight of which one is in both.
        let (left, right) = (high << 8 | low >> 56, low)
        guard !hasMark(left), !hasMark(right) else {
            bytes.append(UInt8(first >> 8))
            bytes.append(UInt8(first & 0xFF))
            for shift in stride(from: 48, through: 0, by: -8) {
                append(pair: UInt8(truncatingIfNeeded: high >> UInt64(shift)), to: &bytes)
            }
            for shift in stride(from: 56, through: 0, by: -8) {
                append(pair: UInt8(truncatingIfNeeded: low >> UInt64(shift)), to: &bytes)
            }
            return
        }
        bytes.appendBigEndian(first << 48 | (high << 8) >> 16, high << 56 | low >> 8)
        bytes.append(UInt8(truncatingIfNeeded: low))
    }

    private static func append(pair: UInt8, to bytes: inout [UInt8]) {
        switch pair {
        case 0x00, 0x01:
            bytes.append(Mark.low)
            bytes.append(pair == 0 ? Mark.zeroZero : Mark.zeroOne)
        case 0xFF:
            bytes.append(Mark.high)
            bytes.append(Mark.digits)
        default: bytes.append(pair)
        }
    }

    private static func append(
        _ mark: UInt8, _ kind: UInt8, _ text: Span<UInt8>, from start: Int,
        to bytes: inout [UInt8]
    ) {
        bytes.append(mark)
        bytes.append(kind)
        bytes.append(copying: text.extracting(start...))
    }

    /// The highest two digits that stand before a text which does not begin with two.
    private static func lastPair(below text: Span<UInt8>) -> UInt8? {
        guard text.count > 0 else { return nil }
        guard let first = digit(text[0]) else {
            return lastDigit(below: text[0]).map { $0 << 4 | 15 }
        }
        if text.count > 1, let second = lastDigit(below: text[1]) { return first << 4 | second }
        return first == 0 ? nil : (first - 1) << 4 | 15
    }

    /// The highest digit that stands before a character which is no digit.
    private static func lastDigit(below character: UInt8) -> UInt8? {
        switch character {
        case ..<UInt8(ascii: "0"): nil
        case ..<UInt8(ascii: "a"): 9
        default: 15
        }
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Whether one of eight bytes is 00, 01 or FF: two digits that take two bytes, or the first of
    /// two bytes.
    private static func hasMark(_ word: UInt64) -> Bool {
        let (ones, highBits): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let low = (word &- 2 &* ones) & ~word & highBits
        let high = (~word &- ones) & word & highBits
        return low | high != 0
    }

    // MARK: - Reading

    /// The ID that bytes stand for.
    ///
    /// - Throws: ``IndexCorruption`` when they stand for none.
    package static func decode(_ bytes: Span<UInt8>) throws(IndexCorruption) -> DocumentID {
        if let (high, low) = uuid(bytes) { return DocumentID(HexadecimalText.uuid(high, low)) }
        guard bytes.count >= 2, digit(bytes[0]) != nil, digit(bytes[1]) != nil else {
            return try id(bytes)
        }
        var text: [UInt8] = []
        try appendText(of: bytes, to: &text)
        return try id(text.span)
    }

    /// Appends the ID that bytes stand for, in UTF-8.
    static func decode(_ bytes: Span<UInt8>, to text: inout [UInt8]) throws(IndexCorruption) {
        if let (high, low) = uuid(bytes) {
            return HexadecimalText.appendUUID(high, low, to: &text)
        }
        let start = text.count
        if bytes.count >= 2, digit(bytes[0]) != nil, digit(bytes[1]) != nil {
            try appendText(of: bytes, to: &text)
        } else {
            text.append(copying: bytes)
        }
        guard (try? UTF8Span(validating: text.span.extracting(start...))) != nil else {
            throw notUTF8
        }
    }

    private static func id(_ text: Span<UInt8>) throws(IndexCorruption) -> DocumentID {
        guard let text = String(validUTF8: text) else {
            throw notUTF8
        }
        return DocumentID(text)
    }

    /// The number that the ID spells, if it is a UUID all of whose pairs take one byte.
    private static func uuid(_ bytes: Span<UInt8>) -> (high: UInt64, low: UInt64)? {
        guard bytes.count == 17, let first = digit(bytes[0]), let second = digit(bytes[1])
        else { return nil }
        let (left, right) = (word(bytes, at: 2), word(bytes, at: 9))
        guard !hasMark(left), !hasMark(right) else { return nil }
        return (UInt64(first << 4 | second) << 56 | left >> 8, right)
    }

    private static func word(_ bytes: Span<UInt8>, at offset: Int) -> UInt64 {
        // SAFETY: the caller has seen that there are 17 bytes, and reads from the second or ninth.
        unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self).bigEndian
    }

    /// Appends the text that bytes stand for which begin with two digits.
    private static func appendText(
        of bytes: Span<UInt8>, to text: inout [UInt8]
    ) throws(IndexCorruption) {
        text.append(bytes[0])
        text.append(bytes[1])
        var (at, digits, hasHyphens, isBehindPair) = (2, 2, true, false)
        while at < bytes.count {
            let takesHyphen = hasHyphens && isPlaceOfHyphen(digits)
            var pair = bytes[at]
            at += 1
            if pair == Mark.low || pair == Mark.high {
                guard at < bytes.count else { throw damage }
                let kind = bytes[at]
                at += 1
                switch (pair, kind) {
                case (Mark.low, Mark.zeroZero): pair = 0
                case (Mark.low, Mark.zeroOne): pair = 1
                case (Mark.high, Mark.digits): break
                case (Mark.high, Mark.noHyphens) where takesHyphen:
                    (hasHyphens, isBehindPair) = (false, false)
                    continue
                case (Mark.low, Mark.belowHyphen) where takesHyphen: fallthrough
                case (Mark.low, Mark.belowDigits):
                    if takesHyphen, kind == Mark.belowDigits { text.append(hyphen) }
                    text.append(copying: bytes.extracting(at...))
                    return
                case (Mark.high, Mark.aboveDigits) where isBehindPair:
                    text.removeLast(2)
                    text.append(copying: bytes.extracting(at...))
                    return
                default: throw damage
                }
            }
            if takesHyphen { text.append(hyphen) }
            HexadecimalText.append(pair: pair, to: &text)
            (digits, isBehindPair) = (digits + 2, true)
        }
    }

    private static let notUTF8 = IndexCorruption("A document ID in an index is not UTF-8.")
    private static let damage = IndexCorruption("A document ID in an index is damaged.")

    /// Stops the program where an invariant does not hold for two texts; for tests.
    static func checkInvariants(of left: String, and right: String) throws {
        let written = [left, right].map { text in
            var bytes: [UInt8] = []
            append(text, to: &bytes)
            return bytes
        }
        let isBefore = left.utf8.lexicographicallyPrecedes(right.utf8)
        precondition(written[0].precedes(written[1]) == isBefore, "invariant 1")
        precondition((written[0] + [0]).precedes(written[1] + [0]) == isBefore, "invariant 1")
        for (text, bytes) in zip([left, right], written) {
            precondition(text.utf8.contains(0) || !bytes.contains(0), "invariant 2")
            precondition(bytes.first == text.utf8.first, "invariant 2")
            let decoded = try decode(bytes.span)
            precondition(decoded.text.hasSameBytes(as: text), "invariant 3")
            var appended: [UInt8] = [1]
            try decode(bytes.span, to: &appended)
            precondition(appended == [1] + Array(text.utf8), "invariant 3")
        }
    }
}
