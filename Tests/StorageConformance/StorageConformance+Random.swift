// SPDX-License-Identifier: Apache-2.0

import DivanStorage

/// The plainest store there is: an array of rows, kept sorted.
private struct SortedArray: Equatable {
    var rows: [(key: [UInt8], value: [UInt8])] = []

    static func == (left: SortedArray, right: SortedArray) -> Bool {
        left.rows.elementsEqual(right.rows) { $0.key == $1.key && $0.value == $1.value }
    }

    /// The position of the first row that is not below `key`.
    func position(_ key: [UInt8]) -> Int {
        rows.firstIndex { !$0.key.lexicographicallyPrecedes(key) } ?? rows.count
    }

    func value(_ key: [UInt8]) -> [UInt8]? {
        let position = position(key)
        return position < rows.count && rows[position].key == key ? rows[position].value : nil
    }

    mutating func set(_ value: [UInt8], _ key: [UInt8]) {
        let position = position(key)
        if position < rows.count, rows[position].key == key {
            rows[position].value = value
        } else {
            rows.insert((key, value), at: position)
        }
    }

    mutating func remove(_ key: [UInt8]) -> Bool {
        let position = position(key)
        guard position < rows.count, rows[position].key == key else {
            return false
        }
        rows.remove(at: position)
        return true
    }
}

/// Random numbers that are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(upTo limit: Int) -> [UInt8] {
        let count = Int.random(in: 0...limit, using: &self)
        return (0..<count).map { _ in UInt8.random(in: 0...3, using: &self) }
    }
}

extension StorageConformance {
    /// Runs random operations on an engine and on the reference, in transactions of which some are
    /// refused, and compares.
    private static func compareRandomly(
        _ engine: any StorageEngine, operations: Int, seed: UInt64
    ) throws {
        var random = SeededGenerator(state: seed)
        var reference = SortedArray()
        let texts = engine.store(.texts)
        var done = 0
        while done < operations {
            let isRefused = Int.random(in: 0..<5, using: &random) == 0
            var attempt = reference
            let body = { (writer: any StorageWriter) throws -> Void in
                for _ in 0..<Int.random(in: 1...min(200, operations), using: &random) {
                    try step(writer, texts, &attempt, &random)
                    done += 1
                }
            }
            if isRefused {
                try refused(by: engine, body)
            } else {
                try engine.write { (writer: any StorageWriter) throws -> Void in try body(writer) }
                reference = attempt
            }
            let rows = try engine.read { try $0.rows(in: texts) }
            try expect(SortedArray(rows: rows) == reference, "all rows agree after \(done) steps")
        }
    }

    private static func step(
        _ writer: any StorageWriter, _ store: Store, _ reference: inout SortedArray,
        _ random: inout SeededGenerator
    ) throws {
        let key = random.bytes(upTo: 5)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1, 2:
            let value = random.bytes(upTo: 600)
            try writer.set(value.span, forKey: key.span, in: store)
            reference.set(value, key)
        case 3:
            let value = random.bytes(upTo: 20)
            let isNew = try writer.insert(value.span, forKey: key.span, in: store)
            try expect(isNew == (reference.value(key) == nil), "insert agrees")
            if isNew {
                reference.set(value, key)
            }
        case 4, 5:
            let wasThere = try writer.remove(key: key.span, in: store)
            try expect(wasThere == reference.remove(key), "remove agrees")
        case 6:
            let value = try writer.value(forKey: key.span, in: store)
            try expect(value == reference.value(key), "look-up agrees")
        default:
            try walk(writer, store, reference, from: key, &random)
        }
    }

    /// Seeks a key and goes some steps either way.
    private static func walk(
        _ reader: any StorageReader, _ store: Store, _ reference: SortedArray, from key: [UInt8],
        _ random: inout SeededGenerator
    ) throws {
        let cursor = try reader.cursor(in: store)
        defer { cursor.close() }
        var position = reference.position(key)
        var hasRow = try cursor.seek(toAtLeast: key.span)
        for _ in 0..<6 {
            try expect(hasRow == reference.rows.indices.contains(position), "the end agrees")
            guard hasRow else {
                return
            }
            try cursor.withRow { found, value in
                let row = reference.rows[position]
                try expect([UInt8](copying: found) == row.key, "the key agrees")
                try expect([UInt8](copying: value) == row.value, "the value agrees")
            }
            if Bool.random(using: &random) {
                hasRow = try cursor.next()
                position += 1
            } else {
                hasRow = try cursor.previous()
                position -= 1
            }
        }
    }

    static let randomFacts = [
        Fact("random operations agree with a sorted array") { subject in
            let (seed, rounds) = (subject.randomness.seed, subject.randomness.rounds)
            for round in rounds {
                // Most rounds are short and begin with an empty store; some grow a deep one.
                let operations = round % 50 == 0 ? 2_500 : 150
                try subject.withEngine { engine in
                    do {
                        try compareRandomly(
                            engine, operations: operations, seed: seed &* 1_000_003 &+ UInt64(round)
                        )
                    } catch {
                        throw Violation(description: "Seed \(seed), round \(round): \(error)")
                    }
                }
            }
        }
    ]
}
