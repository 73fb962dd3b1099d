// SPDX-License-Identifier: Apache-2.0

// Escaping:  00 → 01 01     01 → 01 02     every other byte stands for itself     00 ends the text
//
// A text's end, 00, is below the escape, 01, which is below every byte that is not escaped; so
// escaped texts sort as the texts themselves, a shorter one first.

extension RowKeyCoder {
    private static let escape: UInt8 = 0x01

    /// Appends a string's encoding after its tag.
    func appendText(_ text: Span<UInt8>, to key: inout [UInt8]) {
        guard collation == .unicode else {
            appendEscaped(text, to: &key)
            return
        }
        if strings.appendTellingSortKey(of: text, to: &key) {
            key.append(RowKeyCoder.end)
            key.append(RowKeyCoder.end)
            return
        }
        strings.appendSortKey(of: text, to: &key)
        key.append(RowKeyCoder.end)
        key.append(RowKeyCoder.textFollows)
        appendEscaped(text, to: &key)
    }

    /// Appends bytes, escaped and ended.
    func appendEscaped(_ bytes: Span<UInt8>, to key: inout [UInt8]) {
        // SAFETY: the bytes are lent to the closure and only read.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            let start = key.count
            unsafe key.append(contentsOf: bytes)
            var isPlain = true
            for index in start..<key.count {
                isPlain = isPlain && key[index] > RowKeyCoder.escape
            }
            if !isPlain { escape(from: start, in: &key) }
        }
        key.append(RowKeyCoder.end)
    }

    /// Escapes what follows an offset, which is rare enough to be done anew.
    private func escape(from start: Int, in key: inout [UInt8]) {
        let plain = key[start...]
        key.removeSubrange(start...)
        for byte in plain {
            if byte <= RowKeyCoder.escape {
                key.append(RowKeyCoder.escape)
                key.append(byte + 1)
            } else {
                key.append(byte)
            }
        }
    }

    /// Reads a string after its tag.
    func decodeText(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> String {
        guard collation == .unicode else {
            return try decodeEscaped(key, at: &offset)
        }
        let start = offset
        if try skipSortKey(key, at: &offset) { return try decodeEscaped(key, at: &offset) }
        guard let text = strings.text(toldBy: key.extracting(start..<offset - 2)) else {
            throw Failure(offset: start, expectation: "a sort key that tells its text")
        }
        return text
    }

    /// Reads a string after its tag and appends its UTF-8.
    func decodeText(
        _ key: Span<UInt8>, at offset: inout Int, to text: inout [UInt8]
    ) throws(Failure) {
        guard collation != .unicode else {
            return text.append(contentsOf: try decodeText(key, at: &offset).utf8)
        }
        let start = offset
        let escaped = key.extracting(try takeEscaped(key, at: &offset))
        let first = text.count
        if hasEscape(escaped) {
            guard let plain = RowKeyCoder.unescape(escaped) else {
                throw Failure(offset: start, expectation: "a text in UTF-8")
            }
            text += plain
        } else {
            // SAFETY: the bytes are copied.
            unsafe escaped.withUnsafeBufferPointer { unsafe text.append(contentsOf: $0) }
        }
        guard (try? UTF8Span(validating: text.span.extracting(first...))) != nil else {
            throw Failure(offset: start, expectation: "a text in UTF-8")
        }
    }

    /// Moves past a sort key and what follows it; whether that says that the text comes next.
    func skipSortKey(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> Bool {
        offset = key.firstZero(from: offset)
        _ = try RowKeyCoder.take(key, at: &offset, "the end of a sort key")
        switch try RowKeyCoder.take(key, at: &offset, "00 or 01 after a sort key") {
        case RowKeyCoder.end: return false
        case RowKeyCoder.textFollows: return true
        default: throw Failure(offset: offset - 1, expectation: "00 or 01 after a sort key")
        }
    }

    /// Reads escaped bytes up to their end as UTF-8.
    func decodeEscaped(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> String {
        let start = offset
        let escaped = key.extracting(try takeEscaped(key, at: &offset))
        let text =
            hasEscape(escaped)
            ? RowKeyCoder.unescape(escaped).flatMap { String(validUTF8: $0.span) }
            : String(validUTF8: escaped)
        guard let text else { throw Failure(offset: start, expectation: "a text in UTF-8") }
        return text
    }

    /// Takes escaped bytes, and tells where they stand without their end.
    private func takeEscaped(
        _ key: Span<UInt8>, at offset: inout Int
    ) throws(Failure) -> Range<Int> {
        let start = offset
        offset = key.firstZero(from: start)
        _ = try RowKeyCoder.take(key, at: &offset, "the end of a text")
        return start..<offset - 1
    }

    private func hasEscape(_ bytes: Span<UInt8>) -> Bool {
        var isFound = false
        for index in bytes.indices { isFound = isFound || bytes[index] == RowKeyCoder.escape }
        return isFound
    }

    /// The bytes that were escaped, or nil if these are not what escaping makes.
    private static func unescape(_ escaped: Span<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(escaped.count)
        var isEscape = false
        for index in escaped.indices {
            let byte = escaped[index]
            if isEscape {
                guard byte == escape || byte == escape + 1 else { return nil }
                bytes.append(byte - 1)
                isEscape = false
            } else if byte == escape {
                isEscape = true
            } else {
                bytes.append(byte)
            }
        }
        return isEscape ? nil : bytes
    }
}
