// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// Canonical lower-case UUID text (8-4-4-4-12) to sixteen bytes and back.
///
/// Generated document IDs have this form; a revision row stores such an ID in 17 bytes, not 37. Both
/// directions are in the path of every insert.
enum UUIDText {
    static let length = 36

    /// The text for 128 bits.
    static func text(_ high: UInt64, _ low: UInt64) -> String { HexadecimalText.uuid(high, low) }

    /// The 128 bits of canonical lower-case text, or nil for any other text.
    static func bits(of text: Span<UInt8>) -> (high: UInt64, low: UInt64)? {
        HexadecimalText.uuid(text)
    }
}
