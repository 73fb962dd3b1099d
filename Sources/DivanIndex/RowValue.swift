// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanStorage

/// The value of a row: the packed value that was emitted, or nothing for none.
package enum RowValue {
    /// Reads an emitted value; null for none.
    package static func decode(_ bytes: Span<UInt8>) -> PackedValue {
        bytes.count == 0 ? null : PackedValue(copying: bytes)
    }

    private static let null = PackedValue(.null)
}

extension [UInt8] {
    /// Appends lent bytes.
    mutating func append(copying bytes: Span<UInt8>) {
        // SAFETY: the buffer is used only within the call, which copies it.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Whether these bytes come before others: bytewise, a shorter one first.
    package func precedes(_ other: [UInt8]) -> Bool {
        compare(self.span, other.span) < 0
    }
}

/// Compares bytes as keys of a store are: below zero if `left` comes first.
package func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
    let shared = min(left.count, right.count)
    var index = 0
    // Keys of one document or of one word begin alike: eight bytes at a time.
    while index + 8 <= shared {
        // SAFETY: the eight bytes from `index` on are inside both spans.
        let (one, other) = unsafe (
            left.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self),
            right.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
        )
        if one != other { return one.bigEndian < other.bigEndian ? -1 : 1 }
        index += 8
    }
    while index < shared {
        if left[index] != right[index] { return left[index] < right[index] ? -1 : 1 }
        index += 1
    }
    return left.count - right.count
}
