// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem

/// The few calls to the system that an engine makes beside SQLite's own, with errors as the engine tells them.
enum FileSystem {
    /// The bytes of a file, or `nil` when there is none.
    static func size(of path: String) -> Int? { Files.status(of: path)?.length }

    /// The bytes of a file, or `nil` when there is certainly none.
    static func sizeIfPresent(of path: String) throws(StorageError) -> Int? {
        do { return try FileStatus(at: path).length } catch {
            if error.isMissing { return nil }
            throw StorageError.system("look at", error)
        }
    }

    /// Whether there is something at a path that is no regular file, such as a pipe, at which opening or reading would
    /// wait without end.
    static func isStrange(_ path: String) -> Bool {
        Files.status(of: path).map { $0.kind != .regular } ?? false
    }

    /// Whether the first bytes of a file are zeros; those behind its end count as such.
    static func beginsWithZeros(_ path: String, count: Int) throws(StorageError) -> Bool {
        let file: FileHandle
        do { file = try FileHandle(anyKindAt: path, .read) } catch {
            throw StorageError.system("open", error)
        }
        do { return try file.read(at: 0, upTo: count).allSatisfy { $0 == 0 } } catch {
            throw StorageError.system("read", error)
        }
    }

    /// Makes every directory of a path that is missing.
    static func createDirectories(_ path: String) throws(StorageError) {
        if Files.exists(path) { return }
        do { try Files.makeDirectory(path) } catch { throw StorageError.system("create", error) }
    }

    /// Makes the names in a directory survive a power loss.
    static func syncDirectory(_ path: String) throws(StorageError) {
        let directory: FileHandle
        do { directory = try FileHandle(anyKindAt: path, .read) } catch {
            throw StorageError.system("open", error)
        }
        do { try directory.synchronise() } catch { throw StorageError.system("sync", error) }
    }
}

extension StorageError {
    /// The error of a system call that failed.
    static func system(_ verb: String, _ error: SystemError) -> StorageError {
        let path = error.path
        if error.isRefused {
            return StorageError(.readOnly, "The permissions do not allow to \(verb) \(path).")
        }
        if error.isFull {
            return StorageError(.full, "There is no room on the disk to \(verb) \(path).")
        }
        return StorageError(.io, "The system failed to \(verb) \(path) (error \(error.number)).")
    }
}
