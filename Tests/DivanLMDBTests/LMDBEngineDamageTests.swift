// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Flipped bits: none may pass for what was written.
///
/// Soak slices: 1.
@Suite struct LMDBEngineDamageTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    /// A file with short and long keys, large values, and pages that are not used any more. All values
    /// are different.
    private func make() throws -> [UInt8] {
        let engine = try scratch.open()
        let rows = engine.store(StoreName("rows", .integer))
        let texts = engine.store(StoreName("texts", .bytes))
        func value(_ number: Int, _ size: Int) -> [UInt8] {
            Array("\(number) of \(size) ".utf8)
                + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
        }
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 0..<2_000 {
                let value = value(number, 80)
                try writer.set(value.span, forKey: Int64(number), in: rows)
            }
        }
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 0..<300 {
                let key =
                    [UInt8](repeating: 9, count: number % 3 == 0 ? 600 : 20)
                    + Array("\(number)".utf8)
                let size = number % 30 == 0 ? 9_000 : 40
                let value = value(number, size)
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

    @Test(arguments: [33, 10_000])
    func `a file with more pages above each other than LMDB follows is refused`(_ depth: Int) throws
    {
        let engine = try scratch.open()
        _ = try fill(engine, 10)
        engine.close()
        var file = try contents(of: scratch.file)
        let first = file.count / 4_096
        let meta = newestMeta(of: file)
        set(UInt64(depth), size: 2, at: meta + 94, in: &file)
        set(UInt64(first), size: 8, at: meta + 128, in: &file)
        set(UInt64(first + depth - 1), size: 8, at: meta + 136, in: &file)
        for number in first..<first + depth {
            // A branch with two children: the next page, and itself.
            var page = [UInt8](repeating: 0, count: 4_096)
            set(UInt64(number), size: 8, at: 0, in: &page)
            set(1, size: 2, at: 10, in: &page)
            set(20, size: 2, at: 12, in: &page)
            set(4_076, size: 2, at: 14, in: &page)
            set(4_076, size: 2, at: 16, in: &page)
            set(4_084, size: 2, at: 18, in: &page)
            set(UInt64(number + 1), size: 4, at: 4_076, in: &page)
            set(UInt64(number), size: 4, at: 4_084, in: &page)
            // The key of the other one, below that of the page before.
            set(4, size: 2, at: 4_090, in: &page)
            set(
                UInt64(UInt32.max - UInt32(number)).byteSwapped >> 32, size: 4, at: 4_092, in: &page
            )
            file += page
        }
        try write(file, to: scratch.file)
        do {
            try scratch.open().close()
            Issue.record("It was opened.")
        } catch let error as StorageError {
            #expect(error.code == .corrupted)
            #expect(error.message.contains("deeper than LMDB follows"), "\(error)")
        }
    }

    @Test func `a list that names more unused pages than it has room for counts what it has`()
        throws
    {
        let file = try make()
        let meta = newestMeta(of: file)
        let root = Int(DatabaseRecord(file[(meta + 40)..<(meta + 88)]).root) * 4_096
        let lists = try #require(PageNode.nodes(of: file[root..<root + 4_096], isBranch: false))
        #expect(lists.count > 1)
        for count in [UInt64(Int.max), .max, 1 << 50] {
            var damaged = file
            for list in lists { set(count, size: 8, at: list.value.startIndex, in: &damaged) }
            try write(damaged, to: scratch.file)
            let engine = try scratch.open()
            defer { engine.close() }
            #expect(try 8_192..<engine.diskSize() ~= engine.usedSize())
            _ = try engine.compact(progress: nil)
        }
    }

    @Test func `numbers that no file has are refused when it is opened`() throws {
        let file = try make()
        for commits: UInt64 in [1 << 63 - 2, 1 << 63, .max - 1] {
            var damaged = file
            // The newest commit stays the newest, each in its own of the two pages.
            let isFirst = newestMeta(of: file) == 0
            set(commits, size: 8, at: 144, in: &damaged)
            set(isFirst ? commits - 1 : commits + 1, size: 8, at: 4_240, in: &damaged)
            try write(damaged, to: scratch.file)
            #expect(StorageError.Code.thrown { try use(scratch.open()) } == .corrupted)
        }
        try write(file, to: scratch.file)
        // Not every file system has files of such lengths.
        if truncate(scratch.file, 1 << 61) == 0 {
            #expect(StorageError.Code.thrown { try use(scratch.open()) } == .io)
        }
    }

    @Test func `a store that tells of more rows than the file has bytes is damaged`() throws {
        let file = try make()
        let names = [Array("s0".utf8), Array("s1".utf8)]
        let meta = newestMeta(of: file)
        let root = Int(DatabaseRecord(file[(meta + 88)..<(meta + 136)]).root) * 4_096
        let nodes = try #require(PageNode.nodes(of: file[root..<root + 4_096], isBranch: false))
        for count in [UInt64(Int.max), .max] {
            var damaged = file
            for node in nodes where names.contains(node.key) {
                set(count, size: 8, at: node.value.startIndex + 32, in: &damaged)
            }
            try write(damaged, to: scratch.file)
            let engine = try scratch.open()
            defer { engine.close() }
            let rows = engine.store(StoreName("rows", .integer))
            #expect(
                StorageError.Code.thrown { _ = try engine.read { try $0.count(of: rows) } }
                    == .corrupted)
            #expect(
                StorageError.Code.thrown {
                    try engine.copy(to: scratch.makeDirectory(), progress: nil)
                } == .corrupted)
        }
    }

    @Test func `after the last space of long keys comes none`() throws {
        func key(_ first: UInt8) -> [UInt8] {
            [UInt8](repeating: first, count: 480) + Array("the end".utf8)
        }
        let engine = try scratch.open()
        let texts = engine.store(StoreName("texts", .bytes))
        try engine.write { try $0.set([1].span, forKey: key(1).span, in: texts) }
        engine.close()
        var file = try contents(of: scratch.file)
        let place = try #require(
            position(of: [0, 0, 0, 0, 0, 0, 0, 1] + Array("the end".utf8), in: file))
        set(.max, size: 8, at: place, in: &file)
        try write(file, to: scratch.file)
        let again = try scratch.open()
        defer { again.close() }
        let store = again.store(StoreName("texts", .bytes))
        #expect(
            StorageError.Code.thrown {
                try again.write { try $0.set([1].span, forKey: key(2).span, in: store) }
            } == .corrupted)
    }

    /// Where the first page begins that tells of the newest commit.
    private func newestMeta(of file: [UInt8]) -> Int {
        file[...].number(at: 144, size: 8) > file[...].number(at: 4_240, size: 8) ? 0 : 4_096
    }

    /// Puts a little-endian number into bytes.
    private func set(_ number: UInt64, size: Int, at place: Int, in bytes: inout [UInt8]) {
        for byte in 0..<size {
            bytes[place + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte))
        }
    }

    /// Reads and writes a little.
    private func use(_ engine: LMDBEngine) throws {
        defer { engine.close() }
        let rows = engine.store(StoreName("rows", .integer))
        for number in Int64(0)..<3 {
            try engine.write { try $0.set([1].span, forKey: number, in: rows) }
            #expect(try engine.read { try $0.count(of: rows) } > 0)
        }
    }

    @Test func `a large value made smaller where it was made is no damage`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let rows = engine.store(StoreName("rows", .integer))
        for size in [100, 3_000, 9_000, 50_000] {
            try engine.write { (writer: any StorageWriter) throws -> Void in
                let large = [UInt8](repeating: 1, count: 100_000)
                try writer.set(large.span, forKey: Int64(size), in: rows)
                let small = Array(large[..<size])
                try writer.set(small.span, forKey: Int64(size), in: rows)
            }
        }
        #expect(try engine.verifyStructure(progress: nil) == [])
        try engine.write { try $0.removeAll(in: rows) }
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    @Test func `no bit flipped in a value is ever read, and verification finds each`() throws {
        let file = try make()
        let map = FileMap(file)
        let wanted = try located(map, in: file)
        // Rows of two stores, of every kind; on the way to long keys and in the list of stores there are
        // values of the engine's own.
        #expect(wanted.count == 1_900)
        #expect(map.values.count > wanted.count)
        let engine = try scratch.open()
        defer { engine.close() }
        // The engine looks at the file itself, so a byte that is changed there is changed for it.
        let descriptor = open(scratch.file, O_RDWR)
        defer { close(descriptor) }
        func flip(_ byte: Int, _ bit: Int, _ body: () throws -> Void) throws {
            var value = file[byte] ^ 1 << UInt8(bit)
            #expect(pwrite(descriptor, &value, 1, off_t(byte)) == 1)
            defer {
                value = file[byte]
                pwrite(descriptor, &value, 1, off_t(byte))
            }
            try body()
        }
        var random = Soak.random(round: 0, salt: 0x7661_6C75)
        for (number, row) in wanted.enumerated() {
            // Each byte of every value in a soak, else of every fiftieth.
            let isWhole = Soak.isOn || number % 50 == 0
            for byte in row.place where isWhole || byte == row.place.lowerBound {
                try flip(byte, random.below(8)) {
                    #expect(code(of: row, in: engine) == .corrupted, "byte \(byte)")
                }
            }
            #expect(code(of: row, in: engine) == nil)
        }
        for _ in 0..<Soak.count(test: 60, soak: 2_000) {
            let place = map.values[random.below(map.values.count)]
            let byte = place.lowerBound + random.below(place.count)
            try flip(byte, random.below(8)) { () throws -> Void in
                #expect(try engine.verifyStructure(progress: nil) != [], "byte \(byte)")
            }
        }
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    @Test func `a bit flipped anywhere is found by verification, or nothing refers to it`() throws {
        let whole = try make()
        let map = FileMap(whole)
        let sound = try rows()
        var missed = 0
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round, salt: 0x666C_6970)
            var file = whole
            // Every third one in the first pages, which say what to follow.
            let place = random.below(random.oneIn(3) ? 8_192 : whole.count)
            let bit = random.below(8)
            file[place] ^= 1 << UInt8(bit)
            try write(file, to: scratch.file)
            let engine: LMDBEngine
            do { engine = try scratch.open() } catch let error as StorageError {
                // Another version is all that a wrong number of the version can say.
                #expect(error.code == .corrupted || error.code == .unsupported, "byte \(place)")
                continue
            }
            defer { engine.close() }
            let problems = try engine.verifyStructure(progress: nil)
            guard problems.isEmpty else { continue }
            missed += 1
            switch map.use(place) {
            case .nothing: #expect(try rows() == sound, "round \(round), byte \(place).\(bit)")
            case .soft:
                // The number of a commit, flipped in one bit, can make the one before it the newest.
                if !(144..<152 ~= place % 4_096 && place < 8_192) {
                    #expect(try rows() == sound, "round \(round), byte \(place).\(bit)")
                }
            case .structure, .value:
                Issue.record("round \(round), byte \(place).\(bit): \(map.use(place)) missed")
            }
            // What verification passes can be written, too.
            let rows = engine.store(StoreName("rows", .integer))
            try engine.write { (writer: any StorageWriter) throws -> Void in
                for number in stride(from: 0, to: 3_000, by: 100) {
                    try writer.set([1, 2, 3].span, forKey: Int64(number), in: rows)
                }
            }
            #expect(try engine.verifyStructure(progress: nil) == [], "round \(round), \(place)")
        }
        #expect(missed > 0)
    }

    @Test func `each byte of the structure counts: names, spaces of keys, and all others`() throws {
        let whole = try make()
        let map = FileMap(whole)
        let names = Array("stores".utf8)
        var found = 0
        for place in whole.indices where map.use(place) == .structure {
            // One bit of each byte in a soak; else of the list of stores' name, and of every fiftieth.
            let isName = whole[place...].starts(with: names)
            guard isName || place % Soak.step(test: 50, soak: 1) == 0 else { continue }
            var random = Soak.random(round: place, salt: 0x6279_7465)
            var file = whole
            let bit = random.below(8)
            file[place] ^= 1 << UInt8(bit)
            try write(file, to: scratch.file)
            found += isName ? 1 : 0
            guard let engine = try? scratch.open() else { continue }
            defer { engine.close() }
            let problems = try engine.verifyStructure(progress: nil)
            #expect(problems != [], "seed \(Soak.seed), byte \(place).\(bit)")
        }
        #expect(found == 1)
    }

    /// A row, and where its stored value lies in the file.
    private struct Row {
        var store: StoreName
        var key: [UInt8]
        var number: Int64
        var place: Range<Int>
    }

    /// Finds the rows' values in the file, which are all different.
    private func located(_ map: FileMap, in file: [UInt8]) throws -> [Row] {
        var places: [[UInt8]: Range<Int>] = [:]
        for place in map.values { places[Array(file[place].dropLast(4))] = place }
        let engine = try scratch.open()
        defer { engine.close() }
        var found: [Row] = []
        try engine.read { (reader: any StorageReader) throws -> Void in
            for name in try reader.storeNames() {
                let cursor = try reader.cursor(in: engine.store(name))
                defer { cursor.close() }
                var isThere = try cursor.seekToFirst()
                while isThere {
                    try cursor.withRow { key, value in
                        let place = try #require(places[bytes(value)])
                        found.append(
                            Row(
                                store: name, key: bytes(key),
                                number: name.kind == .integer ? cursor.integerKey : 0, place: place)
                        )
                    }
                    isThere = try cursor.next()
                }
            }
        }
        return found
    }

    /// What reading a row says; `nil` when it is read.
    private func code(of row: Row, in engine: LMDBEngine) -> StorageError.Code? {
        let store = engine.store(row.store)
        return StorageError.Code.thrown {
            try engine.read { (reader: any StorageReader) throws -> Void in
                let isThere =
                    row.store.kind == .integer
                    ? try reader.withValue(forKey: row.number, in: store) { _ in }
                    : try reader.withValue(forKey: row.key.span, in: store) { _ in }
                #expect(isThere)
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
