// SPDX-License-Identifier: Apache-2.0

internal import DivanListener

/// What two devices derive from their keys and the secret of a link, each for itself.
///
///     secret of the link, both keys ──► the key of the digits, with both nonces ──► the digits on both screens
///                                  └──► the pair's secret ──► the marks of a day, by which they find each other
///
/// The device that made the link comes first. Each value has a label of its own, so that one tells nothing about another.
enum PeerKey {
    /// The ID of the device that has a key.
    static func id(of key: [UInt8]) -> String { Hexadecimal.text(Array(key.prefix(16))) }

    /// What the digits are made of, besides the nonces.
    static func codeKey(_ link: [UInt8], host: [UInt8], guest: [UInt8]) -> [UInt8] {
        derive("divan pairing code", link, host + guest)
    }

    /// The digits that both devices show: `483 019`.
    static func code(_ codeKey: [UInt8], hostNonce: [UInt8], guestNonce: [UInt8]) -> String {
        let bytes = derive("divan pairing digits", codeKey, hostNonce + guestNonce)
        let number =
            bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64(clamping: $1) } % 1_000_000
        let digits = String(number)
        let padded = String(repeating: "0", count: 6 - digits.count) + digits
        return "\(padded.prefix(3)) \(padded.suffix(3))"
    }

    /// What binds a guest to its nonce before it is told the host's.
    static func commitment(to nonce: [UInt8], of guest: [UInt8]) -> [UInt8] {
        derive("divan pairing commitment", nonce, guest)
    }

    /// The secret that the two devices keep.
    static func secret(_ link: [UInt8], host: [UInt8], guest: [UInt8]) -> [UInt8] {
        derive("divan pair", link, host + guest)
    }

    /// The mark by which a device shows its peer, on one day, that it is there. To all others it is a random number.
    ///
    /// - Parameters:
    ///   - secret: The secret of the pair.
    ///   - key: The key of the device that shows itself.
    ///   - day: The days since 1970, in universal time.
    /// - Returns: The mark.
    static func mark(_ secret: [UInt8], of key: [UInt8], day: Int64) -> [UInt8] {
        Array(derive("divan mark \(day)", secret, key).prefix(markLength))
    }

    /// The bytes of a mark. A stranger's is taken for it once in 2^48; the connection then shows that it is none.
    static let markLength = 6

    private static func derive(_ label: String, _ secret: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        Secrets.sign(Array(label.utf8) + [0] + bytes, key: secret)
    }
}
