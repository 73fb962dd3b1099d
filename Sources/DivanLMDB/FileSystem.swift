// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import DivanStorage
internal import DivanSystem

/// The few calls to the system that the engine makes beside LMDB's own, with errors as the engine tells them.
enum FileSystem {
    /// The bytes of a file, or `nil` when there is none.
    static func size(of path: String) -> Int? { Files.status(of: path)?.length }

    /// Whether there may be a file at a path though looking at it fails.
    static func isUncertain(_ path: String) -> Bool {
        do { _ = try FileStatus(at: path) } catch { return !error.isMissing }
        return false
    }

    /// Whether this process can have so much more address space, which is found out by taking it for a moment.
    static func hasAddressSpace(_ size: Int) -> Bool {
        // SAFETY: a new mapping that only this function knows, and gives back whole.
        let start = unsafe mmap(
            nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard unsafe start != MAP_FAILED else { return false }
        unsafe munmap(start, size)
        return true
    }

    /// Whether there is hardly any room left where a file lies.
    static func isFull(_ path: String) -> Bool {
        Volume(of: path).map { $0.freeBytes < 1 << 16 } ?? false
    }

    /// Makes every directory of a path that is missing.
    static func createDirectories(_ path: String) throws(StorageError) {
        if Files.exists(path) { return }
        do { try Files.makeDirectory(path) } catch { throw StorageError(error) }
    }

    /// Sees to it that the first bytes of a file, which is made if it is missing, have room on the disk.
    ///
    /// A file that is mapped and has no room for what is written stops the process once the disk is full. The file must not be
    /// open in this process: LMDB's locks on it would go with the descriptor.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - size: How many bytes.
    /// - Throws: `StorageError` with code `.full`.
    static func reserve(_ path: String, _ size: Int) throws(StorageError) {
        // LMDB opens the file next, and tells why it cannot be opened, or does without it on a disk for reading only.
        guard let file = try? FileHandle(anyKindAt: path, [.read, .write, .create]) else { return }
        do { try file.reserve(max(size, file.length ?? 0)) } catch { throw StorageError(error) }
    }

    /// Gives a file another name, in place of the file that has it now.
    static func rename(_ from: String, to: String) throws(StorageError) {
        do { try Files.rename(from, to: to) } catch { throw StorageError(error) }
    }

    /// Forces a file or the names in a directory to the disk.
    static func sync(_ path: String) throws(StorageError) {
        do { try FileHandle(anyKindAt: path, .read).synchronise() } catch {
            throw StorageError(error)
        }
    }
}

extension StorageError {
    /// The error of a system call that failed.
    init(_ error: SystemError) { self.init(lmdb: error.number) }
}

/// A file that exists to be locked by flock(2), which goes with the process.
///
/// It is a file of its own: LMDB locks its lock file by fcntl(2), and the system would drop those locks
/// at the first close of any other descriptor of the same file.
final class LockFile: Sendable {
    private let file: FileHandle

    /// Opens a lock file, making it unless it is to be read only.
    ///
    /// - Returns: `nil` when it cannot be opened for reading either, or is not there.
    init?(_ path: String, readOnly: Bool) {
        let writable =
            readOnly ? nil : try? FileHandle(anyKindAt: path, [.read, .write, .create])
        guard let file = writable ?? (try? FileHandle(anyKindAt: path, .read)) else { return nil }
        self.file = file
    }

    /// Takes the lock, or changes its kind; returns whether that could be done within the timeout.
    ///
    /// A change that fails gives up what was held.
    func lock(exclusive: Bool, timeout: Duration) -> Bool {
        poll(every: .microseconds(50), growingTo: .milliseconds(5), for: timeout) {
            (try? file.tryLock(exclusive: exclusive)) ?? false
        }
    }

    /// Gives the lock back.
    func unlock() { file.unlock() }
}
