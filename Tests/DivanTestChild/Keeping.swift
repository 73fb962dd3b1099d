// SPDX-License-Identifier: Apache-2.0

package import Divan
import DivanLMDB

/// In what way a test keeps its databases, whatever the others do.
package enum Keeping: String, CaseIterable, Sendable {
    case sqlite, lmdb, encrypted

    /// The key of those that are encrypted.
    package static func key() throws -> EncryptionKey {
        try EncryptionKey(rawBytes: [UInt8](repeating: 0x4B, count: 32))
    }

    /// Sets the options by which such a database is made and opened.
    package func apply(to options: inout DatabaseOptions) throws {
        options.storageEngine = self == .lmdb ? .lmdb : .sqlite
        if self == .encrypted { options.encryptionKey = try Self.key() }
    }
}
