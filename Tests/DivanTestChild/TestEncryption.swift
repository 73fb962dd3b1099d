// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials

/// Runs whatever tests are run with every database encrypted, when `DIVAN_TEST_ENCRYPTED` is 1.
///
/// Databases that exist without encryption, such as old files kept in the tests, open as ever.
package enum TestEncryption {
    /// Whether it is so. The first look makes it so.
    package static let isOn: Bool = {
        guard ProcessInfo.processInfo.environment["DIVAN_TEST_ENCRYPTED"] == "1" else {
            return false
        }
        StandardKey.current = try? EncryptionKey(rawBytes: [UInt8](repeating: 0x5A, count: 32))
        return true
    }()
}
