// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

/// Soak slices: 4.
@Suite struct SQLiteEngineDamageTests {
    /// The rows that can be read, or `nil` when the engine says that the file is damaged.
    private func readable(_ path: String) throws -> [Int64: [UInt8]]? {
        var rows: [Int64: [UInt8]] = [:]
        do {
            let engine = try SQLiteEngine(directory: path)
            defer { engine.close() }
            let store = engine.store(StoreName("rows", .integer))
            try engine.read { (reader: any StorageReader) throws -> Void in
                for key in 0..<Int64(300) {
                    let value = try reader.value(forKey: key, in: store)
                    if let value {
                        rows[key] = value
                    }
                }
                let cursor = try reader.cursor(in: store)
                var hasRow = try cursor.seekToFirst()
                while hasRow {
                    try cursor.withValue { value in
                        rows[cursor.integerKey] = [UInt8](copying: value)
                    }
                    hasRow = try cursor.next()
                }
            }
        } catch is StorageError {
            return nil
        }
        return rows
    }

    @Test func `a flipped bit never alters a value unnoticed`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        _ = try fill(engine, 300)
        engine.close()
        let good = try Data(contentsOf: URL(fileURLWithPath: scratch.file))
        let original = try #require(try readable(scratch.path))
        for round in Soak.rounds(test: 200, soak: 20_000) {
            var random = Soak.random(round: round, salt: 61)
            var bad = good
            let offset = random.below(bad.count)
            bad[offset] ^= 1 << UInt8(random.below(8))
            let flip = "seed \(Soak.seed), round \(round), offset \(offset)"
            try bad.write(to: URL(fileURLWithPath: scratch.file))
            guard let rows = try readable(scratch.path) else {
                continue
            }
            for (key, value) in rows {
                #expect(original[key] == value, "\(flip), key \(key)")
            }
            if rows != original {
                let problems = try scratch.open().verifyStructure(progress: nil)
                #expect(!problems.isEmpty, "\(flip) lost rows and verify is silent")
            }
        }
    }

    @Test func `a damaged value is named with its store and key`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        _ = try fill(engine, 300)
        engine.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file))
        let value = Data(repeating: 123, count: 100)
        let found = try #require(bytes.range(of: value))
        bytes[found.lowerBound + 50] ^= 4
        try bytes.write(to: URL(fileURLWithPath: scratch.file))
        let damaged = try scratch.open()
        let store = damaged.store(StoreName("rows", .integer))
        let error = #expect(throws: StorageError.self) {
            _ = try damaged.read { try $0.value(forKey: 123, in: store) }
        }
        #expect(error?.code == .corrupted)
        #expect(error?.store?.name == "rows")
        #expect(error?.key == "123")
        #expect(try damaged.read { try $0.contains(key: 124, in: store) })
        var lent = 0
        let atWalk = #expect(throws: StorageError.self) {
            try damaged.read { (reader: any StorageReader) throws -> Void in
                let cursor = try reader.cursor(in: store)
                guard try cursor.seekToFirst() else { return }
                _ = try cursor.walk({ _ in .lend }) { _, _ in lent += 1 }
            }
        }
        #expect(atWalk?.code == .corrupted && atWalk?.key == "123" && lent == 123)
        #expect(try damaged.verifyStructure(progress: nil).count == 1)
    }

    @Test func `a file cut short is corrupted or verified so`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        _ = try fill(engine, 300)
        engine.close()
        let good = try Data(contentsOf: URL(fileURLWithPath: scratch.file))
        for length in [0, 1, 50, 512, 4_096, 8_192, 10_000, good.count - 1] {
            try good.prefix(length).write(to: URL(fileURLWithPath: scratch.file))
            let rows = try readable(scratch.path)
            #expect(rows == nil || rows == [:], "cut to \(length)")
        }
    }
}
