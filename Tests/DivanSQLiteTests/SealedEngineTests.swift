// SPDX-License-Identifier: Apache-2.0

@testable import DivanSQLite
import Dispatch
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// Soak slices: 4.
@Suite struct SealedEngineTests {
    private static let marker = Array("a secret that must be nowhere".utf8)

    @Test(arguments: StorageConformance.facts)
    func `an engine that seals its files conforms`(_ fact: StorageConformance.Fact) throws {
        let scratch = try ScratchDirectory()
        try fact.check(
            on: EngineUnderTest(
                isPersistent: true,
                randomness: EngineUnderTest.Randomness(
                    seed: Soak.seed, rounds: Soak.rounds(test: 200, soak: 5_000)),
                makeDirectory: { try scratch.makeDirectory() },
                open: { try SQLiteEngine(directory: $0, options: .sealed()) }))
    }

    @Test func `what is stored is in no file as it is, before and after a checkpoint`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        let rows = engine.store(StoreName("rows-of-secrets", .integer))
        let names = engine.store(StoreName("names", .bytes))
        for round in 0..<20 {
            try engine.write { writer in
                for number in 0..<200 {
                    let value = Self.marker + Array("\(round) \(number)".utf8)
                    try writer.set(value.span, forKey: Int64(round * 200 + number), in: rows)
                    try writer.set([1].span, forKey: value.span, in: names)
                }
            }
            try Self.expectNothing(in: scratch)
        }
        try engine.write { writer in
            for number in 0..<3_000 { _ = try writer.remove(key: Int64(number), in: rows) }
        }
        _ = try engine.compact { _ in try Self.expectNothing(in: scratch) }
        engine.close()
        try Self.expectNothing(in: scratch)
    }

    /// Looks for what was stored, for names of stores, and for anything that SQLite writes in clear.
    private static func expectNothing(in scratch: ScratchDirectory) throws {
        let files = try scratch.files()
        #expect(files["main.sqlite3"] != nil)
        for (name, bytes) in files {
            for text in ["a secret", "rows-of-secrets", "SQLite format", "CREATE TABLE"] {
                #expect(!bytes.contains(bytes: Array(text.utf8)), "\(text) in \(name)")
            }
        }
    }

    @Test func `many openings leave pages of many epochs, and all can be read`() throws {
        let scratch = try ScratchDirectory()
        var expected: [Int64: [UInt8]] = [:]
        for opening in 0..<150 {
            let engine = try scratch.openSealed()
            let rows = engine.store(StoreName("rows", .integer))
            try engine.write { writer in
                for number in 0..<8 {
                    let key = Int64(opening * 8 + number)
                    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: opening), count: 900)
                    expected[key] = value
                    try writer.set(value.span, forKey: key, in: rows)
                }
            }
            engine.close()
        }
        let engine = try scratch.openSealed()
        defer { engine.close() }
        let rows = engine.store(StoreName("rows", .integer))
        try engine.read { (reader: any StorageReader) throws -> Void in
            for (key, value) in expected {
                #expect(try reader.value(forKey: key, in: rows) == value)
            }
        }
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    @Test func `the first reader keeps many pages open, and those beside it few`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        defer { engine.close() }
        #expect(try Self.limits(engine, readers: 4) == [64 << 20, 8 << 20, 8 << 20, 8 << 20])
        // A connection that comes back is used again, and keeps what it has.
        #expect(try Self.limits(engine, readers: 1) == [64 << 20])
    }

    /// What readers may keep open, each of which begins inside the one before, on a thread of its own.
    private static func limits(_ engine: SQLiteEngine, readers: Int) throws -> [Int64] {
        let found = Mutex<[Int64]>([])
        try engine.read { (reader: any StorageReader) throws -> Void in
            let transaction = try #require(reader as? SQLiteTransaction)
            let own = try transaction.connection.integer("PRAGMA mmap_size")
            found.withLock { $0 = [own] }
            guard readers > 1 else { return }
            let isDone = DispatchSemaphore(value: 0)
            DispatchQueue(label: "reader").async {
                let others = (try? limits(engine, readers: readers - 1)) ?? []
                found.withLock { $0 += others }
                isDone.signal()
            }
            isDone.wait()
        }
        return found.withLock { $0 }
    }

    @Test func `a transaction larger than the cache, which writes frames twice, is kept whole`()
        throws
    {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed { $0.writerCacheSize = 64 << 10 }
        let rows = engine.store(StoreName("rows", .integer))
        // The log is read by another engine, without a checkpoint, and once more by a recovery.
        for round in 1...3 {
            try engine.write { writer in
                for pass in 1...3 {
                    for key in 0..<2_000 {
                        let value = [UInt8](repeating: UInt8(round * 10 + pass), count: 300)
                        try writer.set(value.span, forKey: Int64(key * 7 % 2_000), in: rows)
                    }
                }
            }
            let copy = try ScratchDirectory()
            for suffix in ["", "-wal"] {
                try? FileManager.default.removeItem(atPath: copy.file + suffix)
                try FileManager.default.copyItem(
                    atPath: scratch.file + suffix, toPath: copy.file + suffix)
            }
            let recovered = try copy.openSealed()
            defer { recovered.close() }
            let same = recovered.store(StoreName("rows", .integer))
            try recovered.read { (reader: any StorageReader) throws -> Void in
                for key in 0..<2_000 {
                    let value = try reader.value(forKey: Int64(key), in: same)
                    #expect(value == [UInt8](repeating: UInt8(round * 10 + 3), count: 300))
                }
            }
        }
        engine.close()
    }

    @Test func `two engines on one directory see each other's commits`() throws {
        let scratch = try ScratchDirectory()
        let first = try scratch.openSealed()
        let second = try scratch.openSealed()
        defer {
            first.close()
            second.close()
        }
        for number in 0..<50 {
            let (writer, reader) = number.isMultiple(of: 2) ? (first, second) : (second, first)
            let (to, from) = (
                writer.store(StoreName("rows", .integer)), reader.store(StoreName("rows", .integer))
            )
            let value = [UInt8](repeating: UInt8(number), count: 5_000)
            try writer.write { try $0.set(value.span, forKey: Int64(number), in: to) }
            #expect(try reader.read { try $0.value(forKey: Int64(number), in: from) } == value)
        }
    }

    @Test func `a copy is sealed as another file with the same key`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        _ = try fill(engine, 2_000)
        let target = try scratch.makeDirectory() + "/copy"
        try engine.copy(to: target, progress: nil)
        engine.close()
        let original = try Data(contentsOf: URL(filePath: scratch.file))
        let copied = try Data(contentsOf: URL(filePath: target + "/main.sqlite3"))
        #expect(original.prefix(16) != copied.prefix(16))
        let copy = try SQLiteEngine(directory: target, options: .sealed())
        #expect(try copy.verifyStructure(progress: nil) == [])
        let rows = copy.store(StoreName("rows", .integer))
        #expect(try copy.read { try $0.count(of: rows) } == 2_000)
        copy.close()
        // A page of one in the place of the other's is noticed.
        var mixed = copied
        mixed.replaceSubrange(8_192..<12_288, with: original[8_192..<12_288])
        try mixed.write(to: URL(filePath: target + "/main.sqlite3"))
        let damaged = try SQLiteEngine(directory: target, options: .sealed())
        #expect(try !damaged.verifyStructure(progress: nil).isEmpty)
        damaged.close()
    }

    @Test func `another key, or none, opens nothing and changes nothing`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        _ = try fill(engine, 100)
        engine.close()
        let before = try scratch.files()
        let other = SealingKey([UInt8](repeating: 7, count: 32))
        #expect(
            StorageError.Code.thrown {
                _ = try SQLiteEngine(directory: scratch.path, options: .sealed(other))
            } == .corrupted)
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .corrupted)
        #expect(
            StorageError.Code.thrown {
                _ = try scratch.open { $0.encryptionKey = SealingKey([1, 2, 3]) }
            } == .misuse)
        #expect(try scratch.files() == before)
        let plain = try ScratchDirectory()
        try plain.open().close()
        #expect(StorageError.Code.thrown { _ = try plain.openSealed() } == .corrupted)
    }

    @Test(arguments: [0, 8_192, 40_960, 64 << 20])
    func `readers see what was written last, however many pages they keep open`(_ size: Int)
        throws
    {
        let scratch = try ScratchDirectory()
        let options: (inout StorageOptions) -> Void = { $0.mappedSize = size }
        let writer = try scratch.openSealed(options)
        let reader = try scratch.openSealed(options)
        defer {
            writer.close()
            reader.close()
        }
        let (to, from) = (
            writer.store(StoreName("rows", .integer)), reader.store(StoreName("rows", .integer))
        )
        for round in 0..<12 {
            let value = [UInt8](repeating: UInt8(round), count: 1_500)
            try writer.write { writer in
                for key in 0..<400 where (key + round) % 3 == 0 || round == 0 {
                    try writer.set(value.span, forKey: Int64(key), in: to)
                }
            }
            // The log goes into the file, page by page over those that readers have open.
            _ = try writer.compact(progress: nil)
            try reader.read { (reader: any StorageReader) throws -> Void in
                for key in (0..<400).reversed() {
                    var last = round
                    while last > 0, (key + last) % 3 != 0 { last -= 1 }
                    let found = try reader.value(forKey: Int64(key), in: from)
                    #expect(found == [UInt8](repeating: UInt8(last), count: 1_500))
                }
            }
        }
    }
}
