// SPDX-License-Identifier: Apache-2.0

/// The order of keys in canonical JSON and in the packed form: by UTF-16 code unit.
///
/// It is the order of UTF-8 bytes but for one thing: scalars beyond the first plane, which are
/// surrogates (D800 to DFFF) in UTF-16, stand before U+E000 to U+FFFF.
enum KeyOrder {
    /// Moves the lead bytes F0 to F4 before EE and EF, and leaves all others in their order.
    @inline(__always)
    static func rank(_ byte: UInt8) -> UInt8 {
        guard byte >= 0xEE else { return byte }
        return byte >= 0xF0 ? byte - 2 : byte &+ 8
    }

    /// Whether one key stands before the other.
    static func isBefore(_ left: String, _ right: String) -> Bool {
        for (a, b) in zip(left.utf8, right.utf8) where a != b { return rank(a) < rank(b) }
        return left.utf8.count < right.utf8.count
    }
}

extension JSONObject {
    /// The places of the properties in the order of canonical JSON.
    var sortedIndices: [Int] {
        indices.sorted { KeyOrder.isBefore(keys[$0], keys[$1]) }
    }
}
