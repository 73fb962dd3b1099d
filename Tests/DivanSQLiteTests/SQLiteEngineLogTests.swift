// SPDX-License-Identifier: Apache-2.0

import CFaultVFS
import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

/// The write-ahead log, the frames of whose commits are written at once: what is in the files after each commit.
///
/// Soak slices: 1.
@Suite struct SQLiteEngineLogTests {
    private static let name = StoreName("rows", .integer)

    /// The rows of a copy of the files, which a process would find that begins when this one dies.
    private func rowsOfCopy(_ scratch: ScratchDirectory) throws -> [Int64: [UInt8]] {
        let copy = try ScratchDirectory()
        for suffix in ["", "-wal"]
        where FileManager.default.fileExists(atPath: scratch.file + suffix) {
            try? FileManager.default.removeItem(atPath: copy.file + suffix)
            try FileManager.default.copyItem(
                atPath: scratch.file + suffix, toPath: copy.file + suffix)
        }
        let engine = try copy.open()
        defer { engine.close() }
        #expect(try engine.verifyStructure(progress: nil).isEmpty)
        var rows: [Int64: [UInt8]] = [:]
        try engine.read { reader in
            let cursor = try reader.cursor(in: engine.store(Self.name))
            guard try cursor.seekToFirst() else { return }
            _ = try cursor.walk({ _ in .lend }) { rows[$0] = [UInt8](copying: $1) }
        }
        return rows
    }

    private struct Undone: Error {}

    /// A transaction of a size that may be larger than what SQLite keeps in memory: pages then go into the log before the
    /// commit, and some of them twice.
    private func transaction(
        _ engine: SQLiteEngine, _ rows: inout [Int64: [UInt8]], _ random: inout SeededRandom
    ) throws {
        let store = engine.store(Self.name)
        var attempt = rows
        let isLarge = random.oneIn(8)
        let isUndone = random.oneIn(5)
        do {
            try engine.write { writer in
                for _ in 0..<(isLarge ? 4_000 : 1 + random.below(20)) {
                    let key = Int64(random.below(3_000))
                    let length = random.below(isLarge ? 3_000 : 900)
                    let bytes = [UInt8](repeating: UInt8(random.below(256)), count: length)
                    try writer.set(bytes.span, forKey: key, in: store)
                    attempt[key] = bytes
                }
                if isUndone { throw Undone() }
            }
            rows = attempt
        } catch is Undone {}
    }

    @Test(arguments: [1, 2])
    func `after each commit the files hold what was committed, of two connections in turn`(
        _ seed: UInt64
    ) throws {
        try PowerLossRecorder.alone {
            let scratch = try ScratchDirectory()
            // Of less than what a large transaction writes.
            let engines = try (0..<2).map { _ in try scratch.open { $0.writerCacheSize = 1 << 20 } }
            defer { for engine in engines { engine.close() } }
            var random = SeededRandom(seed: Soak.seed, seed)
            var rows: [Int64: [UInt8]] = [:]
            for _ in Soak.rounds(test: 30, soak: 600) {
                try transaction(engines[random.below(2)], &rows, &random)
                #expect(try rowsOfCopy(scratch) == rows)
            }
        }
    }

    /// Runs transactions of which some fail, since a write of the system fails. What the others wrote is in `rows`.
    ///
    /// - Returns: How many failed.
    private func writeStubbornly(
        _ engine: SQLiteEngine, _ rows: inout [Int64: [UInt8]], _ random: inout SeededRandom
    ) throws -> Int {
        var failed = 0
        for _ in 0..<12 {
            do { try transaction(engine, &rows, &random) } catch let error as StorageError {
                #expect(error.code == .full || error.code == .io)
                failed += 1
            }
        }
        return failed
    }

    /// The failures come below Divan's own file system; recordings of other suites replace it.
    @Test(.enabled(if: Machine.has("/proc/self/fd"), "It needs /proc."))
    func
        `whichever write of the system fails, the files hold what was committed, and writing goes on`()
        throws
    {
        try PowerLossRecorder.alone {
            var (number, failed, committed) = (1, 0, 0)
            for round in Soak.rounds(test: 60, soak: 1_500) {
                let scratch = try ScratchDirectory()
                let engine = try scratch.open { $0.writerCacheSize = 256 << 10 }
                defer { engine.close() }
                var random = SeededRandom(seed: Soak.seed, UInt64(round))
                var rows: [Int64: [UInt8]] = [:]
                try transaction(engine, &rows, &random)
                try FailingWrites.fail(
                    number, count: [1, 2, 40][round % 3], with: round % 2 == 0 ? ENOSPC : EIO,
                    in: scratch.path
                ) {
                    let count = try writeStubbornly(engine, &rows, &random)
                    (failed, committed) = (failed + count, committed + 12 - count)
                }
                #expect(try rowsOfCopy(scratch) == rows, "write \(number) of round \(round)")
                try transaction(engine, &rows, &random)
                #expect(try rowsOfCopy(scratch) == rows, "write \(number) of round \(round)")
                number = 1 + random.below(round % 2 == 0 ? 20 : 300)
            }
            #expect(failed > 30 && committed > 100)
        }
    }

    @Test(.enabled(if: Machine.has("/proc/self/fd"), "It needs /proc."))
    func `a transaction that has lost a waiting frame cannot go on, and the next one can`() throws {
        try PowerLossRecorder.alone {
            let scratch = try ScratchDirectory()
            // It makes the file system known to SQLite.
            try scratch.open().close()
            let path = scratch.file + "-lost"
            #expect(unsafe divan_lost_frames_check(path, scratch.path, "divan-files") == 0)
        }
    }

    @Test(.enabled(if: Machine.has("/proc/thread-self/io"), "It needs /proc."))
    func `the frames of a commit are written thirty at a time`() throws {
        /// How many calls of this thread have written.
        func writes() throws -> Int {
            let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("syscw:") }
            return try #require(line.flatMap { Int($0.dropFirst(7)) })
        }
        try PowerLossRecorder.alone {
            let scratch = try ScratchDirectory()
            let engine = try scratch.open()
            defer { engine.close() }
            let store = engine.store(Self.name)
            let bytes = [UInt8](repeating: 7, count: 3_000)
            // Each row has a page.
            try engine.write { writer in
                for key in 0..<500 { try writer.set(bytes.span, forKey: Int64(key), in: store) }
            }
            let before = try writes()
            try engine.write { writer in
                for key in 0..<500 { try writer.set(bytes.span, forKey: Int64(key), in: store) }
            }
            let count = try writes() - before
            // 500 pages and a few more; written in two parts each they would be a thousand.
            #expect((17..<60).contains(count))
            let second = try writes()
            try engine.write { writer in
                for key in 0..<3 { try writer.set(bytes.span, forKey: Int64(key), in: store) }
            }
            #expect(try writes() - second == 1)
        }
    }
}
