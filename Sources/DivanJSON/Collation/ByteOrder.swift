// SPDX-License-Identifier: Apache-2.0

/// The order of UTF-8 texts that needs no table.
enum ByteOrder {
    /// Compares bytes, which is the order of Unicode scalars; a shorter text comes first.
    ///
    /// Couchbase Lite compares its raw and ASCII keys as C's `char`, whose sign depends on the
    /// processor; docs/decisions/0006 says why that is not followed.
    static func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        let count = min(left.count, right.count)
        var index = 0
        while index < count {
            if left[index] != right[index] { return Int(left[index]) - Int(right[index]) }
            index += 1
        }
        return left.count - right.count
    }
}
