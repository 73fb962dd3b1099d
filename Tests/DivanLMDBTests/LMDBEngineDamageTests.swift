// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import DivanStorage
import DivanTestSupport
import Foundation
import Testing

/// Flipped bits: none may pass for what was written.
///
/// Soak slices: 1.
@Suite struct LMDBEngineDamageTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    /// A file with short and long keys, large values, and pages that are not used any more.
    private func make() throws -> [UInt8] {
        let engine = try scratch.open()
        let rows = try fill(engine, 2_000)
        let texts = engine.store(StoreName("texts", .bytes))
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 0..<300 {
                let key =
                    [UInt8](repeating: 9, count: number % 3 == 0 ? 600 : 20)
                    + Array("\(number)".utf8)
                let value = [UInt8](repeating: 3, count: number % 10 == 0 ? 9_000 : 40)
                try writer.set(value.span, forKey: key.span, in: texts)
            }
        }
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 500..<900 { _ = try writer.remove(key: Int64(number), in: rows) }
        }
        #expect(try engine.verifyStructure(progress: nil) == [])
        engine.close()
        return try contents(of: scratch.file)
    }

    @Test func `verification finds a bit flipped in a value by its checksum`() throws {
        var file = try make()
        // In every page that has such a value, since older ones are not used any more.
        let value = [UInt8](repeating: 3, count: 40)
        var count = 0
        while let place = position(of: value, in: file) {
            file[place + 5] ^= 4
            count += 1
        }
        #expect(count >= 270)
        try write(file, to: scratch.file)
        let engine = try scratch.open()
        defer { engine.close() }
        let problems = try engine.verifyStructure(progress: nil)
        #expect(problems.contains { $0.contains("checksum") })
    }

    @Test func `no bit flipped in a page passes verification with other rows`() throws {
        let whole = try make()
        let sound = try rows()
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x666C_6970)
            var file = whole
            // Pages beyond the first two, which every commit writes in turn.
            let place = 8_192 + random.below(whole.count - 8_192)
            file[place] ^= 1 << UInt8(random.below(8))
            try write(file, to: scratch.file)
            let engine: LMDBEngine
            do { engine = try scratch.open() } catch let error as StorageError
                where error.code == .corrupted
            { continue }
            let problems = try engine.verifyStructure(progress: nil)
            engine.close()
            if problems.isEmpty {
                // In a page that is not used, or between the nodes of one that is.
                #expect(try rows() == sound, "round \(round), byte \(place)")
            }
        }
    }

    private func rows() throws -> [[UInt8]] {
        let engine = try scratch.open()
        defer { engine.close() }
        var found: [[UInt8]] = []
        try engine.read { (reader: any StorageReader) throws -> Void in
            for name in try reader.storeNames() {
                let cursor = try reader.cursor(in: engine.store(name))
                var isThere = try cursor.seekToFirst()
                while isThere {
                    try cursor.withRow { found.append(bytes($0) + bytes($1)) }
                    isThere = try cursor.next()
                }
                cursor.close()
            }
        }
        return found
    }
}
