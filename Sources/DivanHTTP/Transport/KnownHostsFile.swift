// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A file of known hosts, opened and locked to add a line.
struct KnownHostsFile: ~Copyable {
    /// A file beyond this is none of known hosts.
    private static let largest = 16 << 20
    /// How long another process may have the lock, in steps of 10 ms.
    private static let lockSteps = 500

    private let descriptor: Int32
    private let path: String

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// The bytes of a file without locking it: lines are appended whole.
    ///
    /// - Throws: `HTTPError` when it cannot be read; none when there is no such file.
    static func read(_ path: String) throws -> [UInt8] {
        // SAFETY: the text lives through the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return [] }
        guard descriptor >= 0 else { throw failure(path, "cannot be read") }
        return try KnownHostsFile(descriptor: descriptor, path: path).bytes()
    }

    /// Opens a file, makes it where it is missing, and runs a closure while no one else may add a line.
    ///
    /// - Throws: `HTTPError` when it cannot be written or another process keeps it locked, and what `body` throws.
    static func whileLocked<T>(_ path: String, _ body: (borrowing KnownHostsFile) throws -> T)
        throws -> T
    {
        for _ in 0..<lockSteps {
            // SAFETY: the text lives through the call.
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure(path, "cannot be written") }
            let file = KnownHostsFile(descriptor: descriptor, path: path)
            // An editor replaces files: a lock on the old one would lock nothing.
            if try file.lock(), file.isAtPath { return try body(file) }
            usleep(10_000)
        }
        throw HTTPError.knownHosts(path, "is locked by another process")
    }

    /// The bytes from the beginning on.
    func bytes() throws -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let offset = off_t(clamping: bytes.count)
            // SAFETY: the call writes within the buffer.
            let count = unsafe piece.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress, buffer.count, offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0, bytes.count <= Self.largest else {
                throw Self.failure(path, "cannot be read")
            }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    /// Appends a line, and waits until it is on the disk.
    func append(line: String) throws {
        let last = try bytes().last
        // A file that was edited by hand may lack the end of its last line.
        let text = Array(((last ?? 0x0A) == 0x0A ? "" : "\n").utf8) + Array("\(line)\n".utf8)
        // SAFETY: the bytes live through the call.
        let count = unsafe text.withUnsafeBytes {
            unsafe write(descriptor, $0.baseAddress, $0.count)
        }
        guard count == text.count, fsync(descriptor) == 0 else {
            throw Self.failure(path, "cannot be written")
        }
    }

    /// Tries to lock it; false when another one has it locked.
    private func lock() throws -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else {
            throw Self.failure(path, "cannot be locked")
        }
        return false
    }

    /// Whether this is the file that the path names.
    private var isAtPath: Bool {
        var own = stat()
        var there = stat()
        // SAFETY: both structures and the text live through the calls.
        return unsafe fstat(descriptor, &own) == 0 && stat(path, &there) == 0
            && own.st_ino == there.st_ino && own.st_dev == there.st_dev
    }

    private static func failure(_ path: String, _ problem: String) -> HTTPError {
        let reason = unsafe String(cString: strerror(errno))
        return .knownHosts(path, "\(problem) (\(reason))")
    }
}
