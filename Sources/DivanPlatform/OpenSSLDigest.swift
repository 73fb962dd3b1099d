// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
public import DivanJSON

/// Message digests by OpenSSL.
///
/// Algorithms are fetched once per process, and each thread keeps one MD5 context, so hashing a
/// document costs little more than the hash itself.
public struct OpenSSLDigest: MessageDigest {
    /// The only instance that is needed: it has no state of its own.
    public static let shared = OpenSSLDigest()

    /// Makes a digest like ``shared``.
    public init() {}

    /// Hashes one piece of bytes with MD5.
    ///
    /// - Parameter bytes: The whole input.
    /// - Returns: The digest as two big-endian halves.
    public func md5(of bytes: Span<UInt8>) -> (UInt64, UInt64) {
        var halves: (UInt64, UInt64) = (0, 0)
        // SAFETY: the pair is 16 bytes of plain storage, which is what MD5 writes; the input
        // outlives the call and is only read.
        let isHashed = unsafe withUnsafeMutableBytes(of: &halves) { out in
            unsafe bytes.withUnsafeBufferPointer { input in
                unsafe divan_md5(
                    input.baseAddress, input.count,
                    out.baseAddress?.assumingMemoryBound(to: UInt8.self))
            }
        }
        precondition(isHashed == 1, "OpenSSL offers no MD5, which revision IDs are made of.")
        return (UInt64(bigEndian: halves.0), UInt64(bigEndian: halves.1))
    }

    /// Makes a hasher for input that comes in pieces.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: A hasher that has seen nothing yet.
    public func makeHasher(_ algorithm: DigestAlgorithm) -> any DigestHasher {
        OpenSSLHasher(algorithm)
    }
}
