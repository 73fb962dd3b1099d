// SPDX-License-Identifier: Apache-2.0

/// How strings are spelled.
enum StringStyle {
    /// As in a digest: upper-case escapes, and pairs of them for scalars beyond the first plane.
    case canonical
    /// As in ordinary output: escapes only where JSON needs them.
    case plain
}

extension ByteSink {
    /// Appends a string of valid UTF-8 with its quotes and escapes.
    ///
    /// As many bytes as `readable`, at least the string's, may be read: it spares a loop over the
    /// last bytes when eight may be read at once.
    @inline(__always)
    mutating func append(
        string bytes: UnsafeBufferPointer<UInt8>, readable: Int, style: StringStyle
    ) {
        append(0x22)
        let plain = unsafe appendPlain(bytes, readable: readable)
        if plain < bytes.count { unsafe appendEscaping(bytes, from: plain, style: style) }
        append(0x22)
    }

    /// Copies ASCII without escapes, by eight bytes while looking at them.
    ///
    /// - Returns: Where it stopped: at the end, or some bytes before the first of another kind.
    @inline(__always)
    private mutating func appendPlain(
        _ bytes: UnsafeBufferPointer<UInt8>, readable: Int
    ) -> Int {
        guard let source = unsafe UnsafeRawPointer(bytes.baseAddress) else { return 0 }
        let length = bytes.count
        var copied = 0
        // SAFETY: words are loaded within `readable`, and stored into the room that was made and at
        // most seven bytes of the slack.
        unsafe write(length) { target in
            let target = UnsafeMutableRawPointer(target)
            while copied < length, copied + 8 <= readable {
                let word = unsafe UInt64(
                    littleEndian: source.loadUnaligned(fromByteOffset: copied, as: UInt64.self))
                unsafe target.storeBytes(
                    of: word.littleEndian, toByteOffset: copied, as: UInt64.self)
                var stops = JSONScanner.stops(in: word)
                let left = length - copied
                if left < 8 { stops &= (1 << UInt64(truncatingIfNeeded: 8 * left)) &- 1 }
                if stops != 0 { return copied }
                copied = min(copied + 8, length)
            }
            while copied < length {
                let byte = unsafe source.load(fromByteOffset: copied, as: UInt8.self)
                if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x80 { break }
                unsafe target.storeBytes(of: byte, toByteOffset: copied, as: UInt8.self)
                copied += 1
            }
            return copied
        }
        return copied
    }

    /// Where the first byte stands that needs an escape.
    @inline(__always)
    private static func plainPrefix(
        of bytes: UnsafeBufferPointer<UInt8>, from start: Int, style: StringStyle
    ) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var index = start
        guard let base = unsafe UnsafeRawPointer(bytes.baseAddress) else { return 0 }
        // SAFETY: eight bytes are loaded while at least eight are left.
        while index + 8 <= bytes.count {
            let word = unsafe base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quote = (word ^ (ones &* 0x22)) &- ones
            let backslash = (word ^ (ones &* 0x5C)) &- ones
            let control = word &- (ones &* 0x20)
            // A byte outside ASCII stops the words: it may lead a scalar that needs an escape.
            if (quote | backslash | control | word) & (ones &* 0x80) != 0 { break }
            index += 8
        }
        while index < bytes.count, unsafe !needsEscape(bytes[index], style) { index += 1 }
        return index
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8, _ style: StringStyle) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C || (byte >= 0xF0 && style == .canonical)
    }

    @inline(never)
    private mutating func appendEscaping(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, style: StringStyle
    ) {
        var index = start
        while index < bytes.count {
            // SAFETY: `index` is below the buffer's length, and so are the plain runs.
            let byte = unsafe bytes[index]
            if Self.needsEscape(byte, style) {
                if byte >= 0xF0 {
                    let length = min(4, bytes.count - index)
                    unsafe appendPair(
                        UnsafeBufferPointer(rebasing: bytes[index..<(index + length)]))
                    index += length
                } else {
                    appendEscape(byte, style: style)
                    index += 1
                }
            }
            let plain = unsafe Self.plainPrefix(of: bytes, from: index, style: style)
            unsafe append(UnsafeBufferPointer(rebasing: bytes[index..<plain]))
            index = plain
        }
    }

    private mutating func appendEscape(_ byte: UInt8, style: StringStyle) {
        append(0x5C)
        switch byte {
        case 0x08: append(0x62)
        case 0x09: append(0x74)
        case 0x0A: append(0x6E)
        case 0x0C: append(0x66)
        case 0x0D: append(0x72)
        case 0x22, 0x5C: append(byte)
        default: append(unit: UInt16(byte), isUppercase: style == .canonical)
        }
    }

    /// Appends a four-byte scalar as two escapes.
    private mutating func appendPair(_ bytes: UnsafeBufferPointer<UInt8>) {
        // SAFETY: the sequence reads within its buffer; invalid UTF-8 decodes to U+FFFD.
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        for unit in text.utf16 {
            append(0x5C)
            append(unit: unit, isUppercase: true)
        }
    }

    private mutating func append(unit: UInt16, isUppercase: Bool) {
        append(0x75)
        for shift in [12, 8, 4, 0] {
            let digit = UInt8(truncatingIfNeeded: unit >> UInt16(shift)) & 0xF
            append(digit < 10 ? digit + 0x30 : digit - 10 + (isUppercase ? 0x41 : 0x61))
        }
    }
}
