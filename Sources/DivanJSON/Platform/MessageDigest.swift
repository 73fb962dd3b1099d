// SPDX-License-Identifier: Apache-2.0

/// The message digests that documents, attachments and checkpoints are named by.
///
/// They name content; none of them guards a secret. `DivanPlatform` implements this with OpenSSL.
///
/// ```swift
/// let (high, low) = digest.md5(of: canonicalBody.span)
/// ```
public protocol MessageDigest: Sendable {
    /// Hashes one piece of bytes with MD5, as revision IDs need it.
    ///
    /// This runs once for each saved revision, so an implementation keeps its working memory from
    /// one call to the next.
    ///
    /// - Parameter bytes: The whole input.
    /// - Returns: The digest's 16 bytes as two big-endian halves, ready to be printed in hex.
    func md5(of bytes: Span<UInt8>) -> (UInt64, UInt64)

    /// Makes a hasher for input that comes in pieces.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: A hasher that has seen nothing yet.
    func makeHasher(_ algorithm: DigestAlgorithm) -> any DigestHasher
}
