// SPDX-License-Identifier: Apache-2.0

import DivanStorage

extension StorageConformance {
    /// Fills a store with b, d, f, and with 20, 40, 60.
    private static func withRows(
        _ subject: EngineUnderTest,
        _ body: (_ engine: any StorageEngine, _ texts: Store, _ numbers: Store) throws -> Void
    ) throws {
        try subject.withEngine { engine in
            let (texts, numbers) = (engine.store(.texts), engine.store(.numbers))
            try engine.write { writer in
                for key in ["d", "f", "b"] {
                    try writer.set("value of " + key, key, in: texts)
                }
                for key: Int64 in [40, 60, 20] {
                    try writer.set("value of \(key)", key, in: numbers)
                }
            }
            try body(engine, texts, numbers)
        }
    }

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

    static let cursorFacts = [
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
        Fact("byte-string keys are in bytewise order") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                let keys: [[UInt8]] = [
                    [], [0], [0, 0], [0, 1], [1], [1, 255], [127], [128], [255], [255, 0],
                ]
                try engine.write { writer in
                    for key in keys.shuffled() {
                        try writer.set(key.span, forKey: key.span, in: texts)
                    }
                }
                let rows = try engine.read { try $0.rows(in: texts) }
                try expect(rows.map(\.key) == keys, "the order is bytewise")
                try expect(rows.map(\.value) == keys, "each key has its value")
            }
        },
        Fact("seeking finds the nearest key on either side") { subject in
            try withRows(subject) { engine, texts, numbers in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: texts)
                    try expect(try cursor.seek(toAtLeast: "c") && cursor.text == "d", "c up is d")
                    try expect(try cursor.seek(toAtLeast: "d") && cursor.text == "d", "d up is d")
                    try expect(try !cursor.seek(toAtLeast: "g"), "nothing above")
                    try expect(try cursor.seek(toAtMost: "e") && cursor.text == "d", "e down is d")
                    try expect(try cursor.seek(toAtMost: "f") && cursor.text == "f", "f down is f")
                    try expect(try !cursor.seek(toAtMost: "a"), "nothing below")
                    try expect(try cursor.seekToFirst() && cursor.text == "b", "first is b")
                    try expect(try cursor.seekToLast() && cursor.text == "f", "last is f")
                    let other = try reader.cursor(in: numbers)
                    try expect(try other.seek(toAtLeast: 21) && other.integerKey == 40, "21 up")
                    try expect(try other.seek(toAtMost: 59) && other.integerKey == 40, "59 down")
                    try expect(try !other.seek(toAtLeast: 61), "nothing above")
                    try expect(try !other.seek(toAtMost: 19), "nothing below")
                }
            }
        },
        Fact("a cursor goes both ways and turns on the spot") { subject in
            try withRows(subject) { engine, texts, numbers in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: texts)
                    try expect(try cursor.seekToFirst() && cursor.next(), "b, then d")
                    try expect(try cursor.previous() && cursor.text == "b", "back to b")
                    try expect(try cursor.next() && cursor.text == "d", "on to d")
                    try expect(try cursor.next() && cursor.text == "f", "on to f")
                    try expect(try !cursor.next(), "no more")
                    try expect(try !cursor.previous(), "nowhere until it seeks")
                    let other = try reader.cursor(in: numbers)
                    try expect(try other.seekToLast() && other.previous(), "60, then 40")
                    try expect(try other.next() && other.integerKey == 60, "back to 60")
                    try expect(try other.previous() && other.integerKey == 40, "on to 40")
                    try expect(try other.previous() && other.integerKey == 20, "on to 20")
                    try expect(try !other.previous(), "no more")
                }
            }
        },
        Fact("a cursor at the ends of the integers stops there") { subject in
            try subject.withEngine { engine in
                let numbers = engine.store(.numbers)
                try engine.write { writer in
                    try writer.set("", .min, in: numbers)
                    try writer.set("", .max, in: numbers)
                    let cursor = try writer.cursor(in: numbers)
                    try expect(try cursor.seek(toAtMost: .max) && !cursor.next(), "max is last")
                    try expect(
                        try cursor.seek(toAtLeast: .min) && !cursor.previous(), "min is first")
                }
            }
        },
        Fact("a cursor that stands nowhere has no key and no value") { subject in
            try withRows(subject) { engine, texts, _ in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: texts)
                    try expectError(.misuse) { try cursor.withKey { _ in } }
                    try expectError(.misuse) { try cursor.withValue { _ in } }
                }
            }
        },
        Fact("two cursors of one store do not disturb each other") { subject in
            try withRows(subject) { engine, texts, _ in
                try engine.read { reader in
                    let (first, second) = (
                        try reader.cursor(in: texts), try reader.cursor(in: texts)
                    )
                    try expect(try first.seekToFirst() && second.seekToFirst(), "both at b")
                    try expect(try second.next() && second.next(), "one goes to f")
                    try expect(try first.text == "b" && second.text == "f", "the other stays")
                    try first.withValue { _ in
                        try expect(try reader.text("f", in: texts) != nil, "reads nest")
                        try expect(try reader.contains(key: [98].span, in: texts), "reads nest")
                    }
                }
            }
        },
        Fact("forty cursors of one store stand where each was put, again and again") { subject in
            try withRows(subject) { engine, texts, _ in
                for _ in 0..<3 {
                    try engine.write { writer in
                        let cursors = try (0..<40).map { _ in try writer.cursor(in: texts) }
                        for (number, cursor) in cursors.enumerated() {
                            let isFirst = number.isMultiple(of: 2)
                            let found = try isFirst ? cursor.seekToFirst() : cursor.seekToLast()
                            try expect(found, "each finds a row")
                        }
                        let last = try cursors[1].text
                        for (number, cursor) in cursors.enumerated() {
                            let expected = number.isMultiple(of: 2) ? "b" : last
                            try expect(try cursor.text == expected, "each has its own row")
                        }
                        // What was kept of them is of no use to a store that is made again.
                        try writer.drop(texts)
                        try writer.set("new", "b", in: texts)
                        try writer.set("new", last, in: texts)
                    }
                }
            }
        },
        Fact("a cursor goes on over rows that are changed under it") { subject in
            try withRows(subject) { engine, texts, _ in
                try engine.write { writer in
                    let cursor = try writer.cursor(in: texts)
                    try expect(try cursor.seekToFirst() && cursor.text == "b", "at b")
                    _ = try writer.remove("b", in: texts)
                    _ = try writer.remove("d", in: texts)
                    try writer.set("new", "e", in: texts)
                    try expect(try cursor.text == "b", "the row it stands on is kept")
                    try expect(try cursor.next() && cursor.text == "e", "to the nearest there is")
                    try expect(try cursor.previous() == false, "nothing below e is left")
                }
            }
        },
        Fact("a cursor outlives the dropping of stores") { subject in
            try withRows(subject) { engine, texts, numbers in
                try engine.write { writer in
                    let cursor = try writer.cursor(in: texts)
                    try expect(try cursor.seekToFirst(), "at b")
                    try writer.drop(numbers)
                    try expect(try cursor.text == "b", "still at b")
                    try expect(try cursor.next() && cursor.text == "d", "on to d")
                    try writer.drop(texts)
                    try expect(try cursor.text == "d", "the row is kept")
                    try expect(try !cursor.next(), "and the last")
                }
            }
        },
        Fact("a cursor, reader or writer is of no use after its transaction") { subject in
            try withRows(subject) { engine, texts, _ in
                var cursor: (any StorageCursor)?
                var escaped: (any StorageReader)?
                try engine.read { reader in
                    escaped = reader
                    cursor = try reader.cursor(in: texts)
                    _ = try cursor?.seekToFirst()
                }
                try expectError(.misuse) { _ = try cursor?.seekToFirst() }
                try expectError(.misuse) { _ = try escaped?.text("b", in: texts) }
                try expect(try cursor?.next() != true, "it stands nowhere")
            }
        },
    ]
}
