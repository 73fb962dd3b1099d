// SPDX-License-Identifier: Apache-2.0

import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Holds a shared lock on a file, as a backup does.
final class LockHolder {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT, 0o644)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_SH) == 0)
    }

    deinit { _ = close(descriptor) }

    func release() { _ = flock(descriptor, LOCK_UN) }
}
