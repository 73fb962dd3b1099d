// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// The bytes by which a packed body tells at once that it holds no blob.
///
/// The key `@type` with the value `blob` always packs to the same bytes, so one search for them spares
/// nearly every save a walk through its body.
enum BlobMark {
    /// What follows the `@`: the rest of the key, then a string of four bytes.
    private static let rest = Array("type\u{4}blob".utf8)

    /// Whether the bytes hold the mark.
    static func occurs(in bytes: Span<UInt8>) -> Bool {
        var offset = 0
        while let found = bytes.firstIndex(of: UInt8(ascii: "@"), from: offset) {
            offset = found + 1
            guard offset + rest.count <= bytes.count else { return false }
            if rest.indices.allSatisfy({ bytes[offset + $0] == rest[$0] }) { return true }
        }
        return false
    }
}
