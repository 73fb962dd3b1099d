// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import DivanJSON
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The few file-system operations a database needs, as plain functions that throw.
///
/// Every path is lent to its system call as a C string and not kept: that makes the calls marked
/// `unsafe` here safe, besides the reason given at each.
enum Files {
    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

    /// Makes a directory and every missing parent; an existing one is fine.
    static func makeDirectory(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o755) == 0 || (errno == EEXIST && isDirectory(path)) { return }
        let number = errno
        let parent = parent(of: path)
        guard number == ENOENT, !parent.hasSameBytes(as: path) else {
            throw SystemError("mkdir", path, number: number)
        }
        try makeDirectory(parent)
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw SystemError("mkdir", path)
        }
    }

    /// The names in a directory, without `.` and `..`, sorted.
    static func list(_ path: String) throws(SystemError) -> [String] {
        // SAFETY: opendir's handle stays in this function and is closed on every way out.
        guard let directory = unsafe opendir(path) else { throw SystemError("opendir", path) }
        defer { _ = unsafe closedir(directory) }
        var names: [String] = []
        // SAFETY: readdir's entry is valid until the next call; its name is copied at once.
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Deletes a file or a whole directory; what is already gone is fine.
    static func remove(_ path: String) throws(SystemError) {
        if unsafe unlink(path) == 0 || errno == ENOENT { return }
        guard isDirectory(path) else { throw SystemError("unlink", path) }
        for name in try list(path) { try remove(path + "/" + name) }
        guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw SystemError("rmdir", path) }
    }

    static func rename(_ from: String, to: String) throws(SystemError) {
        #if canImport(Glibc)
        let result = unsafe Glibc.rename(from, to)
        #else
        let result = unsafe Darwin.rename(from, to)
        #endif
        guard result == 0 else { throw SystemError("rename", from) }
    }

    /// Gives a file a second name, which nothing must have yet.
    static func link(_ from: String, to: String) throws(SystemError) {
        #if canImport(Glibc)
        let result = unsafe Glibc.link(from, to)
        #else
        let result = unsafe Darwin.link(from, to)
        #endif
        guard result == 0 else { throw SystemError("link", to) }
    }

    /// Makes a directory for the use of this process, where the system keeps such.
    static func makeTemporaryDirectory(prefix: String) throws(SystemError) -> String {
        // SAFETY: getenv's string is copied at once; Divan never changes the environment.
        let place = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        let path = place + "/" + prefix + SeededRandom.shared.uuid()
        guard unsafe mkdir(path, 0o700) == 0 else { throw SystemError("mkdir", path) }
        return path
    }

    /// The most that `read` returns: it is meant for small files, such as manifests.
    private static let largestRead = 1 << 20

    /// Returns the content of a file, or its first megabyte.
    static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let file = try FileHandle(path: path, flags: O_RDONLY)
        // Memory for the megabyte was a tenth of what opening a database cost.
        return try file.read(at: 0, upTo: min(file.length ?? largestRead, largestRead))
    }

    /// Writes a file so that a crash leaves either the old content or the new, whole and on disk.
    ///
    /// The new content is written under a name of its own, so that two threads or processes that
    /// replace one file at the same time do not write into the same file; the last one to rename wins.
    static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let temporary = path + temporaryMark + SeededRandom.shared.uuid()
        do throws(SystemError) {
            let file = try FileHandle(path: temporary, flags: O_WRONLY | O_CREAT | O_EXCL)
            try file.write(bytes)
            try file.synchronise()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        try synchroniseDirectory(parent(of: path))
    }

    /// A part of the name of a file that `replace` has not renamed yet.
    static let temporaryMark = ".new-"

    /// Makes an empty file, if there is none.
    static func touch(_ path: String) throws(SystemError) {
        _ = try FileHandle(path: path, flags: O_WRONLY | O_CREAT)
    }

    /// Forces a directory's entries to the disk, so that a rename within it survives power loss.
    static func synchroniseDirectory(_ path: String) throws(SystemError) {
        let directory = try FileHandle(path: path, flags: O_RDONLY | O_DIRECTORY)
        try directory.synchronise()
    }

    /// Which file lies at a path, for as long as this process runs.
    static func identity(of path: String) -> FileIdentity? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Which file lies at a path, in words that no copy of it shares, also after a restart.
    ///
    /// An inode may be used again once its file is gone, so the time of the last change to the inode
    /// is a part of it, which no program can set: for a file that is never written, the time it was
    /// made. The number of the file system tells snapshots of it apart, where it has one; the number
    /// of a device would not last.
    ///
    /// - Returns: nil when there is no such file.
    static func lastingIdentity(of path: String) -> String? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        var system = statvfs()
        // SAFETY: `system` is a local that outlives the call.
        let number = unsafe statvfs(path, &system) == 0 ? UInt64(system.f_fsid) : 0
        #if canImport(Glibc)
        let changed = status.st_ctim
        #else
        let changed = status.st_ctimespec
        #endif
        return "\(String(number, radix: 16))-\(status.st_ino)-\(changed.tv_sec).\(changed.tv_nsec)"
    }

    /// The length of a regular file; nil when there is none.
    static func length(of path: String) -> Int? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return Int(status.st_size)
    }

    /// What shows whether a file has been written since: its length, its times, and its identity.
    struct Stamp: Equatable {
        var length: Int
        var words: [Int]
    }

    /// The stamp of a file; nil when there is none.
    static func stamp(of path: String) -> Stamp? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        #if canImport(Glibc)
        let (written, changed) = (status.st_mtim, status.st_ctim)
        #else
        let (written, changed) = (status.st_mtimespec, status.st_ctimespec)
        #endif
        return Stamp(
            length: Int(status.st_size),
            words: [
                Int(status.st_ino), Int(written.tv_sec), Int(written.tv_nsec),
                Int(changed.tv_sec), Int(changed.tv_nsec),
            ])
    }

    /// The bytes of all files below a path.
    static func size(of path: String) -> Int {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe lstat(path, &status) == 0 else { return 0 }
        guard status.st_mode & S_IFMT == S_IFDIR else { return Int(status.st_size) }
        let names = (try? list(path)) ?? []
        return names.reduce(0) { $0 + size(of: path + "/" + $1) }
    }

    static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func lastComponent(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
    }
}
