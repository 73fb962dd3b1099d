// SPDX-License-Identifier: Apache-2.0

/// Files that only their owner may read, replaced as a whole.
package enum OwnersFile {
    /// Writes a file anew.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - bytes: Its new content.
    /// - Returns: False when that is not possible; the old file is then still there.
    package static func replace(_ path: String, _ bytes: [UInt8]) -> Bool {
        let temporary = path + ".new"
        Files.removeFile(temporary)
        do {
            // Only the owner may read it, also while it is written.
            let file = try FileHandle(path: temporary, [.write, .new], permissions: 0o600)
            try file.write(bytes)
            try file.synchronise()
            try Files.rename(temporary, to: path)
            // Without this a power cut may bring the old file back: a user or a device that was removed in the new one.
            try Files.synchroniseDirectory(Files.parent(of: path))
            return true
        } catch {
            Files.removeFile(temporary)
            return false
        }
    }

    /// The bytes of a file.
    ///
    /// - Parameter path: The file.
    /// - Returns: The bytes; nil when it cannot be read.
    package static func read(_ path: String) -> [UInt8]? {
        try? FileHandle(path: path, .read).contents()
    }
}
