// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// A row whose bytes break its format. The checksum was right, so this is a defect, not a bit flip.
package struct MalformedRow: Error {
    /// Makes the error.
    package init() {}
}

/// Reads the fields of a row in order, checking every bound.
struct RowReader {
    var offset: Int = 0

    mutating func byte(_ row: Span<UInt8>) throws -> UInt8 {
        guard offset < row.count else { throw MalformedRow() }
        defer { offset += 1 }
        return row[offset]
    }

    mutating func varint(_ row: Span<UInt8>) throws -> UInt64 {
        try Varint.decode(row, at: &offset)
    }

    mutating func text(_ row: Span<UInt8>) throws -> String {
        let length = try varint(row)
        guard length <= UInt64(row.count - offset) else { throw MalformedRow() }
        defer { offset += Int(length) }
        return String(utf8: row.extracting(offset..<offset + Int(length)))
    }

    mutating func fixed64(_ row: Span<UInt8>) throws -> UInt64 {
        guard row.count - offset >= 8 else { throw MalformedRow() }
        var word: UInt64 = 0
        for index in 0..<8 { word |= UInt64(row[offset + index]) << UInt64(8 * index) }
        offset += 8
        return word
    }

    mutating func bigEndian64(_ row: Span<UInt8>) throws -> UInt64 {
        guard row.count - offset >= 8 else { throw MalformedRow() }
        // SAFETY: the eight bytes from `offset` on are inside the row.
        let word = unsafe row.bytes.unsafeLoadUnaligned(
            fromByteOffset: offset, as: UInt64.self)
        offset += 8
        return word.bigEndian
    }

    mutating func skip(_ count: UInt64, of row: Span<UInt8>) throws {
        guard count <= UInt64(row.count - offset) else { throw MalformedRow() }
        offset += Int(count)
    }

    func rest(_ row: Span<UInt8>) -> Range<Int> { offset..<row.count }
}

extension String {
    /// Makes a string of borrowed UTF-8; invalid sequences are repaired, as they cannot occur here.
    package init(utf8 bytes: Span<UInt8>) {
        // SAFETY: the buffer is used only within the call, which copies it.
        self = unsafe bytes.withUnsafeBufferPointer {
            unsafe String(decoding: $0, as: UTF8.self)
        }
    }

    /// Lends the UTF-8 of the string.
    @inline(__always)
    func withSpan<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
        guard isContiguousUTF8 else { return try withCopiedSpan(body) }
        let utf8 = utf8
        return try body(utf8.span)
    }

    @inline(never)
    private func withCopiedSpan<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
        var text = self
        text.makeContiguousUTF8()
        let utf8 = text.utf8
        return try body(utf8.span)
    }
}

extension [UInt8] {
    mutating func append(fixed64 word: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }

    /// Appends a number in the order of bytes that sorts as numbers do.
    package mutating func append(bigEndian64 word: UInt64) {
        // SAFETY: the buffer lives for the call, and its bytes are copied.
        unsafe Swift.withUnsafeBytes(of: word.bigEndian) { unsafe append(contentsOf: $0) }
    }

    mutating func append(text: String) {
        Varint.append(UInt64(text.utf8.count), to: &self)
        append(contentsOf: text.utf8)
    }
}
