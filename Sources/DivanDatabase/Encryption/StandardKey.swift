// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The key of databases that are opened without one: there is none, except in tests that run once more
/// with every database encrypted.
package enum StandardKey {
    private static let key = Mutex<EncryptionKey?>(nil)

    /// The key.
    package static var current: EncryptionKey? {
        get { key.withLock { $0 } }
        set { key.withLock { $0 = newValue } }
    }
}
