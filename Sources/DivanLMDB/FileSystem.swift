// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Which file: its device and inode.
struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
}

/// The few calls to the system that the engine makes beside LMDB's own.
///
/// Every path is lent to its call as a C string and not kept: that is what makes the calls marked
/// `unsafe` here safe.
enum FileSystem {
    /// stat(2): the bytes of a file, or `nil` when there is none.
    static func size(of path: String) -> Int? {
        status(of: path).map { Int($0.st_size) }
    }

    /// stat(2): which file lies at a path.
    static func identity(of path: String) -> FileIdentity? {
        status(of: path).map {
            FileIdentity(device: UInt64($0.st_dev), inode: UInt64($0.st_ino))
        }
    }

    /// Whether there may be a file at a path though looking at it fails.
    static func isUncertain(_ path: String) -> Bool {
        status(of: path) == nil && errno != ENOENT && errno != ENOTDIR
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        // SAFETY: the structure is filled in during the call and read only when that succeeded.
        return unsafe stat(path, &status) == 0 ? status : nil
    }

    /// statvfs(3): whether the file system of a file is mounted for reading only.
    static func isOnReadOnlyMedium(_ path: String) -> Bool {
        guard let status = medium(of: path) else { return false }
        return UInt(status.f_flag) & UInt(ST_RDONLY) != 0
    }

    /// statvfs(3): whether there is hardly any room left where a file lies.
    static func isFull(_ path: String) -> Bool {
        guard let status = medium(of: path) else { return false }
        return UInt(status.f_bavail) * UInt(status.f_frsize) < 1 << 16
    }

    private static func medium(of path: String) -> statvfs? {
        var status = statvfs()
        // SAFETY: the structure is filled in during the call and read only when that succeeded.
        return unsafe statvfs(path, &status) == 0 ? status : nil
    }

    /// mkdir(2), for every directory of the path that is missing.
    static func createDirectories(_ path: String) throws(StorageError) {
        if size(of: path) != nil {
            return
        }
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex {
            try createDirectories(String(path[..<slash]))
        }
        if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
            throw StorageError(lmdb: errno)
        }
    }

    /// unlink(2). A missing file counts as removed.
    static func remove(_ path: String) {
        unsafe _ = unlink(path)
    }

    /// ftruncate(2), to make a file longer by zeros that take no room.
    static func extend(_ path: String, to size: Int) throws(StorageError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw StorageError(lmdb: errno)
        }
        defer { close(descriptor) }
        if ftruncate(descriptor, off_t(size)) != 0 {
            throw StorageError(lmdb: errno)
        }
    }

    /// rename(2).
    static func rename(_ from: String, to: String) throws(StorageError) {
        #if canImport(Glibc)
        let result = unsafe Glibc.rename(from, to)
        #else
        let result = unsafe Darwin.rename(from, to)
        #endif
        if result != 0 {
            throw StorageError(lmdb: errno)
        }
    }

    /// fsync(2) of a file or a directory.
    static func sync(_ path: String) throws(StorageError) {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else {
            throw StorageError(lmdb: errno)
        }
        defer { close(descriptor) }
        if fsync(descriptor) != 0 {
            throw StorageError(lmdb: errno)
        }
    }
}

/// A file that exists to be locked by flock(2), which goes with the process.
///
/// It is a file of its own: LMDB locks its lock file by fcntl(2), and the system would drop those locks
/// at the first close of any other descriptor of the same file.
final class LockFile: Sendable {
    private let descriptor: Int32

    /// Opens a lock file, making it unless it is to be read only.
    ///
    /// - Returns: `nil` when it cannot be opened for reading either, or is not there.
    init?(_ path: String, readOnly: Bool) {
        var opened: Int32 = -1
        if !readOnly {
            opened = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        }
        if opened < 0 {
            opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        }
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit {
        close(descriptor)
    }

    /// Takes the lock, or changes its kind; returns whether that could be done within the timeout.
    ///
    /// A change that fails gives up what was held.
    func lock(exclusive: Bool, timeout: Duration) -> Bool {
        let operation = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB
        if flock(descriptor, operation) == 0 {
            return true
        }
        let deadline = ContinuousClock.now + timeout
        var pause: UInt32 = 50
        while flock(descriptor, operation) != 0 {
            if ContinuousClock.now >= deadline {
                return false
            }
            usleep(pause)
            pause = min(pause * 2, 5_000)
        }
        return true
    }

    /// Gives the lock back.
    func unlock() {
        flock(descriptor, LOCK_UN)
    }
}

/// Gives the processor to other threads for a moment, where waiting is rare and short.
func pauseBriefly() {
    usleep(200)
}
