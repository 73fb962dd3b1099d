// SPDX-License-Identifier: Apache-2.0

@testable import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

@Suite struct SQLiteEngineOpeningTests {
    @Test func `a missing database is not found by a read-only engine`() throws {
        let scratch = try ScratchDirectory()
        #expect(
            StorageError.Code.thrown { _ = try scratch.open { $0.isReadOnly = true } } == .notFound)
        #expect(!FileManager.default.fileExists(atPath: scratch.file))
    }

    @Test(arguments: [false, true])
    func `a database that must be there and is missing or empty is corrupted, and left alone`(
        _ isReadOnly: Bool
    ) throws {
        let scratch = try ScratchDirectory()
        let log = scratch.file + "-wal"
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: log))
        func code() -> StorageError.Code? {
            StorageError.Code.thrown {
                _ = try scratch.open {
                    $0.createsIfMissing = false
                    $0.isReadOnly = isReadOnly
                }
            }
        }
        #expect(code() == .corrupted)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).count == 1)
        try Data().write(to: URL(fileURLWithPath: scratch.file))
        #expect(code() == .corrupted)
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.file)).isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: log)) == Data([1, 2, 3]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).count == 2)
    }

    @Test(arguments: [false, true])
    func `a database file cut down to its first bytes is not taken for a new one`(
        sealed: Bool
    ) throws {
        let source = try ScratchDirectory()
        let engine = try sealed ? source.openSealed() : source.open()
        let rows = engine.store(StoreName("rows", .integer))
        try engine.write { try $0.set([1, 2, 3].span, forKey: 1, in: rows) }
        // The files as a process leaves them that is killed.
        let main = try Data(contentsOf: URL(filePath: source.file))
        let log = try Data(contentsOf: URL(filePath: source.file + "-wal"))
        engine.close()
        for size in sealed ? 0...15 : 0...1 {
            let cut = try ScratchDirectory()
            try Data(main.prefix(size)).write(to: URL(filePath: cut.file))
            try log.write(to: URL(filePath: cut.file + "-wal"))
            let code = StorageError.Code.thrown {
                _ = try cut.open {
                    $0.createsIfMissing = false
                    if sealed { $0.encryptionKey = SealingKey() }
                }
            }
            #expect(code == .corrupted, "\(size) bytes")
            let files = try cut.files()
            #expect(files["main.sqlite3"] == Array(main.prefix(size)) && files.count == 2)
            #expect(files["main.sqlite3-wal"] == Array(log), "\(size) bytes")
        }
    }

    @Test(arguments: [false, true])
    func `a database without content in the place of one that must be there is not begun anew`(
        sealed: Bool
    ) throws {
        let scratch = try ScratchDirectory()
        try beginDatabase(scratch.path, sealed: sealed)
        let before = try scratch.files()
        let code = StorageError.Code.thrown {
            _ = try scratch.open {
                $0.createsIfMissing = false
                if sealed { $0.encryptionKey = SealingKey() }
            }
        }
        #expect(code == .corrupted)
        #expect(try scratch.files()["main.sqlite3"] == before["main.sqlite3"])
    }

    /// Leaves the files of a database whose creation went as far as its first page.
    private func beginDatabase(_ directory: String, sealed: Bool) throws {
        let codec = sealed ? try PageCodec(key: SealingKey()) : nil
        let connection = try DatabasePlace.directory(directory, codec: codec)
            .connect(readOnly: false, timeout: .seconds(1))
        if sealed { try connection.reserve(PageCodec.reserved) }
        try connection.execute("PRAGMA journal_mode = WAL")
    }

    @Test func `missing directories are created`() throws {
        let scratch = try ScratchDirectory()
        let engine = try SQLiteEngine(directory: scratch.path + "/a/b/c")
        engine.close()
        #expect(FileManager.default.fileExists(atPath: scratch.path + "/a/b/c/main.sqlite3"))
    }

    @Test func `a file that is no database is corrupted`() throws {
        let scratch = try ScratchDirectory()
        try Data(repeating: 65, count: 10_000).write(to: URL(fileURLWithPath: scratch.file))
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .corrupted)
    }

    @Test func `a database of something else is refused and left alone`() throws {
        let scratch = try ScratchDirectory()
        _ = try fill(scratch.open(), 10)
        // Another application ID: 4 bytes at offset 68.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file))
        bytes[68] = 1
        try bytes.write(to: URL(fileURLWithPath: scratch.file))
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .corrupted)
    }

    @Test func `a newer format is refused`() throws {
        let scratch = try ScratchDirectory()
        _ = try fill(scratch.open(), 10)
        // The format version: 4 bytes at offset 60.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file))
        bytes[63] = 2
        try bytes.write(to: URL(fileURLWithPath: scratch.file))
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .unsupported)
    }

    @Test func `a read-only engine reads and refuses to write`() throws {
        let scratch = try ScratchDirectory()
        let writer = try scratch.open()
        _ = try fill(writer, 10)
        let reader = try scratch.open { $0.isReadOnly = true }
        let store = reader.store(StoreName("rows", .integer))
        #expect(try reader.read { try $0.count(of: store) } == 10)
        #expect(
            StorageError.Code.thrown { try reader.write { try $0.removeAll(in: store) } }
                == .readOnly)
        #expect(StorageError.Code.thrown { _ = try reader.compact(progress: nil) } == .readOnly)
        try writer.write { _ = try $0.remove(key: 3, in: store) }
        #expect(try reader.read { try $0.count(of: store) } == 9, "it follows the writer")
        writer.close()
        #expect(try reader.verifyStructure(progress: nil) == [])
    }

    @Test func `a file that was moved away is an io error, not silence`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let store = try fill(engine, 10)
        try FileManager.default.removeItem(atPath: scratch.path)
        #expect(
            StorageError.Code.thrown { try engine.write { try $0.removeAll(in: store) } } == .io)
        #expect(StorageError.Code.thrown { _ = try engine.diskSize() } == .io)
        engine.close()
    }

    @Test func `opening takes no longer for many rows`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        _ = try fill(engine, 50_000)
        engine.close()
        let elapsed = try ContinuousClock().measure {
            for _ in 0..<20 {
                try scratch.open().close()
            }
        }
        #expect(elapsed < .seconds(2), "20 openings took \(elapsed)")
    }
}
