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
    /// Whether these bytes come before others: bytewise, a shorter one first.
    package func precedes(_ other: [UInt8]) -> Bool {
        compare(self.span, other.span) < 0
    }
}

/// Compares bytes as keys of a store are: below zero if `left` comes first.
package func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
    let shared = min(left.count, right.count)
    for index in 0..<shared where left[index] != right[index] {
        return Int(left[index]) - Int(right[index])
    }
    return left.count - right.count
}
