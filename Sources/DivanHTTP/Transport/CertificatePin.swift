// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import DivanJSON

/// The public key of a certificate, as pins name it.
package enum CertificatePin {
    /// Returns the SHA-256 digest of the `SubjectPublicKeyInfo` in a certificate.
    ///
    /// - Parameter certificate: A certificate in DER form.
    /// - Returns: 32 bytes; `nil` when this is no certificate.
    package static func sha256(ofKeyIn certificate: [UInt8]) -> [UInt8]? {
        publicKeyInfo(in: certificate).flatMap(sha256(of:))
    }

    /// Returns the SHA-256 digest of bytes: 32 of them; `nil` where OpenSSL may not compute one.
    static func sha256(of bytes: ArraySlice<UInt8>) -> [UInt8]? {
        guard let hasher = unsafe divan_hasher_create(Int32(clamping: DIVAN_SHA256.rawValue)) else {
            return nil
        }
        defer { unsafe divan_hasher_free(hasher) }
        var digest = [UInt8](repeating: 0, count: 32)
        // SAFETY: the bytes outlive the call, and the digest has room for SHA-256's 32 bytes, which is the most that
        // any algorithm of the fence writes.
        let count = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                guard unsafe divan_hasher_update(hasher, bytes.baseAddress, bytes.count) == 1 else {
                    return 0
                }
                return unsafe divan_hasher_finish(hasher, digest.baseAddress)
            }
        }
        return count == 32 ? digest : nil
    }

    /// The text of pins, as libcurl wants it.
    static func text(_ digests: [[UInt8]]) -> String {
        digests.map { "sha256//\(Base64.encode($0))" }.joined(separator: ";")
    }

    /// Finds the public key: `Certificate { tbs { [0] version?, serial, algorithm, issuer, validity, subject, key`.
    private static func publicKeyInfo(in certificate: [UInt8]) -> ArraySlice<UInt8>? {
        guard let outer = element(certificate[...]), outer.tag == 0x30, outer.rest.isEmpty,
            let signed = element(outer.content), signed.tag == 0x30
        else { return nil }
        var rest = signed.content
        if rest.first == 0xA0, let version = element(rest) { rest = version.rest }
        for _ in 0..<5 {
            guard let skipped = element(rest) else { return nil }
            rest = skipped.rest
        }
        guard let key = element(rest), key.tag == 0x30 else { return nil }
        return rest[..<key.rest.startIndex]
    }

    /// The first DER element: its tag, its content, and what follows.
    private static func element(_ bytes: ArraySlice<UInt8>) -> (
        tag: UInt8, content: ArraySlice<UInt8>, rest: ArraySlice<UInt8>
    )? {
        guard bytes.count >= 2 else { return nil }
        var position = bytes.startIndex + 1
        var length = Int(clamping: bytes[position])
        position += 1
        if length >= 0x80 {
            let count = length - 0x80
            guard (1...4).contains(count), bytes.endIndex - position >= count else { return nil }
            length = bytes[position..<(position + count)].reduce(0) { $0 << 8 | Int(clamping: $1) }
            position += count
        }
        guard bytes.endIndex - position >= length else { return nil }
        return (
            bytes[bytes.startIndex], bytes[position..<(position + length)],
            bytes[(position + length)...]
        )
    }
}
