// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

/// A file that is being written beside the one whose place it is to take: `NAME.divan-N.partial`.
///
/// Its process holds a lock on it. One without a lock was left by a process that was killed, and goes with the next one that is
/// made for the same name. Where a file system knows no locks, each of them stays.
enum PartialFile {
    /// Makes a file with a name of its own, since another process may write a file of the same name.
    ///
    /// - Parameter path: The file whose place it is to take.
    /// - Returns: The file, open for writing, and locked for as long as it is open.
    /// - Throws: `SystemError`.
    static func make(beside path: String) throws(SystemError) -> FileHandle {
        removeLeftovers(beside: path)
        while true {
            let file = try FileHandle(
                anyKindAt: path + mark + String(UInt32.random(in: 0 ... .max)) + suffix,
                [.write, .new, .waits], permissions: 0o666)
            let isLocked = try? file.tryLock(exclusive: true)
            // Until now another process may have taken it for a leftover.
            if isLocked != false, file.isLinked { return file }
        }
    }

    private static let mark = ".divan-"
    private static let suffix = ".partial"

    private static func removeLeftovers(beside path: String) {
        let folder = Files.parent(of: path)
        let prefix = Files.lastComponent(of: path) + mark
        // A folder that cannot be listed may still be written to.
        for name in (try? Files.list(folder)) ?? [] {
            guard let number = name.afterBytePrefix(prefix)?.beforeByteSuffix(suffix),
                UInt32(number, radix: 10) != nil,
                let file = try? FileHandle(path: folder + "/" + name, .write),
                (try? file.tryLock(exclusive: true)) == true, file.isAtItsPath
            else { continue }
            Files.removeFile(file.path)
        }
    }
}
