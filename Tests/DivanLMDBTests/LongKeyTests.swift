// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Testing

/// Keys that are longer than LMDB takes, in exact order among short ones.
///
/// Soak slices: 1.
@Suite struct LongKeyTests {
    private let scratch: ScratchDirectory
    private let engine: LMDBEngine
    private let store: Store

    init() throws {
        scratch = try ScratchDirectory()
        engine = try scratch.open()
        store = engine.store(StoreName("texts", .bytes))
    }

    /// A key around one of the lengths where the way it is stored changes.
    private static func key(_ random: inout SeededRandom) -> [UInt8] {
        let length = [0, 1, 479, 480, 481, 959, 960, 961, 1_440, 1_441, 2_500][random.below(11)]
        // Few values of bytes, so that keys share their beginnings, the zero byte among them.
        var key = [UInt8](repeating: random.oneIn(2) ? 0 : 7, count: length)
        for _ in 0..<random.below(3) where length > 0 {
            key[random.oneIn(2) ? length - 1 : random.below(length)] = UInt8(random.below(3))
        }
        return key
    }

    @Test func `random long and short keys agree with a sorted array`() throws {
        for round in Soak.rounds(test: 40, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x6C6F_6E67)
            var reference: [[UInt8]: [UInt8]] = [:]
            for _ in 0..<3 {
                var attempt = reference
                let isRefused = random.oneIn(4)
                do {
                    try engine.write { (writer: any StorageWriter) throws -> Void in
                        for _ in 0..<25 { try Self.step(writer, store, &attempt, &random) }
                        if isRefused { throw Refused() }
                    }
                    reference = attempt
                } catch is Refused {}
                try engine.read { (reader: any StorageReader) throws -> Void in
                    try Self.compare(reader, store, reference, &random, "round \(round)")
                }
            }
            try engine.write { try $0.drop(store) }
        }
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    private struct Refused: Error {}

    private static func step(
        _ writer: any StorageWriter, _ store: Store, _ reference: inout [[UInt8]: [UInt8]],
        _ random: inout SeededRandom
    ) throws {
        // Half of the time a key that is there.
        let known = reference.keys.sorted { $0.lexicographicallyPrecedes($1) }
        let key =
            random.oneIn(2) && !known.isEmpty ? known[random.below(known.count)] : key(&random)
        let value = [UInt8](repeating: UInt8(random.below(256)), count: random.below(3_000))
        switch random.below(5) {
        case 0, 1:
            try writer.set(value.span, forKey: key.span, in: store)
            reference[key] = value
        case 2:
            #expect(
                try writer.insert(value.span, forKey: key.span, in: store)
                    == (reference[key] == nil))
            reference[key] = reference[key] ?? value
        case 3:
            #expect(
                try writer.remove(key: key.span, in: store)
                    == (reference.removeValue(forKey: key) != nil))
        default:
            #expect(try writer.value(forKey: key.span, in: store) == reference[key])
        }
    }

    private static func compare(
        _ reader: any StorageReader, _ store: Store, _ reference: [[UInt8]: [UInt8]],
        _ random: inout SeededRandom, _ place: String
    ) throws {
        let keys = reference.keys.sorted { $0.lexicographicallyPrecedes($1) }
        let cursor = try reader.cursor(in: store)
        defer { cursor.close() }
        var forward: [[UInt8]] = []
        var found = try cursor.seekToFirst()
        while found {
            try cursor.withRow { key, value in
                forward.append(bytes(key))
                #expect(bytes(value) == reference[bytes(key)])
            }
            found = try cursor.next()
        }
        #expect(forward == keys, "forward, \(place)")
        var backward: [[UInt8]] = []
        found = try cursor.seekToLast()
        while found {
            try cursor.withKey { backward.append(bytes($0)) }
            found = try cursor.previous()
        }
        #expect(backward == keys.reversed(), "backward, \(place)")
        #expect(try reader.count(of: store) == keys.count)
        for _ in 0..<8 {
            let target = key(&random)
            let above = keys.first { !$0.lexicographicallyPrecedes(target) }
            let below = keys.last { !target.lexicographicallyPrecedes($0) }
            #expect(try cursor.seek(toAtLeast: target.span) == (above != nil))
            if above != nil { try cursor.withKey { #expect(bytes($0) == above) } }
            #expect(try cursor.seek(toAtMost: target.span) == (below != nil))
            if below != nil { try cursor.withKey { #expect(bytes($0) == below) } }
            #expect(try reader.contains(key: target.span, in: store) == (reference[target] != nil))
        }
    }

    @Test func `many keys that share 2,000 leading bytes stay exact`() throws {
        let count = Soak.count(test: 5_000, soak: 100_000)
        let beginning = [UInt8](repeating: 65, count: 2_000)
        func key(_ number: Int) -> [UInt8] {
            beginning + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        }
        // In an order that jumps about: the step has no factor in common with either count.
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for step in 0..<count {
                let number = step * 7_919 % count
                try writer.set(
                    [UInt8(truncatingIfNeeded: number)].span, forKey: key(number).span, in: store)
            }
        }
        func check(_ expected: [Int]) throws {
            try engine.read { (reader: any StorageReader) throws -> Void in
                #expect(try reader.count(of: store) == expected.count)
                let cursor = try reader.cursor(in: store)
                defer { cursor.close() }
                var position = 0
                var found = try cursor.seekToFirst()
                while found, position < expected.count {
                    var isRight = false
                    try cursor.withRow { row, value in
                        isRight =
                            bytes(row) == key(expected[position])
                            && bytes(value) == [UInt8(truncatingIfNeeded: expected[position])]
                    }
                    guard isRight else { break }
                    position += 1
                    found = try cursor.next()
                }
                #expect(position == expected.count && !found, "forward up to \(position)")
                found = try cursor.seekToLast()
                while found, position > 0 {
                    var isRight = false
                    try cursor.withKey { isRight = bytes($0) == key(expected[position - 1]) }
                    guard isRight else { break }
                    position -= 1
                    found = try cursor.previous()
                }
                #expect(position == 0 && !found, "backward down to \(position)")
                for number in expected where number.isMultiple(of: 97) {
                    #expect(try cursor.seek(toAtLeast: key(number).span))
                    try cursor.withKey { #expect(bytes($0) == key(number)) }
                }
            }
        }
        try check(Array(0..<count))
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 0..<count where !number.isMultiple(of: 3) {
                #expect(try writer.remove(key: key(number).span, in: store))
            }
        }
        try check((0..<count).filter { $0.isMultiple(of: 3) })
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 0..<count where number.isMultiple(of: 3) {
                #expect(try writer.remove(key: key(number).span, in: store))
            }
        }
        try check([])
        let problems = try engine.verifyStructure(progress: nil)
        #expect(problems == [])
    }

    /// What long keys cost beside short ones; printed, since a time is no fact.
    @Test(.enabled(if: Soak.isOn, "It measures, which only a soak is for."))
    func `long keys cost a few times what short ones do`() throws {
        let count = 100_000
        var times: [[Duration]] = []
        for length in [16, 2_000] {
            let beginning = [UInt8](repeating: 65, count: length)
            let keys = (0..<count).map { number -> [UInt8] in
                let mixed = number * 7_919 % count
                return beginning + (0..<4).map { UInt8(truncatingIfNeeded: mixed >> (24 - 8 * $0)) }
            }
            let value = [UInt8](repeating: 1, count: 100)
            let clock = ContinuousClock()
            var spent: [Duration] = []
            spent.append(
                try clock.measure {
                    try engine.write { (writer: any StorageWriter) throws -> Void in
                        for key in keys { try writer.set(value.span, forKey: key.span, in: store) }
                    }
                })
            spent.append(
                try clock.measure {
                    try engine.read { (reader: any StorageReader) throws -> Void in
                        for key in keys { _ = try reader.contains(key: key.span, in: store) }
                    }
                })
            spent.append(
                try clock.measure {
                    try engine.read { (reader: any StorageReader) throws -> Void in
                        let cursor = try reader.cursor(in: store)
                        for key in keys { _ = try cursor.seek(toAtLeast: key.span) }
                    }
                })
            spent.append(
                try clock.measure {
                    try engine.read { (reader: any StorageReader) throws -> Void in
                        let cursor = try reader.cursor(in: store)
                        var found = try cursor.seekToLast()
                        while found {
                            try cursor.withRow { _, _ in }
                            found = try cursor.previous()
                        }
                    }
                })
            spent.append(
                try clock.measure {
                    try engine.write { (writer: any StorageWriter) throws -> Void in
                        for key in keys { _ = try writer.remove(key: key.span, in: store) }
                    }
                })
            times.append(spent)
        }
        for (number, work) in ["set", "look up", "seek", "backward", "remove"].enumerated() {
            let ratio = times[1][number] / times[0][number]
            print("Long keys: \(work) costs \(ratio) times as much (\(times[1][number])).")
        }
        #expect(try engine.read { try $0.count(of: store) } == 0)
    }

    @Test func `a key of a megabyte is stored, found and removed`() throws {
        let key = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1_000) }
        try engine.write { try $0.set([1].span, forKey: key.span, in: store) }
        try engine.read { (reader: any StorageReader) throws -> Void in
            #expect(try reader.value(forKey: key.span, in: store) == [1])
            #expect(try reader.value(forKey: (key + [0]).span, in: store) == nil)
            let cursor = try reader.cursor(in: store)
            #expect(try cursor.seekToLast())
            try cursor.withKey { #expect(bytes($0) == key) }
            #expect(try !cursor.next())
        }
        #expect(try engine.write { try $0.remove(key: key.span, in: store) })
        #expect(try engine.read { try $0.count(of: store) } == 0)
    }

    @Test func `a flipped bit in the way to a long key is noticed`() throws {
        let key = [UInt8](repeating: 66, count: 700)
        try engine.write { try $0.set([1].span, forKey: key.span, in: store) }
        engine.close()
        var file = try contents(of: scratch.file)
        // The space's number, 8 bytes big-endian, follows the chunk and its zero byte.
        let chunk = [UInt8](repeating: 66, count: 480) + [0]
        let place = try #require(position(of: chunk, in: file)) + chunk.count + 7
        file[place] ^= 1
        try write(file, to: scratch.file)
        let damaged = try scratch.open()
        defer { damaged.close() }
        let again = damaged.store(StoreName("texts", .bytes))
        #expect(
            StorageError.Code.thrown {
                _ = try damaged.read { try $0.value(forKey: key.span, in: again) }
            } == .corrupted)
        #expect(try !damaged.verifyStructure(progress: nil).isEmpty)
    }
}
