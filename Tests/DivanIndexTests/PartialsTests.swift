// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanStorage
import DivanTestSupport
import Testing

@testable import DivanIndex

struct PartialsTests {
    @Test func `an empty index counts and reduces to nothing`() throws {
        let fixture = try IndexFixture()
        let reducer = try #require(fixture.reducer)
        #expect(try fixture.read { try $0.count() } == 0)
        #expect(try fixture.read { try $0.reduce(with: reducer).value } == nil)
        #expect(try fixture.read { try $0.key(at: 0) } == nil)
    }

    @Test func `every range agrees with a naive model after every batch of edits`() throws {
        for round in Soak.rounds(test: 40, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x1DEC)
            let fixture = try IndexFixture(
                seed: random.next(), reduces: round % 3 != 0, adds: round % 3 == 1)
            for _ in 0..<8 {
                try fixture.replace(Self.someEdits(of: fixture, &random))
                try fixture.read { try $0.checkPartials(reducer: fixture.stored) }
                try Self.compare(fixture, &random)
            }
            #expect(try fixture.problems() == [], "round \(round)")
        }
    }

    @Test func `an index that grew by edits equals one that was built at once`() throws {
        for round in Soak.rounds(test: 10, soak: 200) {
            var random = Soak.random(round: round, salt: 0xB17D)
            let grown = try IndexFixture(seed: 99, adds: round.isMultiple(of: 2))
            for _ in 0..<30 { try grown.replace(Self.someEdits(of: grown, &random)) }
            let built = try IndexFixture(seed: 99)
            let documents = grown.model.map { (id: $0.key, rows: $0.value) }
            if round.isMultiple(of: 3) {
                try built.replace(documents, keepsPartials: false)
            } else {
                try built.build(documents, reducing: false)
            }
            try built.rebuildPartials()
            #expect(try Self.nodes(grown) == Self.nodes(built), "round \(round)")
            let builtAtOnce = try IndexFixture(seed: 99, adds: round.isMultiple(of: 2))
            let rows = try builtAtOnce.build(documents)
            #expect(try Self.nodes(grown) == Self.nodes(builtAtOnce), "round \(round)")
            let keys = try grown.allRows().map(\.key)
            #expect(try builtAtOnce.allRows().map(\.key) == keys, "round \(round)")
            #expect(rows.map(\.key) == keys)
            #expect(rows.allSatisfy { $0.edit == .added })
            for fixture in [built, builtAtOnce] {
                #expect(try fixture.problems() == [], "round \(round)")
                // What was built is edited like any other.
                try fixture.replace(Self.someEdits(of: fixture, &random))
                #expect(try fixture.problems() == [], "round \(round)")
            }
        }
    }

    // Ranks are drawn from it, and stored: it must stay what it is.
    @Test func `the hash of a key is made of its words, the last one padded with zeros`() {
        func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
            let product = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
            return product ^ product >> 32
        }
        #expect(RowRank.hash([UInt8]().span, seed: 0) == 0)
        #expect(RowRank.hash(Array("divan".utf8).span, seed: 1) == 3_792_425_570_125_042_178)
        for count in 0..<40 {
            let key = (0..<count).map { UInt8(truncatingIfNeeded: 201 + 57 * $0) }
            var expected: UInt64 = 9
            for start in stride(from: 0, to: count, by: 8) {
                let word = key[start...].prefix(8).reversed().reduce(UInt64(0)) {
                    $0 << 8 | UInt64($1)
                }
                expected = mixed(expected, word)
            }
            expected = (expected ^ UInt64(count)) &* 0xC4CE_B9FE_1A85_EC53
            #expect(RowRank.hash(key.span, seed: 9) == expected ^ expected >> 33, "\(count)")
        }
    }

    @Test func `a reduction of any range of a large index sees few values`() throws {
        let fixture = try IndexFixture()
        let reducer = try #require(fixture.reducer)
        let count = Soak.count(test: 20_000, soak: 1_000_000)
        var start = 0
        while start < count {
            let end = min(start + 50_000, count)
            try fixture.replace(
                (start..<end).map { ("d\($0)", [(.integer(Int64($0)), Int64($0))]) },
                keepsPartials: false)
            start = end
        }
        try fixture.rebuildPartials()
        var random = Soak.random(round: 0, salt: 0xFE3)
        _ = reducer.takeCount()
        var most = 0
        for _ in 0..<Soak.count(test: 1_000, soak: 10_000) {
            let low = Int.random(in: 0..<count, using: &random)
            let high = Int.random(in: low...count, using: &random)
            let range = Self.range(fixture, low, high)
            let (sum, rows) = try fixture.read { try $0.reduce(range, with: reducer) }
            #expect(rows == high - low)
            #expect(sum?.int64 ?? 0 == Int64((low..<high).reduce(0, +)))
            most = max(most, reducer.takeCount())
        }
        #expect(most < 1_000)
        #expect(reducer.largestStep <= Partials.largestStep)
    }

    @Test func `without counts rows are counted and skipped by their keys`() throws {
        let fixture = try IndexFixture()
        try fixture.replace(
            (0..<300).map { ("d\($0)", [(.integer(Int64($0)), 1)]) }, keepsPartials: false)
        let rows = try fixture.allRows()
        try fixture.engine.read { reader in
            let index = IndexReader(
                fixture.stores, seed: fixture.seed, reader, hasPartials: false)
            for (low, high) in [(0, 300), (10, 250), (40, 40), (299, 300)] {
                let range = Self.range(fixture, low, high)
                #expect(try index.count(in: range) == high - low)
                for position in [0, 1, 17, 299] {
                    let expected = position < high - low ? rows[low + position].key : nil
                    #expect(try index.key(at: position, in: range) == expected)
                }
                for skip in [1, 17] where skip < high - low {
                    var first: [UInt8]?
                    try index.forEachRow(in: range, descending: true, skip: skip) { key, _ in
                        first = [UInt8](copying: key)
                        return false
                    }
                    #expect(first == rows[high - 1 - skip].key)
                }
            }
        }
    }

    @Test func `an edit computes one node a level`() throws {
        let fixture = try IndexFixture()
        let reducer = try #require(fixture.reducer)
        try fixture.replace((0..<20_000).map { ("d\($0)", [(.integer(Int64($0)), 1)]) })
        _ = reducer.takeCount()
        try fixture.replace([("d10000", [(10_000, 5)])])
        #expect(reducer.takeCount() < 2_000)
        #expect(try fixture.read { try $0.reduce(with: reducer).value?.int64 } == 20_004)
    }

    @Test func `a reducer that adds integers is given no row again when one changes`() throws {
        let fixture = try IndexFixture(adds: true)
        let reducer = try #require(fixture.reducer)
        try fixture.replace((0..<20_000).map { ("d\($0)", [(.integer(Int64($0)), 1)]) })
        // A row that no node begins at: adding and removing it shapes no node anew.
        let row = try #require(
            try fixture.allRows().firstIndex { RowRank.rank(of: $0.key.span, seed: 7) == 0 })
        _ = reducer.takeCount()
        try fixture.replace([("d\(row)", [(.integer(Int64(row)), 5)])])
        try fixture.replace([("d\(row)", [])])
        try fixture.replace([("d\(row)", [(.integer(Int64(row)), -3)])])
        #expect(reducer.takeCount() == 0)
        #expect(try fixture.read { try $0.reduce(with: reducer).value?.int64 } == 19_996)
        #expect(try fixture.problems() == [])
    }

    @Test func `a node that comes out as it was is not told to those above it`() throws {
        let fixture = try IndexFixture()
        let reducer = try #require(fixture.reducer)
        try fixture.replace((0..<20_000).map { ("d\($0)", [(.integer(Int64($0)), 1)]) })
        let ranks = try fixture.allRows().map { RowRank.rank(of: $0.key.span, seed: 7) }
        // A row that no node begins at, and the rows under the node that covers it.
        let row = try #require(ranks.firstIndex(of: 0))
        let start = ranks[..<row].lastIndex { $0 > 0 } ?? 0
        let end = ranks[row...].firstIndex { $0 > 0 } ?? ranks.count
        _ = reducer.takeCount()
        // Another value, and then the same sum by two rows.
        try fixture.replace([("d\(row)", [(.integer(Int64(row)), 5)])])
        #expect(reducer.takeCount() > end - start)
        try fixture.replace([
            ("d\(row)", [(.integer(Int64(row)), 3), (.integer(Int64(row)), 2)])
        ])
        try fixture.replace([
            ("d\(row)", [(.integer(Int64(row)), 1), (.integer(Int64(row)), 4)])
        ])
        #expect(try fixture.problems() == [])
        _ = reducer.takeCount()
        try fixture.replace([
            ("d\(row)", [(.integer(Int64(row)), 4), (.integer(Int64(row)), 1)])
        ])
        #expect(reducer.takeCount() == end - start + 1)
        #expect(try fixture.problems() == [])
    }

    @Test func `a value that the reducer refuses fails the ranges that have it and no others`()
        throws
    {
        let fixture = try IndexFixture()
        let reducer = try #require(fixture.reducer)
        try fixture.replace((0..<2_000).map { ("d\($0)", [(.integer(Int64($0)), 1)]) })
        try fixture.engine.write { writer in
            let index = IndexWriter(fixture.stores, seed: fixture.seed, reducer: reducer, writer)
            var bad = EmissionBatch()
            bad.begin(DocumentID("d1000"))
            bad.append(PackedValue("x")) { fixture.coder.append(1_000, to: &$0, &$1) }
            bad.end()
            _ = try index.replace(with: &bad, .unknown)
        }
        let before = Self.range(fixture, 0, 1_000)
        let after = Self.range(fixture, 1_001, 2_000)
        #expect(try fixture.read { try $0.reduce(before, with: reducer).value?.int64 } == 1_000)
        #expect(try fixture.read { try $0.reduce(after, with: reducer).value?.int64 } == 999)
        #expect(throws: ReductionFailure("only numbers")) {
            try fixture.read { _ = try $0.reduce(with: reducer) }
        }
        // The words may be those of another release.
        try fixture.engine.write { writer in
            let key = Partials.key(level: RowRank.highest, [])
            let node = Partials.Node(count: 2_000, reduced: .failure(ReductionFailure("numbers")))
            try fixture.edit(.put, key, node.bytes, in: fixture.stores.partials, writer)
        }
        #expect(try fixture.problems() == [])
        try fixture.replace([("d1000", [(1_000, 1)])])
        #expect(try fixture.read { try $0.reduce(with: reducer).value?.int64 } == 2_000)
    }

    /// As in an index that an attacker made.
    @Test func `a node from which more is taken than it has is an error`() throws {
        for adds in [false, true] {
            let fixture = try IndexFixture(adds: adds)
            try fixture.replace((0..<2_000).map { ("d\($0)", [(.integer(Int64($0)), 1)]) })
            try fixture.engine.write { writer in
                for level in 1...RowRank.highest {
                    let cursor = try LevelCursor(level, of: fixture.stores.partials, writer)
                    var (keys, next) = ([[UInt8]](), try cursor.seek(toAtLeast: []))
                    while let key = next {
                        keys.append(key)
                        next = try cursor.next()
                    }
                    cursor.close()
                    for key in keys {
                        try fixture.edit(
                            .put, Partials.key(level: level, key), Partials.Node().bytes,
                            in: fixture.stores.partials, writer)
                    }
                }
            }
            #expect(throws: IndexCorruption.self) { try fixture.replace([("d5", [])]) }
        }
    }

    @Test func `verification finds a wrong count and a missing node`() throws {
        let fixture = try IndexFixture()
        try fixture.replace((0..<2_000).map { ("d\($0)", [(.integer(Int64($0)), 1)]) })
        #expect(try fixture.problems() == [])
        try fixture.engine.write { writer in
            let (key, node) = (Partials.key(level: 1, []), Partials.Node(count: 3))
            try fixture.edit(.put, key, node.bytes, in: fixture.stores.partials, writer)
        }
        #expect(try fixture.problems().count == 1)
    }

    // MARK: - The model

    private static func range(_ fixture: IndexFixture, _ low: Int, _ high: Int) -> RowRange {
        func bound(_ number: Int) -> [UInt8] {
            var key: [UInt8] = []
            fixture.coder.append(.integer(Int64(number)), to: &key)
            return key
        }
        return RowRange(lower: bound(low), upper: bound(high))
    }

    private static func someEdits(of fixture: IndexFixture, _ random: inout SeededRandom)
        -> [(id: String, rows: [(key: JSONValue, value: Int64)])]
    {
        let count = Int.random(in: 1...60, using: &random)
        let ids = Set((0..<count).map { _ in "d\(Int.random(in: 0..<400, using: &random))" })
        return ids.sorted().map { id in
            let rows = Int.random(in: 0...3, using: &random)
            return (
                id,
                (0..<rows).map { _ in
                    let key = Int64.random(in: 0..<200, using: &random)
                    return (
                        key % 5 == 0 ? .string("k\(key)") : .integer(key),
                        Int64.random(in: -9...9, using: &random)
                    )
                }
            )
        }
    }

    private static func compare(_ fixture: IndexFixture, _ random: inout SeededRandom) throws {
        let rows = fixture.expectedRows()
        for _ in 0..<6 {
            let range = someRange(rows, &random)
            let inside = rows.filter { range.contains($0.key) }
            #expect(try fixture.read { try $0.count(in: range) } == inside.count)
            if let reducer = fixture.reducer {
                let sum = try fixture.read { try $0.reduce(range, with: reducer).value?.int64 }
                #expect(sum == (inside.isEmpty ? nil : inside.reduce(0) { $0 + $1.value }))
            }
            let skip = Int.random(in: 0...(inside.count + 2), using: &random)
            let limit = Int.random(in: 0...20, using: &random)
            for descending in [false, true] {
                let found = try fixture.allRows(
                    in: range, descending: descending, skip: skip, limit: limit)
                let ordered = descending ? inside.reversed() : inside
                let expected = ordered.dropFirst(skip).prefix(limit)
                #expect(found.map(\.key) == expected.map(\.key))
                #expect(found.map(\.value) == expected.map(\.value))
            }
            let position = Int.random(in: 0...inside.count, using: &random)
            let key = try fixture.read { try $0.key(at: position, in: range) }
            #expect(key == (position < inside.count ? inside[position].key : nil))
        }
    }

    private static func someRange(
        _ rows: [(key: [UInt8], value: Int64)], _ random: inout SeededRandom
    ) -> RowRange {
        func bound() -> [UInt8]? {
            guard let row = rows.randomElement(using: &random), Bool.random(using: &random)
            else { return nil }
            return Bool.random(using: &random) ? row.key : row.key.dropLast() + [0xFF]
        }
        return RowRange(lower: bound(), upper: bound())
    }

    private static func nodes(_ fixture: IndexFixture) throws -> [[UInt8]] {
        try fixture.engine.read { reader in
            let cursor = try BlockCursor(fixture.stores.partials, reader)
            defer { cursor.close() }
            var nodes: [[UInt8]] = []
            var found = try cursor.seekToFirst()
            while found {
                try cursor.withRow {
                    nodes.append([UInt8](copying: $0) + [UInt8](copying: $1))
                }
                found = try cursor.next()
            }
            return nodes
        }
    }
}
