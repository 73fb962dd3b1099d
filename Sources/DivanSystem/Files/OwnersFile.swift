// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

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
            // What root writes for a service belongs to the service's user, as the folder does.
            if geteuid() == 0 { try file.giveToOwner(of: Files.parent(of: path)) }
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

    /// Locks a file for a change: for reading it, changing what was read, and replacing it.
    ///
    /// - Parameter path: The file, beside which the lock lies.
    /// - Returns: The lock, which its release gives up; nil when it cannot be had for 10 s.
    package static func lock(_ path: String) -> FileHandle? {
        guard
            let lock = try? FileHandle(
                path: path + ".lock", [.write, .create], permissions: 0o600)
        else { return nil }
        if geteuid() == 0 { try? lock.giveToOwner(of: Files.parent(of: path)) }
        return (try? lock.lock(exclusive: true, timeout: .seconds(10))) == true ? lock : nil
    }

    /// The bytes of a file.
    ///
    /// - Parameter path: The file.
    /// - Returns: The bytes; nil when it cannot be read.
    package static func read(_ path: String) -> [UInt8]? {
        try? FileHandle(path: path, .read).contents()
    }
}

extension FileHandle {
    /// Makes the file belong to the user and group that a folder belongs to.
    fileprivate func giveToOwner(of folder: String) throws(SystemError) {
        var status = stat()
        // SAFETY: the path is lent to the call as a C string; `status` is a local that outlives the call.
        guard unsafe stat(folder, &status) == 0 else { throw SystemError("stat", folder) }
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw SystemError("fchown", path)
        }
    }
}
