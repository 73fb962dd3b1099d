// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// An open file descriptor, closed when the last reference goes.
package final class FileHandle: Sendable {
    /// The descriptor.
    package let descriptor: Int32
    /// The path that it was opened by, which another file may have by now.
    package let path: String

    /// Opens a regular file or a directory.
    ///
    /// A database's directory, and what is imported, may come from another program. A pipe or a device in the place of
    /// a file would make `open` or a read wait without end, so opening does not wait, and only what has a length is read.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - options: How it is opened.
    ///   - permissions: Those of a file that is made, less those that the process withholds.
    /// - Throws: `SystemError`.
    package convenience init(
        path: String, _ options: OpenOptions, permissions: Int = 0o644
    ) throws(SystemError) {
        try self.init(anyKindAt: path, options, permissions: permissions)
        guard let status = try? FileStatus(of: descriptor, path: path), status.kind != .other else {
            throw .noRegularFile(path)
        }
    }

    /// Opens a file, a pipe or a device.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - options: How it is opened.
    ///   - permissions: Those of a file that is made, less those that the process withholds.
    /// - Throws: `SystemError`.
    package init(
        anyKindAt path: String, _ options: OpenOptions, permissions: Int = 0o644
    ) throws(SystemError) {
        descriptor = try Descriptors.open(path, options, permissions: permissions)
        self.path = path
    }

    /// Makes a temporary file without a name, which is removed with this handle.
    ///
    /// - Returns: The file, open for reading and writing.
    /// - Throws: `SystemError`.
    package static func nameless() throws(SystemError) -> FileHandle {
        let folder = try Files.makeTemporaryDirectory(prefix: "divan-content-")
        let file = try FileHandle(path: folder + "/content", [.read, .write, .new])
        try Files.remove(folder)
        return file
    }

    deinit { Descriptors.close(descriptor) }

    // MARK: - What it is

    /// What the system tells about the file; nil when it tells nothing.
    package var status: FileStatus? { try? FileStatus(of: descriptor, path: path) }

    /// Whether the file still has a name; false once it, or its directory, was deleted.
    package var isLinked: Bool { status.map { $0.links > 0 } ?? false }

    /// The device and inode: which file this is, whatever its name.
    package var identity: FileIdentity? { status?.identity }

    /// Whether this is the file that the path names now.
    package var isAtItsPath: Bool {
        guard let identity else { return false }
        return identity == Files.identity(of: path)
    }

    /// The length of the file.
    package var length: Int? { status?.length }

    // MARK: - The lock

    /// Takes the advisory lock; returns false when another holder has it.
    ///
    /// - Parameter exclusive: Whether no other holder may have it, not even a shared one.
    /// - Returns: Whether it was taken.
    /// - Throws: `SystemError`.
    package func tryLock(exclusive: Bool) throws(SystemError) -> Bool {
        while flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw SystemError("flock", path) }
        }
        return true
    }

    /// Takes the advisory lock, and tries again while another holder has it: flock(2) cannot wait with a limit.
    ///
    /// - Parameters:
    ///   - exclusive: Whether no other holder may have it, not even a shared one.
    ///   - timeout: How long to try.
    /// - Returns: Whether it was taken within the timeout.
    /// - Throws: `SystemError`.
    package func lock(exclusive: Bool, timeout: Duration) throws(SystemError) -> Bool {
        try poll(every: .milliseconds(5), for: timeout) { () throws(SystemError) in
            try tryLock(exclusive: exclusive)
        }
    }

    /// Gives up the advisory lock.
    package func unlock() { _ = flock(descriptor, LOCK_UN) }
}
