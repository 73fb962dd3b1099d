// SPDX-License-Identifier: Apache-2.0

/// How high a row key stands in the partial reductions: its rank, drawn from the key by a hash.
///
/// One key in 32 has a rank of at least 1, one in 1,024 of at least 2, and so on. The rank depends on
/// the key and the seed of the index only, never on history: see ``Partials``. The seed is random, so
/// a peer or an app cannot choose keys that all have rank 0.
enum RowRank {
    /// The highest rank, enough for 32^8 rows.
    static let highest = 8
    /// Five zero bits for each level: 32 children on average.
    private static let bitsPerLevel = 5

    static func rank(of key: Span<UInt8>, seed: UInt64) -> Int {
        min(highest, hash(key, seed: seed).trailingZeroBitCount / bitsPerLevel)
    }

    /// A 64-bit hash: for each 8 bytes, little-endian and padded with zeros, a multiplication and a
    /// fold; then the length and one more of each.
    ///
    /// The constants are those of MurmurHash3's finaliser, chosen for how well they spread bits.
    static func hash(_ key: Span<UInt8>, seed: UInt64) -> UInt64 {
        var hash = seed
        var offset = 0
        while offset + 8 <= key.count {
            // SAFETY: the eight bytes from `offset` on are inside the span.
            let word = unsafe key.bytes.unsafeLoadUnaligned(
                fromByteOffset: offset, as: UInt64.self)
            hash = mixed(hash, UInt64(littleEndian: word))
            offset += 8
        }
        if offset < key.count { hash = mixed(hash, rest(of: key, from: offset)) }
        hash = (hash ^ UInt64(key.count)) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }

    /// The last bytes of a key, fewer than eight, padded with zeros.
    private static func rest(of key: Span<UInt8>, from offset: Int) -> UInt64 {
        guard key.count < 8 else {
            // SAFETY: the last eight bytes are inside the span. Those before `offset` are shifted out.
            let last = unsafe key.bytes.unsafeLoadUnaligned(
                fromByteOffset: key.count - 8, as: UInt64.self)
            return UInt64(littleEndian: last) >> UInt64(8 * (offset + 8 - key.count))
        }
        var word: UInt64 = 0
        for index in offset..<key.count {
            word |= UInt64(key[index]) << UInt64(8 * (index - offset))
        }
        return word
    }

    private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
        return product ^ product >> 32
    }
}
