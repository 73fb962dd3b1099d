// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanTestSupport
import Foundation
import Testing

/// Files of a sealing engine that an attacker without the key has changed.
///
/// Soak slices: 4.
@Suite struct SealedDamageTests {
    private static let rows = 3_000
    private static let rowsStore = StoreName("rows", .integer)

    private static func value(_ key: Int, _ generation: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: key * 7 + generation), count: 150)
    }

    private func write(_ engine: SQLiteEngine, _ generation: Int) throws {
        let store = engine.store(Self.rowsStore)
        try engine.write { writer in
            for key in 0..<Self.rows {
                try writer.set(Self.value(key, generation).span, forKey: Int64(key), in: store)
            }
        }
    }

    /// What a reader gets: the generation of all rows, nil for an error.
    ///
    /// Anything else than the rows of one generation is an issue.
    private func generation(_ path: String, _ place: String) throws -> Int? {
        do {
            let engine = try SQLiteEngine(directory: path, options: .sealed())
            defer { engine.close() }
            let store = engine.store(Self.rowsStore)
            var found: Set<Int> = []
            try engine.read { (reader: any StorageReader) throws -> Void in
                guard try reader.count(of: store) > 0 else { return _ = found.insert(0) }
                for key in 0..<Self.rows {
                    let value = try reader.value(forKey: Int64(key), in: store)
                    let match = (1...2).first { Self.value(key, $0) == value }
                    found.insert(match ?? -1)
                }
            }
            #expect(found.count == 1 && found != [-1], "\(place): \(found)")
            return found.first
        } catch let error as StorageError {
            #expect(error.code == .corrupted, "\(place): \(error)")
            return nil
        }
    }

    /// The classes of bytes of a page, by name: where one of each is, in the page.
    private static let pageClasses = [
        ("content", 0), ("content", 100), ("content", 4_055), ("epoch", 4_056), ("epoch", 4_071),
        ("counter", 4_072), ("counter", 4_079), ("tag", 4_080), ("tag", 4_095),
    ]

    @Test func `a change of any kind of byte of any page of the database file is noticed`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        try write(engine, 1)
        engine.close()
        let good = try Data(contentsOf: URL(filePath: scratch.file))
        let pages = good.count / 4_096
        #expect(good.count % 4_096 == 0 && pages > 100)
        for page in stride(from: 0, to: pages, by: Soak.step(test: 9, soak: 1)) {
            for (name, offset) in Self.pageClasses {
                var bad = good
                bad[page * 4_096 + offset] ^= 0x10
                try bad.write(to: URL(filePath: scratch.file))
                let place = "page \(page), \(name) \(offset)"
                // Some pages hold no rows: then the rows are right, and the check of all finds it.
                if try generation(scratch.path, place) != nil {
                    let damaged = try scratch.openSealed()
                    #expect(try !damaged.verifyStructure(progress: nil).isEmpty, "\(place)")
                    damaged.close()
                }
            }
        }
    }

    @Test func `pages that change places, or lose their content, are noticed`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        try write(engine, 1)
        engine.close()
        let good = try Data(contentsOf: URL(filePath: scratch.file))
        let first = 4_096 * 20..<4_096 * 21
        let second = 4_096 * 40..<4_096 * 41
        var swapped = good
        swapped.replaceSubrange(first, with: good[second])
        swapped.replaceSubrange(second, with: good[first])
        var empty = good
        empty.replaceSubrange(first, with: Data(count: 4_096))
        for bad in [swapped, empty, good.dropLast(4_096), Data(good.prefix(4_096))] {
            try bad.write(to: URL(filePath: scratch.file))
            #expect(try generation(scratch.path, "\(bad.count) bytes") == nil)
        }
    }

    @Test
    func `a change of any kind of byte of the log leaves whole commits before it, or an error`()
        throws
    {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        try write(engine, 1)
        _ = try engine.compact(progress: nil)
        try write(engine, 2)
        // The files as a process leaves them that is killed.
        let main = try Data(contentsOf: URL(filePath: scratch.file))
        let log = try Data(contentsOf: URL(filePath: scratch.file + "-wal"))
        engine.close()
        let frames = (log.count - 72) / 4_120
        #expect(frames > 100 && (log.count - 72) % 4_120 == 0)
        var places = [("header", 0), ("header", 31), ("its trailer", 32), ("its trailer", 71)]
        for frame in stride(from: 0, to: frames, by: Soak.step(test: 11, soak: 1)) {
            let start = 72 + frame * 4_120
            places += [
                ("header of frame \(frame)", start), ("header of frame \(frame)", start + 23),
            ]
            places += Self.pageClasses.map { ("\($0.0) of frame \(frame)", start + 24 + $0.1) }
        }
        let image = try ScratchDirectory()
        var outcomes: [Int?: Int] = [:]
        for (name, offset) in places {
            var bad = log
            bad[offset] ^= 0x10
            try main.write(to: URL(filePath: image.file))
            try bad.write(to: URL(filePath: image.file + "-wal"))
            try? FileManager.default.removeItem(atPath: image.file + "-shm")
            outcomes[try generation(image.path, "\(name), byte \(offset)"), default: 0] += 1
        }
        // One commit of the log is damaged, so it ends before it, as after a power loss.
        #expect(outcomes.keys.allSatisfy { $0 == 1 || $0 == nil || $0 == 2 }, "\(outcomes)")
        #expect(outcomes[1, default: 0] > 0)
    }

    @Test func `bytes flipped at random never alter a value unnoticed`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        try write(engine, 1)
        engine.close()
        let good = try Data(contentsOf: URL(filePath: scratch.file))
        for round in Soak.rounds(test: 100, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x656E_63)
            var bad = good
            let offset = random.below(bad.count)
            bad[offset] ^= 1 << UInt8(random.below(8))
            try bad.write(to: URL(filePath: scratch.file))
            _ = try generation(scratch.path, "seed \(Soak.seed), round \(round), offset \(offset)")
        }
    }

    // This is no feature. It shows what docs/encryption.md says is not noticed.
    @Test func `an older genuine file, put back, is not noticed`() throws {
        let scratch = try ScratchDirectory()
        let engine = try scratch.openSealed()
        try write(engine, 1)
        engine.close()
        let old = try Data(contentsOf: URL(filePath: scratch.file))
        let again = try scratch.openSealed()
        try write(again, 2)
        again.close()
        let new = try Data(contentsOf: URL(filePath: scratch.file))
        #expect(new != old && new.count == old.count)
        try old.write(to: URL(filePath: scratch.file))
        #expect(try generation(scratch.path, "the file") == 1)
        // And one page of it: genuine, in its place, and older than the others.
        var mixed = new
        let page = 4_096 * 20..<4_096 * 21
        mixed.replaceSubrange(page, with: old[page])
        try mixed.write(to: URL(filePath: scratch.file))
        let replayed = try scratch.openSealed()
        #expect(try replayed.verifyStructure(progress: nil) == [])
        replayed.close()
    }
}
