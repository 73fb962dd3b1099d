// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
package import DivanSystem

/// AES-256-GCM with one key: seals bytes, so that they are neither read nor changed without it.
///
/// A nonce must never be used twice with one key; the caller makes sure of that. One thread at a time.
@safe
package final class SealingCipher {
    /// The bytes of a nonce.
    package static let nonceSize = Int(DIVAN_GCM_NONCE)
    /// The bytes that sealing adds.
    package static let tagSize = Int(DIVAN_GCM_TAG)

    // SAFETY: valid from the end of `init` to `deinit`.
    private let gcm: OpaquePointer

    /// Makes a key of 32 bytes ready.
    package init(key: SecretBytes) {
        precondition(key.count == KeyDerivation.keySize, "A key has 32 bytes.")
        // SAFETY: the bytes are lent for the call, and there are 32.
        let made = unsafe key.withBytes { key in
            unsafe key.withUnsafeBufferPointer { unsafe divan_gcm_create($0.baseAddress) }
        }
        guard let made = unsafe made else { preconditionFailure("OpenSSL has no AES-256-GCM.") }
        unsafe gcm = made
    }

    deinit { unsafe divan_gcm_free(gcm) }

    /// Seals bytes; the result has the tag at its end.
    ///
    /// - Parameters:
    ///   - bytes: What is sealed.
    ///   - nonce: 12 bytes, never used before with this key.
    ///   - associated: What is not stored but must be the same when the result is opened.
    /// - Returns: As many bytes, and the tag.
    package func seal(_ bytes: Span<UInt8>, nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
        precondition(nonce.count == Self.nonceSize, "A nonce has 12 bytes.")
        let size = bytes.count + Self.tagSize
        // SAFETY: the buffers are valid for the call, `out` has room for the tag too, and all of it
        // is written when the call succeeds.
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { out, count in
            let isDone = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe nonce.withUnsafeBufferPointer { nonce in
                    unsafe associated.withUnsafeBufferPointer { associated in
                        unsafe divan_gcm_seal(
                            gcm, nonce.baseAddress, associated.baseAddress, associated.count,
                            bytes.baseAddress, bytes.count, out.baseAddress) == 1
                    }
                }
            }
            precondition(isDone, "OpenSSL failed to encrypt.")
            count = size
        }
    }

    /// Opens what `seal` made; nil when it is something else, or belongs to other associated bytes.
    package func open(_ sealed: Span<UInt8>, nonce: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.tagSize, nonce.count == Self.nonceSize else { return nil }
        let size = sealed.count - Self.tagSize
        var isGenuine = false
        // SAFETY: the buffer is lent for the call, which writes `size` bytes in either case.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(size, 1)) { out, count in
            isGenuine = unsafe open(sealed, nonce, associated, into: out)
            count = isGenuine ? size : 0
        }
        return isGenuine ? bytes : nil
    }

    /// Opens bytes that are a secret themselves, into memory for secrets.
    package func openSecret(
        _ sealed: Span<UInt8>, nonce: [UInt8], associated: [UInt8]
    ) -> SecretBytes? {
        guard sealed.count > Self.tagSize, nonce.count == Self.nonceSize else { return nil }
        var isGenuine = false
        let secret = SecretBytes(count: sealed.count - Self.tagSize) { out in
            // SAFETY: the buffer is lent for the call, and has as many bytes as are written.
            unsafe out.withUnsafeMutableBufferPointer { out in
                isGenuine = unsafe open(sealed, nonce, associated, into: out)
            }
        }
        return isGenuine ? secret : nil
    }

    private func open(
        _ sealed: Span<UInt8>, _ nonce: [UInt8], _ associated: [UInt8],
        into out: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        // SAFETY: every pointer is used within the call, with its own count.
        unsafe sealed.withUnsafeBufferPointer { sealed in
            unsafe nonce.withUnsafeBufferPointer { nonce in
                unsafe associated.withUnsafeBufferPointer { associated in
                    unsafe divan_gcm_open(
                        gcm, nonce.baseAddress, associated.baseAddress, associated.count,
                        sealed.baseAddress, sealed.count - Self.tagSize, out.baseAddress) == 1
                }
            }
        }
    }
}
