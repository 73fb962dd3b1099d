// SPDX-License-Identifier: Apache-2.0

import DivanStorage

/// Walks: many rows for less than the cost of their calls.
extension StorageConformance {
    /// What a walk from the current row came to: the keys of rows, `!` behind those that were lent.
    private static func walk(
        _ cursor: any StorageCursor, _ choose: (Int64) throws -> RowChoice,
        _ meanwhile: (Int64) throws -> Void = { _ in }
    ) throws -> (came: [String], stopped: Bool) {
        var came: [String] = []
        let stopped = try cursor.walk { key in
            came.append("\(key)")
            return try choose(key)
        } _: { key, value in
            try expect([UInt8](copying: value) == Array("value of \(key)".utf8), "its value")
            came[came.count - 1] += "!"
            try meanwhile(key)
        }
        return (came, stopped)
    }

    /// Fills a store with random keys, and values of which some do not fit into a page.
    private static func fill(
        _ engine: any StorageEngine, _ numbers: Store, _ random: inout SeededGenerator
    ) throws -> [Int64: [UInt8]] {
        var rows: [Int64: [UInt8]] = [:]
        let spread = Bool.random(using: &random) ? Int64.max : 2_000
        for _ in 0..<Int.random(in: 0...400, using: &random) {
            let key = Int64.random(in: -spread...spread, using: &random)
            let isLong = Int.random(in: 0..<40, using: &random) == 0
            rows[key] = random.bytes(upTo: isLong ? 20_000 : 600)
        }
        if Bool.random(using: &random) { rows[.max] = [1] }
        if Bool.random(using: &random) { rows[.min] = [2] }
        try engine.write { writer in
            for (key, value) in rows { try writer.set(value.span, forKey: key, in: numbers) }
        }
        return rows
    }

    /// One walk from a random key, with random choices, beside the sorted keys.
    private static func compareWalk(
        _ reader: any StorageReader, _ numbers: Store, _ rows: [Int64: [UInt8]],
        _ random: inout SeededGenerator
    ) throws {
        let cursor = try reader.cursor(in: numbers)
        defer { cursor.close() }
        let start = rows.keys.randomElement(using: &random) ?? 0
        var ahead = rows.keys.filter { $0 >= start }.sorted()[...]
        guard try cursor.seek(toAtLeast: start) else { return try expect(ahead.isEmpty, "no rows") }
        let stop = ahead.randomElement(using: &random)
        let stops = Bool.random(using: &random)
        let stopped = try cursor.walk { key in
            try expect(key == ahead.first, "the rows come in order")
            if stops, key == stop { return .stop }
            ahead.removeFirst()
            return key & 3 == 0 ? .pass : .lend
        } _: { key, value in
            try expect(key & 3 != 0, "a row that is passed over is not lent")
            try expect([UInt8](copying: value) == rows[key], "the value of its key")
        }
        try expect(stopped == stops, "it says whether it stopped")
        try expect(stopped ? cursor.integerKey == stop : ahead.isEmpty, "where it ended")
        if stopped {
            ahead.removeFirst()
            try expect(try cursor.next() == !ahead.isEmpty, "it goes on from there")
            try expect(ahead.isEmpty || cursor.integerKey == ahead.first, "with the next row")
        }
    }

    static let walkFacts = [
        Fact("a walk lends rows, passes over rows and stops on a row") { subject in
            try withRows(subject) { engine, _, numbers in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: numbers)
                    try expect(try cursor.seekToFirst(), "it has rows")
                    let all = try walk(cursor) { $0 == 40 ? .pass : .lend }
                    try expect(all.came == ["20!", "40", "60!"] && !all.stopped, "all rows")
                    try expect(try !cursor.next(), "it stands nowhere")
                    try expect(try cursor.seekToFirst(), "it seeks again")
                    let some = try walk(cursor) { $0 == 40 ? .stop : .lend }
                    try expect(some.came == ["20!", "40"] && some.stopped, "the rows before 40")
                    try expect(cursor.integerKey == 40, "it stands on the row")
                    let rest = try walk(cursor) { _ in .lend }
                    try expect(rest.came == ["40!", "60!"] && !rest.stopped, "the rows from 40 on")
                    // A cursor that went down before goes up.
                    try expect(try cursor.seekToLast() && cursor.previous(), "60, then 40")
                    let up = try walk(cursor) { _ in .lend }
                    try expect(up.came == ["40!", "60!"], "the rows from 40 on")
                }
            }
        },
        Fact("a walk that its caller breaks off stands on the row") { subject in
            struct BrokenOff: Error {}
            try withRows(subject) { engine, _, numbers in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: numbers)
                    try expect(try cursor.seekToFirst(), "it has rows")
                    do {
                        _ = try walk(cursor, { _ in .lend }) { if $0 == 40 { throw BrokenOff() } }
                        try expect(false, "the error comes out")
                    } catch is BrokenOff {}
                    try expect(try cursor.integerKey == 40 && cursor.next(), "it goes on")
                    try expect(cursor.integerKey == 60, "with 60")
                }
            }
        },
        Fact("a walk in a write transaction sees what is written on the way") { subject in
            try withRows(subject) { engine, texts, numbers in
                try engine.write { writer in
                    let cursor = try writer.cursor(in: numbers)
                    try expect(try cursor.seekToFirst(), "it has rows")
                    let seen = try walk(cursor, { _ in .lend }) { key in
                        guard key == 20 else { return }
                        _ = try writer.remove(key: Int64(40), in: numbers)
                        try writer.set("value of 50", Int64(50), in: numbers)
                        try writer.set("value of 10", Int64(10), in: numbers)
                        try writer.set("g", "g", in: texts)
                    }
                    try expect(seen.came == ["20!", "50!", "60!"], "what lies ahead")
                }
            }
        },
        Fact("a walk whose choice fails stands on the row") { subject in
            struct Refused: Error {}
            try withRows(subject) { engine, _, numbers in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: numbers)
                    try expect(try cursor.seekToFirst(), "it has rows")
                    do {
                        _ = try walk(cursor) { key in
                            if key == 60 { throw Refused() }
                            return .lend
                        }
                        try expect(false, "the error comes out")
                    } catch is Refused {}
                    try expect(cursor.integerKey == 60, "it stands on the row")
                    try cursor.withValue { value in
                        try expect(
                            [UInt8](copying: value) == Array("value of 60".utf8), "its value")
                    }
                }
            }
        },
        Fact("walks, cursors and look-ups inside a walk have their own places") { subject in
            try withRows(subject) { engine, _, numbers in
                try engine.read { reader in
                    let (outer, inner) = (
                        try reader.cursor(in: numbers), try reader.cursor(in: numbers)
                    )
                    try expect(try outer.seekToFirst(), "it has rows")
                    var pairs: [String] = []
                    let seen = try walk(outer, { _ in .lend }) { key in
                        try expect(try inner.seekToFirst(), "it has rows, too")
                        let stopped = try walk(inner, { $0 > key ? .stop : .lend })
                        try expect(stopped.stopped == (key < 60), "the inner one stops by itself")
                        pairs.append("\(key): \(stopped.came.joined(separator: " "))")
                        let value = try reader.value(forKey: key, in: numbers)
                        try expect(value == Array("value of \(key)".utf8), "a look-up finds it")
                    }
                    try expect(seen.came == ["20!", "40!", "60!"], "the outer one has all rows")
                    try expect(
                        pairs == ["20: 20! 40", "40: 20! 40! 60", "60: 20! 40! 60!"],
                        "the inner one has those up to its own end")
                }
            }
        },
        Fact("walks from any key agree with the sorted keys") { subject in
            for round in 0..<24 {
                var random = SeededGenerator(state: UInt64(round))
                try subject.withEngine { engine in
                    let numbers = engine.store(.numbers)
                    let rows = try fill(engine, numbers, &random)
                    try engine.read { reader in
                        for _ in 0..<12 { try compareWalk(reader, numbers, rows, &random) }
                    }
                    try engine.write { writer in
                        for _ in 0..<4 { try compareWalk(writer, numbers, rows, &random) }
                    }
                }
            }
        },
    ]
}
