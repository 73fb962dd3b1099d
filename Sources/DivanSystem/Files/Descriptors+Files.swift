// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

// Descriptors of files.
extension Descriptors {
    /// The size of a regular file.
    ///
    /// - Parameter descriptor: The file.
    /// - Returns: The bytes; nil for a pipe, a terminal, a device.
    package static func regularFileSize(_ descriptor: Int32) -> Int? {
        guard let status = try? FileStatus(of: descriptor, path: "descriptor \(descriptor)"),
            status.kind == .regular
        else { return nil }
        return status.length
    }

    /// Forces what was written to a file to the disk.
    ///
    /// - Parameter descriptor: The file.
    /// - Throws: `SystemError`.
    package static func synchronise(_ descriptor: Int32) throws(SystemError) {
        guard fsync(descriptor) == 0 else { throw SystemError("fsync", "a file") }
    }

    /// Creates a file with a name that no other file has, readable by this user only.
    ///
    /// - Parameters:
    ///   - prefix: What its path begins with.
    ///   - suffix: What its path ends with.
    /// - Returns: The descriptor, open for writing, and the path.
    /// - Throws: `SystemError`.
    package static func openTemporaryFile(
        prefix: String, suffix: String
    ) throws(SystemError) -> (descriptor: Int32, path: String) {
        var tries = 0
        while true {
            let path = prefix + String(UInt64.random(in: 0 ... .max), radix: 36) + suffix
            do throws(SystemError) {
                return (try open(path, [.write, .new, .waits], permissions: 0o600), path)
            } catch {
                tries += 1
                guard error.isExisting, tries < 100 else { throw error }
            }
        }
    }
}
