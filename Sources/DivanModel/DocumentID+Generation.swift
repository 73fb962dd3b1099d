// SPDX-License-Identifier: Apache-2.0

extension DocumentID {
    /// Returns a new ID that sorts near other IDs made at about the same time.
    ///
    /// ```swift
    /// var random = SystemRandomNumberGenerator()
    /// let id = DocumentID.generated(using: &random, millisecondsSince1970: 1_795_224_062_004)
    /// // 01a1fb5c-56d4-7c3e-9b0a-5f1de20c7a46
    /// ```
    ///
    /// The ID is a UUID of version 7 in lower-case letters: 48 bits of time, then 74 random bits.
    /// Inserting IDs in the order of time touches the same few pages of the store again and again;
    /// wholly random IDs cost about three times as much to insert.
    ///
    /// - Parameters:
    ///   - random: The source of the random bits.
    ///   - milliseconds: The time; its lowest 48 bits are used.
    /// - Returns: An ID that no other call will return, as far as `random` is random.
    public static func generated(
        using random: inout some RandomNumberGenerator, millisecondsSince1970 milliseconds: UInt64
    ) -> DocumentID {
        // New documents get theirs from `IDGenerator` of DivanDatabase, which also counts within a millisecond.
        // time (48) | version 0111 (4) | random (12) ‖ variant 10 (2) | random (62)
        let high = milliseconds << 16 | 0x7000 | random.next() & 0x0fff
        let low = 0x8000_0000_0000_0000 | random.next() >> 2
        return DocumentID(HexadecimalText.uuid(high, low))
    }
}
