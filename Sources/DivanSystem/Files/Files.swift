// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The file-system operations that Divan needs, as plain functions that throw.
///
/// A call marked `unsafe` in these files is safe because its path is lent to it as a C string and not kept,
/// besides the reason given at each.
package enum Files {
    /// Whether there is a file at a path.
    package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Whether there is a directory at a path.
    package static func isDirectory(_ path: String) -> Bool {
        status(of: path)?.kind == .directory
    }

    /// Whether the permissions allow to write at a path.
    package static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

    // MARK: - What lies at a path

    /// What the system tells about a file; nil when it tells nothing, as where there is no file.
    package static func status(of path: String) -> FileStatus? { try? FileStatus(at: path) }

    /// Which file lies at a path, for as long as this process runs.
    package static func identity(of path: String) -> FileIdentity? { status(of: path)?.identity }

    /// Which file lies at a path, in words that no copy of it shares, also after a restart.
    ///
    /// An inode may be used again once its file is gone, so the time of the last change to the inode
    /// is a part of it, which no program can set: for a file that is never written, the time it was
    /// made. The number of the file system tells snapshots of it apart, where it has one; the number
    /// of a device would not last.
    ///
    /// - Returns: nil when there is no such file.
    package static func lastingIdentity(of path: String) -> String? {
        guard let status = status(of: path) else { return nil }
        let number = Volume(of: path)?.number ?? 0
        let changed = status.changed
        return "\(String(number, radix: 16))-\(status.identity.inode)"
            + "-\(changed.seconds).\(changed.nanoseconds)"
    }

    /// The length of a regular file; nil when there is none.
    package static func length(of path: String) -> Int? {
        guard let status = status(of: path), status.kind == .regular else { return nil }
        return status.length
    }

    /// What shows whether a file has been written since: its length, its times, and its identity.
    package struct Stamp: Equatable, Sendable {
        /// The length in bytes.
        package var length: Int
        private var inode: UInt64
        private var written: FileTime
        private var changed: FileTime

        fileprivate init(_ status: FileStatus) {
            length = status.length
            inode = status.identity.inode
            written = status.written
            changed = status.changed
        }
    }

    /// The stamp of a file; nil when there is none.
    package static func stamp(of path: String) -> Stamp? { status(of: path).map(Stamp.init) }

    /// The bytes of all files below a path, which may be a symbolic link; what links below it lead to does not count.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - other: A path below it whose files do not count; nil to count all.
    /// - Returns: The bytes; 0 where there is nothing.
    package static func size(of path: String, leavingOut other: String? = nil) -> Int {
        size(of: path, leavingOut: other, followingLinks: true)
    }

    private static func size(
        of path: String, leavingOut other: String?, followingLinks: Bool
    ) -> Int {
        guard path != other,
            let status = try? FileStatus(at: path, followingLinks: followingLinks)
        else { return 0 }
        guard status.kind == .directory else { return status.length }
        let names = (try? list(path)) ?? []
        return names.reduce(0) {
            $0 + size(of: path + "/" + $1, leavingOut: other, followingLinks: false)
        }
    }

    // MARK: - Names

    /// Deletes a file or a whole directory; what is already gone is fine.
    package static func remove(_ path: String) throws(SystemError) {
        if unsafe unlink(path) == 0 || errno == ENOENT { return }
        guard isDirectory(path) else { throw SystemError("unlink", path) }
        for name in try list(path) { try remove(path + "/" + name) }
        guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw SystemError("rmdir", path) }
    }

    /// Deletes a directory that is empty; one that is not stays, and what is already gone is fine.
    package static func removeDirectoryIfEmpty(_ path: String) throws(SystemError) {
        if unsafe rmdir(path) == 0 { return }
        guard [ENOENT, ENOTEMPTY, EEXIST].contains(errno) else {
            throw SystemError("rmdir", path)
        }
    }

    /// Deletes a file, but no directory. What cannot be deleted, or is gone, stays as it is.
    package static func removeFile(_ path: String) { unsafe _ = unlink(path) }

    /// Gives a file another name, in place of the file that has it now.
    package static func rename(_ from: String, to: String) throws(SystemError) {
        guard unsafe CLibrary.rename(from, to) == 0 else { throw SystemError("rename", from) }
    }

    /// Gives a file a second name, which no other file must have yet.
    package static func link(_ from: String, to: String) throws(SystemError) {
        guard unsafe CLibrary.link(from, to) == 0 else { throw SystemError("link", to) }
    }

    /// The path of the directory that a file is in.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The name of a file in its directory.
    package static func lastComponent(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
    }
}
