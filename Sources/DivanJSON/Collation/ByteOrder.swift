// SPDX-License-Identifier: Apache-2.0

/// The two orders of UTF-8 texts that need no table.
enum ByteOrder {
    /// Compares bytes, which is the order of Unicode scalars; a shorter text comes first.
    static func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        guard let (left, right) = firstDifference(left, right) else {
            return left.count - right.count
        }
        return Int(left) - Int(right)
    }

    /// Compares bytes as signed numbers, so that all other characters sort before ASCII.
    ///
    /// Couchbase Lite compares its raw and ASCII keys as C's `char`, which is signed on x86 and on
    /// Apple's processors; its recorded order is kept.
    static func compareSigned(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        guard let (left, right) = firstDifference(left, right) else {
            return left.count - right.count
        }
        return Int(left ^ 0x80) - Int(right ^ 0x80)
    }

    private static func firstDifference(
        _ left: Span<UInt8>, _ right: Span<UInt8>
    ) -> (UInt8, UInt8)? {
        let count = min(left.count, right.count)
        var index = 0
        while index < count {
            if left[index] != right[index] { return (left[index], right[index]) }
            index += 1
        }
        return nil
    }
}
