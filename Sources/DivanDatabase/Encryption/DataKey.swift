// SPDX-License-Identifier: Apache-2.0

internal import DivanPlatform
internal import DivanStorage
internal import DivanSystem

/// The random key that a database's files are encrypted with, for as long as it is open.
///
/// The engine takes the key itself. Attachments have keys of their own, derived from it, so that
/// neither tells anything about the other.
package final class DataKey: Sendable, StorageKey {
    let secret: SecretBytes
    /// Names the files of contents; see `AttachmentNames`.
    let names: SecretBytes
    /// What the keys of single contents are derived from.
    let contents: SecretBytes
    /// Proves the manifest.
    let manifests: SecretBytes

    init(_ secret: SecretBytes) {
        self.secret = secret
        names = KeyDerivation.subkey(of: secret, for: Array("divan-attachment-names-1".utf8))
        contents = KeyDerivation.subkey(of: secret, for: Array("divan-attachments-1".utf8))
        manifests = KeyDerivation.subkey(of: secret, for: Array("divan-manifest-1".utf8))
    }

    static func random() -> DataKey {
        DataKey(SecretBytes.random(count: KeyDerivation.keySize))
    }

    func lend(to body: (Span<UInt8>) -> Void) { secret.withBytes(body) }
}
