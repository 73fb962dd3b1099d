// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import DivanTestSupport
import FoundationEssentials

@testable import DivanDatabase

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Small file systems for tests, where the process may mount any; elsewhere the tests are skipped.
enum Mounting {
    /// Whether this process may mount file systems, in memory and read-only ones; it is tried once.
    static let isAllowed: Bool = {
        guard let directory = try? TestDirectory("mounting") else { return false }
        defer { unmount(directory.path) }
        guard (try? memory(at: directory.path, bytes: 1 << 20)) == true,
            (try? FileManager.default.createDirectory(
                atPath: directory.path("inner"), withIntermediateDirectories: false)) != nil
        else { return false }
        defer { unmount(directory.path("inner")) }
        return (try? bindReadOnly(directory.path("inner"))) == true
    }()

    /// Mounts a file system in memory of a given size; false when that is not permitted.
    static func memory(at path: String, bytes: Int) throws -> Bool {
        try run("mount", "-t", "tmpfs", "-o", "size=\(bytes)", "tmpfs", path) == 0
    }

    /// Makes a folder unwritable, for the superuser too; false when that is not permitted.
    static func bindReadOnly(_ path: String) throws -> Bool {
        guard try run("mount", "--bind", path, path) == 0 else { return false }
        if try run("mount", "-o", "remount,ro,bind", path) == 0 { return true }
        unmount(path)
        return false
    }

    /// Takes a file system off, at once or when its last user goes.
    static func unmount(_ path: String) { _ = try? run("umount", "-l", path) }

    /// Makes a file that takes room.
    ///
    /// Foundation opens files so that any child process inherits them, and the room of a deleted file is free only
    /// when no process has it open any more.
    static func fill(_ path: String, bytes: Int) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError("open", path) }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var left = bytes
        while left > 0 {
            let written = write(descriptor, zeros, min(left, zeros.count))
            guard written > 0 else { throw SystemError("write", path) }
            left -= written
        }
    }

    /// Runs a program in silence and returns its exit code; -1 where there is no such program.
    private static func run(_ words: String...) throws -> Int32 {
        let child = try? ChildProcess(
            words[0], Array(words.dropFirst()), output: .null, error: .null)
        return child?.wait() ?? -1
    }
}
