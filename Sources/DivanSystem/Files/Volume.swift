// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The file system that a file lies in: statvfs(3).
package struct Volume: Sendable {
    /// Whether it is mounted for reading only.
    package let isReadOnly: Bool
    /// How many blocks an ordinary user may still write.
    package let freeBlocks: Int
    /// The bytes of a block.
    package let blockSize: Int
    /// The number of the file system, which tells its snapshots apart; 0 where it has none.
    package let number: UInt64

    /// The bytes that an ordinary user may still write.
    package var freeBytes: Int {
        let (bytes, isTooMany) = freeBlocks.multipliedReportingOverflow(by: blockSize)
        return isTooMany ? .max : bytes
    }

    /// Looks at the file system of a file; nil when there is no such file.
    ///
    /// - Parameter path: The file.
    package init?(of path: String) {
        var status = statvfs()
        // SAFETY: the path is lent to the call as a C string; `status` is a local that outlives the call.
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        isReadOnly = UInt(status.f_flag) & UInt(ST_RDONLY) != 0
        freeBlocks = Int(clamping: status.f_bavail)
        blockSize = Int(clamping: status.f_frsize)
        number = UInt64(status.f_fsid)
    }

    /// How much of the file system of a file is used.
    ///
    /// - Parameter path: The file.
    /// - Returns: Percent of what ordinary users may have, rounded up as df(1) does; nil when there is no such file.
    package static func usedPercent(of path: String) -> Int? {
        var status = statvfs()
        // SAFETY: as above.
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return usedPercent(
            blocks: Double(status.f_blocks), free: Double(status.f_bfree),
            available: Double(status.f_bavail))
    }

    /// The percentage for numbers of blocks: all, those that are free, and those that are free for ordinary users.
    static func usedPercent(blocks: Double, free: Double, available: Double) -> Int {
        let used = max(blocks - free, 0)
        guard used + available > 0 else { return 0 }
        return Int((used * 100 / (used + available)).rounded(.up))
    }
}
