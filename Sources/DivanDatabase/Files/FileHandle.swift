// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A failed system call: which, on what, and why.
struct SystemError: Error, CustomStringConvertible {
    var call: String
    var path: String
    var number: Int32

    init(_ call: String, _ path: String, number: Int32 = errno) {
        self.call = call
        self.path = path
        self.number = number
    }

    /// The error of an encrypted file that is not what was written, or that holds another file's content.
    static func notGenuine(_ path: String) -> SystemError {
        SystemError("decrypt", path, number: EBADMSG)
    }

    /// A pipe, a device or a socket where a file should be.
    static func noRegularFile(_ path: String) -> SystemError {
        SystemError("open", path, number: ENOTSUP)
    }

    /// Whether the file is to blame, and not the system.
    var isDamage: Bool { number == EBADMSG }

    /// The reason in the operating system's words.
    var reason: String {
        if number == ENOTSUP, call == "open" {
            return "it is a pipe, a device or a socket; put a regular file in its place"
        }
        // SAFETY: strerror returns a constant or thread-local C string, copied at once.
        return unsafe String(cString: strerror(number))
    }

    var description: String { "\(call) failed on '\(path)': \(reason)" }
}

/// An open file descriptor, closed when the last reference goes.
final class FileHandle: Sendable {
    let descriptor: Int32
    let path: String

    /// Opens a regular file or a directory; `flags` are those of `open(2)`, `O_CLOEXEC` is added.
    ///
    /// A database's directory, and what is imported, may come from another program. A pipe or a device in the place of
    /// a file would make `open` or a read wait without end, so opening does not wait, and only what has a length is read.
    init(path: String, flags: Int32, mode: mode_t = 0o644) throws(SystemError) {
        // SAFETY: the path is lent to the call as a C string.
        let descriptor = unsafe open(path, flags | O_CLOEXEC | O_NONBLOCK, mode)
        guard descriptor >= 0 else { throw SystemError("open", path) }
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        let isKnown = unsafe fstat(descriptor, &status) == 0
        guard isKnown, [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
            _ = close(descriptor)
            throw .noRegularFile(path)
        }
        self.descriptor = descriptor
        self.path = path
    }

    /// The flags for a file that is only read.
    static let readOnly = O_RDONLY
    /// The flags for a file that does not exist yet.
    static let newFile = O_RDWR | O_CREAT | O_EXCL

    /// Makes a temporary file without a name, which is removed with this handle.
    static func nameless() throws(SystemError) -> FileHandle {
        let folder = try Files.makeTemporaryDirectory(prefix: "divan-content-")
        let file = try FileHandle(path: folder + "/content", flags: O_RDWR | O_CREAT | O_EXCL)
        try Files.remove(folder)
        return file
    }

    deinit { _ = close(descriptor) }

    /// Takes an advisory lock; returns false when another holder has it.
    func tryLock(exclusive: Bool) throws(SystemError) -> Bool {
        while flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw SystemError("flock", path) }
        }
        return true
    }

    /// Gives up the advisory lock.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    /// Whether the file still has a name; false once it, or its directory, was deleted.
    var isLinked: Bool {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        return unsafe fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// The device and inode: which file this is, whatever its name.
    var identity: FileIdentity? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Overwrites bytes at the start of the file.
    func overwrite(_ bytes: [UInt8]) throws(SystemError) {
        // SAFETY: the buffer is valid for the call and its length is passed with it.
        let written = unsafe bytes.withUnsafeBytes {
            unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard written == bytes.count else { throw SystemError("pwrite", path) }
    }

    /// Reads up to `count` bytes from an offset on; fewer only at the end of the file.
    func read(at offset: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        var failure: Int32 = 0
        // SAFETY: each call writes within the buffer's capacity, from the bytes read so far on, and
        // exactly those are counted as initialised.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            done = 0
            while done < count, let base = buffer.baseAddress {
                let got = unsafe pread(
                    descriptor, base + done, count - done, off_t(offset + done))
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = errno }
                guard got > 0 else { break }
                done += got
            }
        }
        guard failure == 0 else { throw SystemError("pread", path, number: failure) }
        return bytes
    }

    /// The length of the file.
    var length: Int? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Appends all of `bytes` at the file's position.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            // SAFETY: the buffer is valid for the call; the offset stays within it.
            let written = unsafe bytes.withUnsafeBytes {
                unsafe Self.write(
                    descriptor, $0.baseAddress.map { unsafe $0 + done }, $0.count - done)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { throw SystemError("write", path) }
            done += written
        }
    }

    /// Has the system begin to write a range to the disk, without waiting for it; a hint that may be ignored.
    ///
    /// Long content is on the disk then soon after its last byte came, where `synchronise` would wait for
    /// all of it. Errors are told by `synchronise`.
    func beginWriting(_ range: Range<Int>) {
        #if canImport(Glibc)
        // Linux writes dirty pages and keeps them in memory; it may drop only those that it has
        // written already.
        _ = posix_fadvise(
            descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
        #endif
    }

    /// Forces the file's content to the disk.
    func synchronise() throws(SystemError) {
        guard fsync(descriptor) == 0 else { throw SystemError("fsync", path) }
    }

    private static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int
    {
        #if canImport(Glibc)
        unsafe Glibc.write(descriptor, bytes, count)
        #else
        unsafe Darwin.write(descriptor, bytes, count)
        #endif
    }
}

/// Which file: its device and inode.
struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
}
