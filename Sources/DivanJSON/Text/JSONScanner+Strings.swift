// SPDX-License-Identifier: Apache-2.0

extension JSONScanner {
    /// A string between its quotes, checked: valid UTF-8 and valid escapes.
    struct StringToken {
        var range: Range<Int>
        var hasEscapes: Bool
    }

    /// Finds the bytes of eight that end a plain run: `"`, `\`, control characters and anything
    /// outside ASCII. The lowest set bit belongs to the first such byte; higher ones may be false.
    @inline(__always)
    static func stops(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = (word ^ (ones &* 0x22)) &- ones
        let backslash = (word ^ (ones &* 0x5C)) &- ones
        let control = word &- (ones &* 0x20)
        return (quote | backslash | control | word) & (ones &* 0x80)
    }

    /// Reads a string; the position is after its opening quote, and ends after the closing one.
    mutating func scanString() throws(JSONParser.Failure) -> StringToken {
        let start = position
        var hasEscapes = false
        while true {
            while position + 8 <= end {
                let stops = Self.stops(in: word(at: position))
                if stops != 0 {
                    position += stops.trailingZeroBitCount >> 3
                    break
                }
                position += 8
            }
            guard position < end else { throw failure("the closing quote of a string") }
            let byte = byte(at: position)
            switch byte {
            case 0x22:
                position += 1
                return StringToken(range: start..<(position - 1), hasEscapes: hasEscapes)
            case 0x5C:
                hasEscapes = true
                _ = try scanEscape()
            case 0..<0x20:
                throw failure("an escape, because control characters may not stand in strings")
            case 0x20..<0x80: position += 1
            default: try skipMultibyteScalar(lead: byte)
            }
        }
    }

    /// Moves past one scalar of two to four bytes, by the table of well-formed sequences in
    /// chapter 3 of the Unicode standard.
    @inline(__always)
    private mutating func skipMultibyteScalar(lead: UInt8) throws(JSONParser.Failure) {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw failure("valid UTF-8", .characters)
        }
        guard position + length <= end, second.contains(byte(at: position + 1)) else {
            throw failure("valid UTF-8", .characters)
        }
        for index in 2..<max(length, 2) where byte(at: position + index) & 0xC0 != 0x80 {
            throw failure("valid UTF-8", .characters)
        }
        position += length
    }

    /// Reads one escape, with a following one when the first is half of a surrogate pair.
    ///
    /// - Returns: The scalar's value.
    private mutating func scanEscape() throws(JSONParser.Failure) -> UInt32 {
        let start = position
        guard position + 1 < end else { throw failure("the closing quote of a string", at: end) }
        let letter = byte(at: position + 1)
        position += 2
        switch letter {
        case 0x22, 0x5C, 0x2F: return UInt32(letter)
        case 0x62: return 0x08
        case 0x66: return 0x0C
        case 0x6E: return 0x0A
        case 0x72: return 0x0D
        case 0x74: return 0x09
        case 0x75: break
        default: throw failure("one of the escapes of JSON", at: start)
        }
        let unit = try scanHexadecimal()
        switch unit {
        case 0xD800..<0xDC00:
            guard position + 1 < end, byte(at: position) == 0x5C, byte(at: position + 1) == 0x75
            else {
                throw failure("the other half of a surrogate pair", .characters)
            }
            position += 2
            let low = try scanHexadecimal()
            guard (0xDC00..<0xE000).contains(low) else {
                throw failure("the other half of a surrogate pair", at: position - 6, .characters)
            }
            return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        case 0xDC00..<0xE000:
            throw failure("a high surrogate before a low one", at: start, .characters)
        default: return unit
        }
    }

    private mutating func scanHexadecimal() throws(JSONParser.Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard position < end else { throw failure("four hexadecimal digits") }
            let byte = byte(at: position)
            switch byte {
            case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
            case 0x41...0x46: value = value << 4 | UInt32(byte - 0x41 + 10)
            case 0x61...0x66: value = value << 4 | UInt32(byte - 0x61 + 10)
            default: throw failure("four hexadecimal digits")
            }
            position += 1
        }
        return value
    }

    /// Writes the text of a checked token with escapes, which is never longer than the token.
    ///
    /// - Returns: How many bytes were written.
    func unescape(_ token: StringToken, to target: UnsafeMutablePointer<UInt8>) -> Int {
        var scanner = self
        scanner.position = token.range.lowerBound
        var count = 0
        while scanner.position < token.range.upperBound {
            let byte = scanner.byte(at: scanner.position)
            // A checked token has no bad escape: the failing branch is never taken.
            if byte == 0x5C, let scalar = try? scanner.scanEscape() {
                let encoded = String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8
                // SAFETY: each escape is at least as long as its UTF-8, so `count` stays below the
                // token's length, for which the caller made room.
                for unit in encoded {
                    unsafe target[count] = unit
                    count += 1
                }
            } else {
                // SAFETY: as above; a plain byte is written for a byte read.
                unsafe target[count] = byte
                count += 1
                scanner.position += 1
            }
        }
        return count
    }

    /// The text of a checked token.
    func string(of token: StringToken) -> String {
        guard token.hasEscapes else {
            return unsafe withBytes(token.range) { unsafe String(decoding: $0, as: UTF8.self) }
        }
        return unsafe String(unsafeUninitializedCapacity: token.range.count) { buffer in
            // SAFETY: the capacity is the token's length, which `unescape` never exceeds.
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe unescape(token, to: start)
        }
    }
}
