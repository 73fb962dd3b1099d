// SPDX-License-Identifier: Apache-2.0

/// A digest in the making: takes bytes as they come, then answers.
///
/// ```swift
/// let hasher = digest.makeHasher(.sha1)
/// for chunk in chunks { hasher.update(chunk.span) }
/// let name = hasher.finish()
/// ```
///
/// A hasher belongs to one task at a time; it is not Sendable.
public protocol DigestHasher: AnyObject {
    /// Takes in more bytes.
    ///
    /// - Parameter bytes: The next piece of the input.
    func update(_ bytes: Span<UInt8>)

    /// Ends the input, and starts anew for the next one.
    ///
    /// - Returns: The digest of everything since the last `finish`, as many bytes as
    ///   ``DigestAlgorithm/byteCount`` says.
    func finish() -> [UInt8]
}
