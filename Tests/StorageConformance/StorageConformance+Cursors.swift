// SPDX-License-Identifier: Apache-2.0

import DivanStorage

extension StorageConformance {
    /// Fills a store with b, d, f, and with 20, 40, 60.
    static func withRows(
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

    static let cursorFacts = [
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
        Fact("seeking the key below to go on upwards finds it, and goes both ways") { subject in
            try withRows(subject) { engine, texts, _ in
                try engine.read { reader in
                    let cursor = try reader.cursor(in: texts)
                    try expect(try cursor.seekAscending(toAtMost: "e"), "e down")
                    try expect(try cursor.text == "d" && cursor.next(), "is d, and one follows")
                    try expect(try cursor.text == "f" && !cursor.next(), "f, the last")
                    try expect(try cursor.seekAscending(toAtMost: "f"), "f down")
                    try expect(try cursor.text == "f" && cursor.previous(), "is f, one before")
                    try expect(try cursor.text == "d" && cursor.next(), "d, and back")
                    try expect(try cursor.text == "f", "to f")
                    try expect(try !cursor.seekAscending(toAtMost: "a"), "nothing below")
                    try expect(try !cursor.next(), "nowhere until it seeks")
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
