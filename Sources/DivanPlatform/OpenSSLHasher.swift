// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import DivanJSON

/// One OpenSSL digest context, owned from `init` to `deinit`.
@safe
final class OpenSSLHasher: DigestHasher {
    private let hasher: OpaquePointer

    init(_ algorithm: DigestAlgorithm) {
        let number =
            switch algorithm {
            case .md5: DIVAN_MD5
            case .sha1: DIVAN_SHA1
            case .sha256: DIVAN_SHA256
            }
        guard let created = unsafe divan_hasher_create(Int32(number.rawValue)) else {
            preconditionFailure("OpenSSL offers no \(algorithm).")
        }
        unsafe self.hasher = unsafe created
    }

    deinit {
        unsafe divan_hasher_free(hasher)
    }

    func update(_ bytes: Span<UInt8>) {
        // SAFETY: the buffer outlives the call and is only read.
        let isTaken = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe divan_hasher_update(hasher, bytes.baseAddress, bytes.count)
        }
        precondition(isTaken == 1, "OpenSSL refused input to a digest.")
    }

    func finish() -> [UInt8] {
        // SAFETY: the capacity is the longest digest of any algorithm, and only the bytes that
        // were written count as initialised.
        let digest = unsafe [UInt8](unsafeUninitializedCapacity: Int(DIVAN_HASH_MAXIMUM)) {
            $1 = unsafe divan_hasher_finish(hasher, $0.baseAddress)
        }
        precondition(!digest.isEmpty, "OpenSSL failed to finish a digest.")
        return digest
    }
}
