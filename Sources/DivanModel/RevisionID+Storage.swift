// SPDX-License-Identifier: Apache-2.0

/// A digest that is not 32 lower-case hexadecimal digits, compared by its bytes.
struct OpaqueDigest: Sendable, Hashable {
    let text: String

    /// `String` calls texts equal that differ only in how letters are composed; digests are bytes.
    static func == (left: OpaqueDigest, right: OpaqueDigest) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}

extension RevisionID.Storage {
    /// The one form of `digest`, or `nil` unless it has 1 to 255 bytes.
    init?(_ digest: Substring) {
        let length = digest.utf8.count
        guard length >= 1, length <= RevisionID.maximumDigestLength else { return nil }
        if length == HexadecimalText.length, let number = HexadecimalText.parse(digest.utf8) {
            self = .md5(high: number.high, low: number.low)
        } else {
            self = .opaque(OpaqueDigest(text: String(digest)))
        }
    }
}
