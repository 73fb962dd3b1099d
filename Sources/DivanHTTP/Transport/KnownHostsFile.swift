// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// A file of known hosts, opened and locked to add a line.
struct KnownHostsFile: ~Copyable {
    /// A file beyond this is none of known hosts.
    private static let largest = 16 << 20
    /// How long another process may have the lock.
    private static let patience = Duration.seconds(5)

    private let file: FileHandle

    private init(_ file: FileHandle) { self.file = file }

    /// The bytes of a file without locking it: lines are appended whole.
    ///
    /// - Throws: `HTTPError` when it cannot be read; none when there is no such file.
    static func read(_ path: String) throws -> [UInt8] {
        let file: FileHandle
        do { file = try FileHandle(anyKindAt: path, .read) } catch {
            if error.isNoSuchFile { return [] }
            throw failure("cannot be read", error)
        }
        return try KnownHostsFile(file).bytes()
    }

    /// Opens a file, makes it where it is missing, and runs a closure while no other process may add a line.
    ///
    /// - Throws: `HTTPError` when it cannot be written or another process keeps it locked, and what `body` throws.
    static func whileLocked<T>(_ path: String, _ body: (borrowing KnownHostsFile) throws -> T)
        throws -> T
    {
        var locked: FileHandle?
        _ = try poll(every: .milliseconds(10), for: patience) { () throws(HTTPError) in
            locked = try lock(path)
            return locked != nil
        }
        guard let locked else { throw HTTPError.knownHosts(path, "is locked by another process") }
        return try body(KnownHostsFile(locked))
    }

    /// Opens the file and tries to lock it; nil when another process has it locked, or has replaced it.
    private static func lock(_ path: String) throws(HTTPError) -> FileHandle? {
        let options: OpenOptions = [.read, .write, .create, .append, .waits]
        let file: FileHandle
        do { file = try FileHandle(anyKindAt: path, options, permissions: 0o600) } catch {
            throw failure("cannot be written", error)
        }
        do {
            // An editor replaces files: a lock on the old one would lock nothing.
            return try file.tryLock(exclusive: true) && file.isAtItsPath ? file : nil
        } catch { throw failure("cannot be locked", error) }
    }

    /// The bytes from the beginning on.
    func bytes() throws -> [UInt8] {
        do { return try file.contents(limit: Self.largest) } catch {
            throw Self.failure("cannot be read", error)
        }
    }

    /// Appends a line, and waits until it is on the disk.
    func append(line: String) throws {
        let last = try bytes().last
        // A file that was edited by hand may lack the end of its last line.
        let text = Array(((last ?? 0x0A) == 0x0A ? "" : "\n").utf8) + Array("\(line)\n".utf8)
        do {
            try file.write(text)
            try file.synchronise()
        } catch { throw Self.failure("cannot be written", error) }
    }

    private static func failure(_ problem: String, _ error: SystemError) -> HTTPError {
        .knownHosts(error.path, "\(problem) (\(error.reason))")
    }
}
