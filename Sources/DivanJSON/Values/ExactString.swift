// SPDX-License-Identifier: Apache-2.0

/// A string compared by its bytes.
///
/// To Swift's own `==`, `"é"` in one scalar and in two is the same text. In a database they are two
/// keys, and neither may replace the other.
@usableFromInline package struct ExactString: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The string.
    @usableFromInline package let text: String

    /// Takes a string.
    @inlinable package init(_ text: String) {
        self.text = text
    }

    /// Takes a literal.
    @inlinable package init(stringLiteral text: String) {
        self.text = text
    }

    /// Whether both have the same bytes.
    @usableFromInline package static func == (left: ExactString, right: ExactString) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Hashes the bytes, all at once: one by one they take several times as long.
    @usableFromInline package func hash(into hasher: inout Hasher) {
        // SAFETY: the hasher reads the buffer during the call.
        unsafe text.withUTF8Bytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(0xFF as UInt8)
    }
}

extension StringProtocol {
    /// Whether the string begins with the bytes of another one.
    ///
    /// `hasPrefix` compares characters: by it a text does not begin with `_design/` where a combining mark
    /// follows, since the mark and the slash are one character.
    package func hasBytePrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the string ends with the bytes of another one.
    package func hasByteSuffix(_ suffix: String) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// The rest of the string after a beginning; nil where the string begins otherwise, byte for byte.
    package func afterBytePrefix(_ prefix: String) -> String? {
        hasBytePrefix(prefix)
            ? String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
    }

    /// What precedes an end; nil where the string has another one, byte for byte.
    package func beforeByteSuffix(_ suffix: String) -> String? {
        hasByteSuffix(suffix)
            ? String(decoding: utf8.dropLast(suffix.utf8.count), as: UTF8.self) : nil
    }
}

extension String {
    /// Whether both strings are the same name: the same UTF-8, byte for byte.
    ///
    /// `==` holds also for `"é"` in one scalar and in two, and for `"K"` and the sign of Kelvin.
    public func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return unsafe withUTF8Bytes { left in
            unsafe other.withUTF8Bytes { right in
                // SAFETY: both indices are below the common count.
                for index in 0..<left.count where unsafe left[index] != right[index] {
                    return false
                }
                return true
            }
        }
    }

    /// Whether another string is there and the same, byte for byte.
    package func hasSameBytes(as other: String?) -> Bool {
        other.map { hasSameBytes(as: $0) } ?? false
    }

    /// Calls a closure with the bytes of the text, which are copied only if they are not at hand.
    @inline(__always)
    fileprivate func withUTF8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // SAFETY: the buffer lives for the call; callers compare or hash its bytes.
        let result = unsafe utf8.withContiguousStorageIfAvailable {
            unsafe body(UnsafeRawBufferPointer($0))
        }
        if let result { return result }
        return unsafe Array(utf8).withUnsafeBytes { unsafe body($0) }
    }

    /// Runs a closure over the string's UTF-8 bytes.
    func withUTF8Span<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
        var copy = self
        // SAFETY: the buffer is lent to the span for the length of this closure only.
        return try copy.withUTF8 { try unsafe body($0.span) }
    }
}
