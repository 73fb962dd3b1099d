// SPDX-License-Identifier: Apache-2.0

import CSpawn
import DivanSQLite
import DivanStorage
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes sealed rows, and goes on in two copies of the process, each with a directory of its own, as a virtual
/// machine does whose snapshot is resumed twice.
///
/// With the word `unnoticed` nothing tells the copies that there are two; with `noticed` it is a fork like any other.
/// Both end without closing the files, whose last units are in the log then.
struct ClonedWriter {
    /// A key that is known, which is all a test needs of one.
    private struct Key: StorageKey {
        private let bytes: [UInt8] = Array(0..<32)

        func lend(to body: (Span<UInt8>) -> Void) { body(bytes.span) }
    }

    private let directory: String
    private let copy: String
    private let isNoticed: Bool

    init(_ arguments: [String]) throws {
        directory = try arguments.argument(0)
        copy = try arguments.argument(1)
        isNoticed = try arguments.argument(2) == "noticed"
    }

    func run() throws {
        var options = StorageOptions()
        options.encryptionKey = Key()
        let engine = try SQLiteEngine(directory: directory, options: options)
        try write(engine, 1)
        // Nothing writes meanwhile.
        try FileManager.default.copyItem(atPath: directory, toPath: copy)
        if !isNoticed, divan_spawn_keep_on_fork() < 1 { throw CloneFailure.nothingToKeep }
        let child = divan_spawn_fork()
        guard child >= 0 else { throw CloneFailure.noChild }
        if child == 0 {
            let isMoved = divan_spawn_move_files(directory, copy) == 0
            let isDone = isMoved && (try? write(engine, 2)) != nil
            _exit(isDone ? 0 : 1)
        }
        try write(engine, 3)
        var status: Int32 = 0
        guard waitpid(child, &status, 0) == child, status == 0 else {
            throw CloneFailure.childFailed
        }
        Report.say("done")
        _exit(0)
    }

    /// Writes many transactions, whose rows say which copy wrote them.
    private func write(_ engine: SQLiteEngine, _ round: UInt8) throws {
        let store = engine.store(StoreName("rows", .integer))
        for key in 0..<60 {
            let value = [UInt8](repeating: round, count: 3_000)
            try engine.write { try $0.set(value.span, forKey: Int64(key), in: store) }
        }
    }
}

/// Why there are not two copies.
enum CloneFailure: Error {
    case nothingToKeep, noChild, childFailed
}
