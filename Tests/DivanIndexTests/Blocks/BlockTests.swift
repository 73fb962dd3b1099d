// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanSQLite
import DivanStorage
import DivanTestSupport
import Testing

@testable import DivanIndex

/// A store with its rows in blocks beside a sorted dictionary.
private final class BlockFixture {
    typealias Change = (kind: BlockEdits.Kind, key: [UInt8], value: [UInt8])

    let engine: SQLiteEngine
    let store: Store
    private(set) var model: [[UInt8]: [UInt8]] = [:]

    init() throws {
        engine = try SQLiteEngine.inMemory()
        store = engine.store(StoreName("rows", .bytes))
    }

    var sortedRows: [(key: [UInt8], value: [UInt8])] {
        model.map { ($0.key, $0.value) }.sorted { $0.0.precedes($1.0) }
    }

    /// Applies changes, each key once, and compares what is said of them.
    func apply(_ changes: [Change]) throws {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        for change in changes {
            edits.append(change.kind, key: change.key, value: change.value, to: &bytes)
        }
        edits.sort(in: bytes)
        let outcomes = try engine.write { try store.edit(edits, of: bytes, $0) }
        let sorted = changes.sorted { $0.key.precedes($1.key) }
        for (change, outcome) in zip(sorted, outcomes) {
            #expect(outcome == expected(change))
            if change.kind == .put || model[change.key] != nil {
                model[change.key] = change.kind == .remove ? nil : change.value
            }
        }
    }

    private func expected(_ change: Change) -> BlockEditor.Outcome {
        switch (model[change.key], change.kind) {
        case (nil, .put): .added
        case (nil, _): .missing
        case (_?, .remove): .removed
        case (let old?, _): old == change.value ? .same : .changed
        }
    }

    func read<T>(_ body: (BlockCursor) throws -> T) throws -> T {
        try engine.read { reader in
            let cursor = try BlockCursor(store, reader)
            defer { cursor.close() }
            return try body(cursor)
        }
    }

    /// The values that look-ups of keys one after another find.
    func values(of keys: [[UInt8]]) throws -> [[UInt8]?] {
        try engine.read { reader in
            let lookup = try BlockLookup(store, reader)
            defer { lookup.close() }
            return try keys.map { key in
                var value: [UInt8]?
                let isFound = try lookup.withValue(forKey: key.span) {
                    value = [UInt8](copying: $0)
                }
                #expect(isFound == (value != nil))
                return value
            }
        }
    }

    /// Changes a few bytes of a block, cuts some off or adds some.
    func damage(_ random: inout SeededRandom) throws {
        try engine.write { writer in
            let cursor = try writer.cursor(in: store)
            var blocks: [(key: [UInt8], block: [UInt8])] = []
            var found = try cursor.seekToFirst()
            while found {
                try cursor.withRow { blocks.append(([UInt8](copying: $0), [UInt8](copying: $1))) }
                found = try cursor.next()
            }
            cursor.close()
            guard !blocks.isEmpty else { return }
            let key: [UInt8]
            var block: [UInt8]
            (key, block) = blocks[random.below(blocks.count)]
            for _ in 0...random.below(3) where !block.isEmpty {
                let place = random.below(block.count)
                switch random.below(4) {
                case 0: block.removeLast(min(block.count, random.below(20)))
                case 1: block.insert(UInt8(random.below(256)), at: place)
                default: block[place] = UInt8(random.below(256))
                }
            }
            try writer.set(block.span, forKey: key.span, in: store)
        }
    }

    func rows(descending: Bool = false) throws -> [(key: [UInt8], value: [UInt8])] {
        try read { cursor in
            var rows: [(key: [UInt8], value: [UInt8])] = []
            var found = try descending ? cursor.seekToLast() : cursor.seekToFirst()
            while found {
                try cursor.withRow {
                    rows.append(([UInt8](copying: $0), [UInt8](copying: $1)))
                }
                found = try descending ? cursor.previous() : cursor.next()
            }
            return rows
        }
    }

    /// The keys and sizes of the blocks, whose invariants hold.
    func blocks() throws -> [(key: [UInt8], size: Int, rows: Int)] {
        try engine.read { reader in
            let cursor = try reader.cursor(in: store)
            defer { cursor.close() }
            var blocks: [(key: [UInt8], size: Int, rows: BlockRows)] = []
            var found = try cursor.seekToFirst()
            while found {
                try cursor.withRow { key, block in
                    var rows = BlockRows()
                    try rows.load(key: key, block)
                    blocks.append(([UInt8](copying: key), key.count + block.count, rows))
                }
                found = try cursor.next()
            }
            for (index, block) in blocks.enumerated() {
                let next = index + 1 < blocks.count ? blocks[index + 1].key : nil
                block.rows.checkInvariants(key: block.key.span, nextKey: next, size: block.size)
            }
            return blocks.map { ($0.key, $0.size, $0.rows.count) }
        }
    }
}

struct BlockTests {
    @Test func `rows in blocks are those of a sorted dictionary after any edits`() throws {
        for round in Soak.rounds(test: 40, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0xB10C)
            let fixture = try BlockFixture()
            for _ in 0..<10 {
                try fixture.apply(Self.someChanges(fixture, &random))
                #expect(try Self.isSame(fixture.rows(), fixture.sortedRows), "round \(round)")
                #expect(
                    try Self.isSame(fixture.rows(descending: true), fixture.sortedRows.reversed()))
                try Self.compareSeeks(fixture, &random)
                try Self.compareLookups(fixture, &random)
                _ = try fixture.blocks()
            }
        }
    }

    @Test func `rows that come in order fill their blocks`() throws {
        let fixture = try BlockFixture()
        for start in stride(from: 0, to: 2_000, by: 100) {
            try fixture.apply(
                (start..<start + 100).map { number in
                    (.put, Array("key \(10_000 + number)".utf8), Array("value".utf8))
                })
        }
        let blocks = try fixture.blocks()
        #expect(blocks.first?.key == BlockEditor.firstKey)
        #expect(blocks.dropLast().allSatisfy { $0.size > BlockEditor.filledBlock * 9 / 10 })
        #expect(blocks.dropLast().allSatisfy { $0.size <= BlockEditor.filledBlock })
    }

    @Test func `a row that comes in between splits no block that was filled`() throws {
        let fixture = try BlockFixture()
        try fixture.apply(
            (0..<2_000).map { (.put, Array("key \(10_000 + $0)".utf8), Array("value".utf8)) })
        let before = try fixture.blocks().count
        for number in stride(from: 0, to: 2_000, by: 50) {
            try fixture.apply([
                (.put, Array("key \(10_000 + number)5".utf8), Array("value".utf8))
            ])
        }
        #expect(try fixture.blocks().count == before)
        #expect(try Self.isSame(fixture.rows(), fixture.sortedRows))
    }

    @Test func `a store that shrinks has few blocks left`() throws {
        let fixture = try BlockFixture()
        let keys = (0..<5_000).map { Array("key \(10_000 + $0)".utf8) }
        try fixture.apply(keys.map { (.put, $0, Array("value".utf8)) })
        let before = try fixture.blocks().count
        var random = Soak.random(round: 0, salt: 0xB10D)
        let gone = keys.shuffled(using: &random).dropLast(250)
        for start in stride(from: 0, to: gone.count, by: 50) {
            try fixture.apply(gone[start..<min(start + 50, gone.count)].map { (.remove, $0, []) })
        }
        #expect(try fixture.rows().count == 250)
        #expect(try fixture.blocks().count <= before / 5)
        try fixture.apply(fixture.sortedRows.map { (.remove, $0.key, []) })
        #expect(try fixture.blocks().isEmpty)
    }

    @Test func `a row larger than a block has one for itself`() throws {
        let fixture = try BlockFixture()
        let large = [UInt8](repeating: 7, count: 100_000)
        try fixture.apply([
            (.put, Array("a".utf8), [1]), (.put, Array("b".utf8), large),
            (.put, Array("c".utf8), [3]), (.put, large, large),
        ])
        #expect(try Self.isSame(fixture.rows(), fixture.sortedRows))
    }

    @Test func `a row with an empty key is found`() throws {
        let fixture = try BlockFixture()
        try fixture.apply([(.put, [], [7]), (.put, [0, 1], [8]), (.put, [5], [9])])
        #expect(try fixture.values(of: [[]]) == [[7]])
        #expect(try fixture.values(of: [[], [0], [0, 1], [5], []]) == [[7], nil, [8], [9], [7]])
        try fixture.apply([(.put, [5], [6])])
        #expect(try fixture.values(of: [[5], []]) == [[6], [7]])
    }

    @Test func `a damaged block is an error`() throws {
        for block: [UInt8] in [
            [], [0], [0, 1], [0, 1, 0x61], [0, 1, 0x61, 9], [5, 1, 0x61, 0], [0, 200, 1, 0x61],
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        ] {
            var rows = BlockRows()
            #expect(throws: IndexCorruption.self) { try rows.load(key: [0].span, block.span) }
            let fixture = try BlockFixture()
            try fixture.engine.write {
                try $0.set(block.span, forKey: [0x30].span, in: fixture.store)
            }
            #expect(throws: IndexCorruption.self) { try fixture.values(of: [[0x61, 0x62]]) }
        }
    }

    /// A crafted block of 150 kB, whose rows share a key of 60 kB, would take 3 GB.
    @Test func `a block whose rows would take far more memory than they are long is an error`() {
        var block: [UInt8] = []
        Varint.append(0, to: &block)
        Varint.append(60_000, to: &block)
        block += [UInt8](repeating: 0x61, count: 60_000) + [0]
        for _ in 0..<20_000 {
            Varint.append(60_000, to: &block)
            block += [0, 0]
        }
        var rows = BlockRows()
        #expect(throws: IndexCorruption.self) { try rows.load(key: [0].span, block.span) }
    }

    @Test func `a block with damaged bytes gives what can be read of it, or an error`() throws {
        for round in Soak.rounds(test: 60, soak: 6_000) {
            var random = Soak.random(round: round, salt: 0xDA3A)
            let fixture = try BlockFixture()
            try fixture.apply(Self.someChanges(fixture, &random))
            let keys = fixture.sortedRows.map(\.key)
            for _ in 0..<20 {
                try fixture.damage(&random)
                // Keys that ascend go on where the one before ended; others begin with the block.
                for keys in [keys, keys.reversed(), keys.shuffled(using: &random)] {
                    do { _ = try fixture.values(of: keys) } catch is IndexCorruption {}
                }
                do { _ = try fixture.rows() } catch is IndexCorruption {}
            }
        }
    }

    // MARK: - The model

    private static func isSame(
        _ left: [(key: [UInt8], value: [UInt8])], _ right: [(key: [UInt8], value: [UInt8])]
    ) -> Bool {
        left.map(\.key) == right.map(\.key) && left.map(\.value) == right.map(\.value)
    }

    private static func someKey(_ random: inout SeededRandom) -> [UInt8] {
        let number = Int.random(in: 0..<600, using: &random)
        var key = Array(
            (number % 3 == 0 ? "x" : "a common beginning of many keys \(number % 7)").utf8)
        key += Array("\(number)".utf8)
        if number % 50 == 0 { key += [UInt8](repeating: 9, count: number) }
        return key
    }

    private static func someChanges(
        _ fixture: BlockFixture, _ random: inout SeededRandom
    ) -> [BlockFixture.Change] {
        var changes: [[UInt8]: BlockFixture.Change] = [:]
        let removes = Int.random(in: 0..<4, using: &random) == 0
        for _ in 0..<[1, 5, 60, 500][Int.random(in: 0..<4, using: &random)] {
            let key = someKey(&random)
            let size = Int.random(in: 0..<200, using: &random) == 0 ? 1_500 : 4
            let value = (0..<Int.random(in: 0...size, using: &random)).map { UInt8($0 & 0x7F) }
            let isRemoved = Int.random(in: 0..<10, using: &random) < (removes ? 9 : 3)
            let kind: BlockEdits.Kind =
                isRemoved ? .remove : Bool.random(using: &random) ? .put : .replace
            changes[key] = (kind, key, kind == .remove ? [] : value)
        }
        return changes.values.sorted { $0.key.precedes($1.key) }
    }

    /// Looks up keys that ascend, which go on where the key before was, and keys in any order.
    private static func compareLookups(
        _ fixture: BlockFixture, _ random: inout SeededRandom
    ) throws {
        let known = fixture.model.keys.shuffled(using: &random)
        let some = known.prefix(Int.random(in: 0...known.count, using: &random))
        let others = (0..<Int.random(in: 0...40, using: &random)).map { _ in someKey(&random) }
        let longer = some.prefix(5).map { key in key + [UInt8(0)] }
        let shorter = some.suffix(5).map { Array($0.dropLast()) }.filter { !$0.isEmpty }
        let keys: [[UInt8]] = [Array(some), others, longer, shorter].flatMap { $0 }.shuffled(
            using: &random)
        for keys in [keys, keys.sorted { $0.precedes($1) }] {
            #expect(try fixture.values(of: keys) == keys.map { fixture.model[$0] })
        }
    }

    private static func compareSeeks(
        _ fixture: BlockFixture, _ random: inout SeededRandom
    ) throws {
        let rows = fixture.sortedRows
        try fixture.read { cursor in
            for _ in 0..<20 {
                let key = someKey(&random)
                let isUp = Bool.random(using: &random)
                let found =
                    try isUp ? cursor.seek(toAtLeast: key.span) : cursor.seek(toAtMost: key.span)
                var index =
                    isUp
                    ? rows.firstIndex { !$0.key.precedes(key) } ?? rows.count
                    : (rows.lastIndex { !key.precedes($0.key) } ?? -1)
                #expect(found == rows.indices.contains(index))
                for _ in 0..<3 where rows.indices.contains(index) {
                    try cursor.withRow {
                        #expect([UInt8](copying: $0) == rows[index].key)
                        #expect([UInt8](copying: $1) == rows[index].value)
                    }
                    let goesUp = Bool.random(using: &random)
                    index += goesUp ? 1 : -1
                    let moved = try goesUp ? cursor.next() : cursor.previous()
                    #expect(moved == rows.indices.contains(index))
                }
            }
        }
    }
}
