// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The few calls to the system that an engine makes beside SQLite's own.
enum FileSystem {
    /// stat(2): the bytes of a file, or `nil` when there is none.
    static func size(of path: String) -> Int? {
        var status = stat()
        // SAFETY: the structure is filled in during the call and read only when that succeeded.
        guard unsafe stat(path, &status) == 0 else {
            return nil
        }
        return Int(status.st_size)
    }

    /// stat(2): the bytes of a file, or `nil` when there is certainly none.
    static func sizeIfPresent(of path: String) throws(StorageError) -> Int? {
        var status = stat()
        // SAFETY: the structure is filled in during the call and read only when that succeeded.
        if unsafe stat(path, &status) == 0 {
            return Int(status.st_size)
        }
        guard errno == ENOENT || errno == ENOTDIR else {
            throw StorageError.system("look at", path, errno)
        }
        return nil
    }

    /// Whether there is something at a path that is no regular file, such as a pipe, at which opening or reading would
    /// wait without end.
    static func isStrange(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: the structure is filled in during the call and read only when that succeeded.
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Whether the first bytes of a file are zeros; those behind its end count as such.
    static func beginsWithZeros(_ path: String, count: Int) throws(StorageError) -> Bool {
        // SAFETY: the system reads the path during the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw StorageError.system("open", path, errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        // SAFETY: the call writes within the array, which lives through it.
        let got = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, count, 0)
        }
        guard got >= 0 else { throw StorageError.system("read", path, errno) }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// statvfs(3): whether the file system of a file is mounted for reading only.
    static func isOnReadOnlyMedium(_ path: String) -> Bool {
        var status = statvfs()
        // SAFETY: the structure is filled in during the call and read only when that succeeded.
        guard unsafe statvfs(path, &status) == 0 else {
            return false
        }
        return UInt(status.f_flag) & UInt(ST_RDONLY) != 0
    }

    /// mkdir(2), for every directory of the path that is missing.
    static func createDirectories(_ path: String) throws(StorageError) {
        if size(of: path) != nil {
            return
        }
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex {
            try createDirectories(String(path[..<slash]))
        }
        // SAFETY: the system reads the path during the call.
        if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
            throw StorageError.system("create", path, errno)
        }
    }

    /// unlink(2). A missing file counts as removed.
    static func remove(_ path: String) {
        // SAFETY: the system reads the path during the call.
        unsafe _ = unlink(path)
    }

    /// fsync(2) of a directory, which makes the names in it survive a power loss.
    static func syncDirectory(_ path: String) throws(StorageError) {
        // SAFETY: the system reads the path during the call.
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else {
            throw StorageError.system("open", path, errno)
        }
        defer { close(descriptor) }
        if fsync(descriptor) != 0 {
            throw StorageError.system("sync", path, errno)
        }
    }
}

extension StorageError {
    /// The error of a system call that failed.
    static func system(_ verb: String, _ path: String, _ number: Int32) -> StorageError {
        switch number {
        case EROFS, EACCES, EPERM:
            StorageError(.readOnly, "The permissions do not allow to \(verb) \(path).")
        case ENOSPC, EDQUOT:
            StorageError(.full, "There is no room on the disk to \(verb) \(path).")
        default:
            StorageError(.io, "The system failed to \(verb) \(path) (error \(number)).")
        }
    }
}
