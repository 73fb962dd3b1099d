// SPDX-License-Identifier: Apache-2.0

internal import DivanPlatform
internal import DivanSystem

/// What the files of contents are called in an encrypted database.
///
/// If the file's name were the content's SHA-1, an attacker with the same content could see that it is stored here.
/// So the name is the SHA-1 encrypted: four rounds of a Feistel network over its two halves of 10 bytes, in each of
/// which one half is changed by HMAC-SHA-256 of the other and the number of the round.
///
///     left   right
///     left   right ⊕ F(0, left)
///     left ⊕ F(1, right)   right
///     left   right ⊕ F(2, left)
///     left ⊕ F(3, right)   right
///
/// The same content has the same name in one database, so it is kept once, and another name in each
/// other database. With the key, the rounds run backwards give the SHA-1.
struct AttachmentNames: Sendable {
    private static let half = AttachmentKey.byteCount / 2
    private static let rounds = 4

    /// The key; nil in a database that is not encrypted.
    let key: SecretBytes?

    /// The name of the file with a content.
    func name(of content: AttachmentKey) -> String {
        guard let key else { return content.fileName }
        var bytes = content.bytes
        for round in 0..<Self.rounds { Self.mix(&bytes, round, key) }
        return AttachmentKey(bytes.span)?.fileName ?? ""
    }

    /// The content whose file has a name; nil for a name that is none of a content's.
    func content(of name: String) -> AttachmentKey? {
        guard let key else { return AttachmentKey(fileName: name) }
        guard var bytes = AttachmentKey(fileName: name)?.bytes else { return nil }
        for round in (0..<Self.rounds).reversed() { Self.mix(&bytes, round, key) }
        return AttachmentKey(bytes.span)
    }

    /// Changes one half by the other; done twice it is as before.
    private static func mix(_ bytes: inout [UInt8], _ round: Int, _ key: SecretBytes) {
        let (from, to) = round.isMultiple(of: 2) ? (0, half) : (half, 0)
        let message = [UInt8(round)] + bytes[from..<from + half]
        KeyDerivation.subkey(of: key, for: message).withBytes { mask in
            for index in 0..<half { bytes[to + index] ^= mask[index] }
        }
    }
}
