// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// Which file: its device and inode.
package struct FileIdentity: Hashable, Sendable {
    /// The number of the device.
    package var device: UInt64
    /// The number of the file on the device.
    package var inode: UInt64
}

/// A moment in the life of a file, by the system's clock.
package struct FileTime: Hashable, Sendable {
    /// The seconds since 1970.
    package var seconds: Int
    /// The nanoseconds since then.
    package var nanoseconds: Int

    fileprivate init(_ time: timespec) {
        seconds = Int(time.tv_sec)
        nanoseconds = Int(time.tv_nsec)
    }
}

/// What the system tells about a file: stat(2).
package struct FileStatus: Sendable {
    /// The kinds of files.
    package enum Kind: Sendable {
        /// A file with a length.
        case regular
        /// A directory.
        case directory
        /// A pipe, a device, a socket or a link.
        case other
    }

    /// What kind of file it is.
    package let kind: Kind
    /// Its length in bytes.
    package let length: Int
    /// Which file it is.
    package let identity: FileIdentity
    /// How many names it has.
    package let links: Int
    /// When its content was written last.
    package let written: FileTime
    /// When its content, its names or its permissions were changed last. No program can set this time.
    package let changed: FileTime

    /// Looks at the file at a path.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - followingLinks: Whether a symbolic link stands for the file that it names.
    /// - Throws: `SystemError` when there is none, or the permissions do not allow to look.
    package init(at path: String, followingLinks: Bool = true) throws(SystemError) {
        var status = stat()
        // SAFETY: the path is lent to the call as a C string; `status` is a local that outlives the call.
        let result = unsafe followingLinks ? stat(path, &status) : lstat(path, &status)
        guard result == 0 else { throw SystemError("stat", path) }
        self.init(status)
    }

    /// Looks at an open file.
    ///
    /// - Parameters:
    ///   - descriptor: The file.
    ///   - path: Its path, for the error.
    /// - Throws: `SystemError`.
    package init(of descriptor: Int32, path: String) throws(SystemError) {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError("fstat", path) }
        self.init(status)
    }

    private init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            default: .other
            }
        length = Int(clamping: status.st_size)
        identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            inode: UInt64(truncatingIfNeeded: status.st_ino))
        links = Int(clamping: status.st_nlink)
        #if canImport(Darwin)
        (written, changed) = (FileTime(status.st_mtimespec), FileTime(status.st_ctimespec))
        #else
        (written, changed) = (FileTime(status.st_mtim), FileTime(status.st_ctim))
        #endif
    }
}
