// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

@Suite struct SQLiteEngineWritingTests {
    @Test func `a second writer waits, and fails as busy when it waits too long`() throws {
        let scratch = try ScratchDirectory()
        let first = try scratch.open()
        let second = try scratch.open { $0.busyTimeout = .milliseconds(50) }
        let store = second.store(StoreName("rows", .integer))
        try first.write { (_: any StorageWriter) throws -> Void in
            let code = StorageError.Code.thrown { try second.write { try $0.removeAll(in: store) } }
            #expect(code == .busy)
            #expect(try second.read { try $0.count(of: store) } == 0, "it can read meanwhile")
        }
        try second.write { try $0.removeAll(in: store) }
    }

    @Test
    func
        `statements that were kept for many cursors are of no harm when another connection drops the store`()
        throws
    {
        let scratch = try ScratchDirectory()
        let (reading, writing) = (try scratch.open(), try scratch.open())
        let (rows, same) = (
            reading.store(StoreName("rows", .bytes)), writing.store(StoreName("rows", .bytes))
        )
        func found() throws -> Set<[UInt8]?> {
            try reading.read { reader in
                let cursors = try (0..<20).map { _ in try reader.cursor(in: rows) }
                var values: Set<[UInt8]?> = []
                for cursor in cursors {
                    var value: [UInt8]?
                    if try cursor.seekToFirst() {
                        try cursor.withValue { value = [UInt8](copying: $0) }
                    }
                    values.insert(value)
                }
                return values
            }
        }
        for round in UInt8(1)...4 {
            try writing.write { try $0.set([round].span, forKey: [1].span, in: same) }
            #expect(try found() == [[round]])
            try writing.write { try $0.drop(same) }
            #expect(try found() == [nil])
        }
    }

    @Test(arguments: [StorageOptions.Durability.normal, .full])
    func `commits survive a copy of the files as they stand`(
        _ durability: StorageOptions.Durability
    ) throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open { $0.durability = durability }
        let store = try fill(engine, 1_000)
        for number in 0..<20 {
            try engine.write(durably: number % 2 == 0) { writer in
                try writer.set([UInt8(number)].span, forKey: Int64(5_000 + number), in: store)
            }
            let image = try ScratchDirectory()
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: scratch.file + suffix, toPath: image.file + suffix)
            }
            let copy = try image.open()
            let copied = copy.store(StoreName("rows", .integer))
            #expect(try copy.read { try $0.count(of: copied) } == 1_001 + number)
            copy.close()
        }
    }

    /// Writes beside readers that read again and again, and expects the log to stay small.
    private func expectShortLog(
        beside readers: Int, rounds: Int,
        read: @escaping @Sendable (SQLiteEngine, Store) -> Void
    ) throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 1_000)
        let isDone = NSLock()
        isDone.lock()
        let group = DispatchGroup()
        for reader in 0..<readers {
            DispatchQueue(label: "reader \(reader)").async(group: group) {
                while !isDone.try() { read(engine, store) }
                isDone.unlock()
            }
        }
        let value = [UInt8](repeating: 3, count: 4_000)
        var largest = 0
        for round in 0..<rounds {
            try engine.write { writer in
                for key in 0..<100 {
                    try writer.set(value.span, forKey: Int64((key * 37 + round) % 3_000), in: store)
                }
            }
            let log = try FileManager.default.attributesOfItem(atPath: scratch.file + "-wal")
            largest = max(largest, log[.size] as? Int ?? 0)
        }
        isDone.unlock()
        group.wait()
        #expect(largest < 64 << 20, "the log grew to \(largest >> 20) MB")
    }

    @Test func `the log stays small under readers that never pause`() throws {
        try expectShortLog(beside: 4, rounds: 400) { engine, store in
            _ = try? engine.read { try $0.count(of: store) }
        }
    }

    // 8 MB and a transaction, and a quarter of the file and a transaction.
    @Test(arguments: [(rows: 2_000, least: 0, most: 10 << 20), (15_000, 12 << 20, 20 << 20)])
    func `the log of a large file may be a quarter of it before it is moved`(
        rows: Int, least: Int, most: Int
    ) throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = engine.store(StoreName("rows", .integer))
        let value = [UInt8](repeating: 3, count: 4_000)
        for round in 0..<(rows / 100 + 100) {
            try engine.write { writer in
                for key in 0..<100 {
                    let key = Int64((round * 100 + key) % rows)
                    try writer.set(value.span, forKey: key, in: store)
                }
            }
        }
        let log = try FileManager.default.attributesOfItem(atPath: scratch.file + "-wal")
        let size = log[.size] as? Int ?? 0
        #expect((least..<most).contains(size), "the log grew to \(size >> 20) MB")
    }

    // Within the first wait of a commit, and longer than it.
    @Test(arguments: [5, 400])
    func `readers of whom one is always inside do not keep the log growing`(
        _ milliseconds: UInt32
    ) throws {
        try expectShortLog(beside: 8, rounds: 300) { engine, store in
            _ = try? engine.read { reader in
                _ = try reader.count(of: store)
                usleep(milliseconds * 1_000)
            }
        }
    }

    @Test func `verifying values lets the log be emptied in between`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 40_000)
        let value = [UInt8](repeating: 3, count: 4_000)
        var (largest, written, reports) = (0, 0, 0)
        let problems = try engine.verifyStructure { _ in
            reports += 1
            for round in 0..<40 {
                try engine.write { writer in
                    for key in 0..<200 {
                        try writer.set(
                            value.span, forKey: Int64((key * 37 + round) % 9_000), in: store)
                    }
                }
                written += 200 * value.count
                let log = try FileManager.default.attributesOfItem(atPath: scratch.file + "-wal")
                largest = max(largest, log[.size] as? Int ?? 0)
            }
        }
        #expect(problems == [])
        #expect(reports >= 3 && written > 90 << 20)
        #expect(largest < 64 << 20, "the log grew to \(largest >> 20) MB")
    }

    @Test func `interrupt stops a read that runs`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 20_000)
        let code = StorageError.Code.thrown {
            try engine.read { (reader: any StorageReader) throws -> Void in
                let cursor = try reader.cursor(in: store)
                var hasRow = try cursor.seekToFirst()
                engine.interrupt()
                while hasRow {
                    hasRow = try cursor.next()
                }
            }
        }
        #expect(code == .interrupted)
        #expect(try engine.read { try $0.count(of: store) } == 20_000, "the next one runs")
    }

    @Test func `interrupt stops a walk between two rows`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 20_000)
        var lent = 0
        let code = StorageError.Code.thrown {
            try engine.read { (reader: any StorageReader) throws -> Void in
                let cursor = try reader.cursor(in: store)
                guard try cursor.seekToFirst() else { return }
                _ = try cursor.walk({ _ in .lend }) { _, _ in
                    lent += 1
                    if lent == 1_000 { engine.interrupt() }
                }
            }
        }
        #expect(
            code == .interrupted && lent >= 1_000 && lent < 2_000,
            "\(lent) rows, \(String(describing: code))")
        #expect(try engine.read { try $0.count(of: store) } == 20_000, "the next one runs")
    }

    @Test func `a cursor stands nowhere while it walks`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 10)
        var codes: [StorageError.Code?] = []
        try engine.read { (reader: any StorageReader) throws -> Void in
            let cursor = try reader.cursor(in: store)
            guard try cursor.seekToFirst() else { return }
            let stopped = try cursor.walk({ _ in .lend }) { key, _ in
                codes.append(.thrown { try cursor.withValue { _ in } })
                cursor.close()
                if key == 3 { _ = try cursor.seekToFirst() }
            }
            let hasNext = try cursor.next()
            #expect(!stopped && !hasNext)
        }
        #expect(codes.count == 10 && codes.filter { $0 == .misuse }.count >= 9, "\(codes)")
    }

    @Test func `no SQL but the engine's own can call its function`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        _ = try fill(engine, 10)
        let found = scratch.file
        engine.close()
        let foreign = try ForeignDatabase(path: found)
        let statement = try foreign.statement("SELECT divan_walk(1, key, value) FROM rows")
        #expect(throws: StorageError.self) { _ = try statement.next() }
    }

    @Test func `two databases in memory have nothing in common`() throws {
        let (one, two) = (try SQLiteEngine.inMemory(), try SQLiteEngine.inMemory())
        let store = try fill(one, 10)
        #expect(try one.read { try $0.count(of: store) } == 10)
        #expect(try two.read { try $0.storeNames() } == [])
        #expect(try one.diskSize() == 0)
    }
}
