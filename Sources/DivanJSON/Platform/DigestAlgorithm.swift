// SPDX-License-Identifier: Apache-2.0

/// A message digest algorithm that some part of the protocol names.
public enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    /// MD5, 16 bytes: revision IDs, and `md5-` attachment digests of CouchDB.
    case md5
    /// SHA-1, 20 bytes: attachment names and checkpoint IDs.
    case sha1
    /// SHA-256, 32 bytes: key derivation and certificate pins.
    case sha256

    /// The length of a digest in bytes.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        }
    }
}
