// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

// Serialized with the other suite of recordings by being its extension: there is one recording in a
// process at a time.
extension SQLiteEnginePowerLossTests {
    /// Writes more than the cache holds, so that even look-ups must make room by writing to the log,
    /// and goes on after every failure.
    private func writeStubbornly(_ engine: SQLiteEngine, in store: Store) throws {
        let value = [UInt8](repeating: 1, count: 3_000)
        try engine.write { writer in
            for key in 1_000..<Int64(1_060) {
                try? writer.set(value.span, forKey: key, in: store)
            }
            let cursor = try writer.cursor(in: store)
            var hasRow = (try? cursor.seekToFirst()) ?? false
            while hasRow {
                hasRow = (try? cursor.next()) ?? false
            }
            for key in 0..<Int64(400) {
                _ = try? writer.value(forKey: key, in: store)
            }
            for key in 2_000..<Int64(2_010) {
                try? writer.set(value.span, forKey: key, in: store)
            }
            try? engine.write { try $0.set(value.span, forKey: 3_000, in: store) }
        }
    }

    @Test func `whatever fails in a transaction that goes on, all of it is there or nothing`()
        throws
    {
        try PowerLossRecorder.alone { try failStubborn() }
    }

    private func failStubborn() throws {
        var number = 1
        var undone = 0
        while true {
            let scratch = try ScratchDirectory()
            var hasFailed = false
            try PowerLossRecorder.record(scratch.path) {
                let engine = try scratch.open {
                    $0.writerCacheSize = 64 << 10
                    $0.mappedSize = 0
                }
                let store = engine.store(StoreName("rows", .integer))
                let value = [UInt8](repeating: 2, count: 3_000)
                try engine.write { writer in
                    for key in 0..<Int64(400) {
                        try writer.set(value.span, forKey: key, in: store)
                    }
                }
                _ = PowerLossRecorder.failWrite(number)
                var isCommitted = true
                do {
                    try writeStubbornly(engine, in: store)
                } catch {
                    isCommitted = false
                    undone += 1
                }
                hasFailed = PowerLossRecorder.failWrite(0)
                let count = try engine.read { try $0.count(of: store) }
                #expect(isCommitted || count == 400, "write \(number) left \(count) rows")
                try engine.write { _ = try $0.remove(key: 0, in: store) }
                engine.close()
            }
            if !hasFailed {
                break
            }
            number += 3
        }
        #expect(undone > 5)
    }
}

@Suite struct SQLiteEngineFailureTests {
    @Test(arguments: [false, true])
    func `a batch that fails inside a scan is undone, and the scan goes on`(
        _ createsStore: Bool
    ) throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 20)
        let other = engine.store(StoreName("other", .integer))
        let value: [UInt8] = [9]
        var seen: [Int64] = []
        try engine.write { writer in
            let cursor = try writer.cursor(in: store)
            var hasRow = try cursor.seekToFirst()
            while hasRow {
                seen.append(cursor.integerKey)
                let code = try codeWhileLent(cursor) {
                    try engine.write { nested in
                        try nested.set(value.span, forKey: 100, in: store)
                        if createsStore {
                            try nested.set(value.span, forKey: 1, in: other)
                        }
                        throw StorageError(.unsupported, "The batch fails.")
                    }
                }
                #expect(code == .unsupported)
                hasRow = try cursor.next()
            }
            try writer.set(value.span, forKey: 200, in: store)
        }
        #expect(seen == Array(0..<20))
        #expect(try engine.read { try $0.count(of: store) } == 21)
        #expect(try engine.read { try $0.count(of: other) } == 0)
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    /// The code of what `body` throws while the cursor's row is lent, whose bytes must stay the same.
    private func codeWhileLent(
        _ cursor: any StorageCursor, _ body: () throws -> Void
    ) throws -> StorageError.Code? {
        var code: StorageError.Code?
        let expected = [UInt8](repeating: UInt8(cursor.integerKey), count: 100)
        try cursor.withValue { lent in
            code = StorageError.Code.thrown(by: body)
            #expect([UInt8](copying: lent) == expected)
        }
        return code
    }

    @Test func `verifying reports what it found before the names of stores are unreadable`()
        throws
    {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        _ = try fill(engine, 300)
        engine.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file))
        // A count of unused pages that is wrong, at offset 36, and a name that no store can have.
        bytes[39] = 7
        let name = Data("rows".utf8)
        while let found = bytes.prefix(4_096).range(of: name) {
            bytes.replaceSubrange(found, with: Data("r ws".utf8))
        }
        try bytes.write(to: URL(fileURLWithPath: scratch.file))
        let damaged = try scratch.open()
        let problems = try damaged.verifyStructure(progress: nil)
        #expect(problems.count >= 2, "\(problems)")
        #expect(problems.first?.hasPrefix("SQLite: ") == true)
        #expect(problems.last?.contains("no store") == true)
    }

    @Test(.timeLimit(.minutes(10)))
    func `closing inside a read does not wait for that read`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 10)
        try engine.read { (reader: any StorageReader) throws -> Void in
            engine.close()
            #expect(try reader.count(of: store) == 10, "the read goes on")
            #expect(try engine.read { try $0.count(of: store) } == 10, "as part of it")
        }
        #expect(StorageError.Code.thrown { try engine.read { _ in } } == .closed)
        #expect(try scratch.open().verifyStructure(progress: nil) == [])
    }
}
