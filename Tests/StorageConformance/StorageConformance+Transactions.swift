// SPDX-License-Identifier: Apache-2.0

import DivanStorage

extension StorageConformance {
    static let transactionFacts = [
        Fact("a write that throws leaves no trace") { subject in
            try subject.withEngine { engine in
                let (texts, other) = (engine.store(.texts), engine.store(StoreName("b", .bytes)))
                try engine.write { try $0.set("one", "a", in: texts) }
                try refused(by: engine) { writer in
                    try writer.set("two", "a", in: texts)
                    try writer.set("two", "b", in: texts)
                    try writer.set("two", "b", in: other)
                    try writer.drop(texts)
                }
                try engine.read { reader in
                    try expect(try reader.text("a", in: texts) == "one", "the value is back")
                    try expect(try reader.count(of: texts) == 1, "alone")
                    try expect(try reader.storeNames() == [.texts], "no store was made")
                }
                try engine.write { try $0.set("three", "b", in: other) }
                try expect(try engine.read { try $0.text("b", in: other) } == "three", "then made")
            }
        },
        Fact("a savepoint that throws undoes only its own work") { subject in
            try subject.withEngine { engine in
                let (texts, other) = (engine.store(.texts), engine.store(StoreName("b", .bytes)))
                try engine.write { writer in
                    try writer.set("1", "a", in: texts)
                    try? writer.savepoint {
                        try writer.set("2", "a", in: texts)
                        try writer.set("2", "b", in: other)
                        try writer.savepoint { try writer.set("3", "c", in: texts) }
                        throw Refusal()
                    }
                    try writer.savepoint { try writer.set("4", "d", in: texts) }
                    try writer.set("5", "e", in: other)
                }
                try engine.read { reader in
                    try expect(try reader.texts(in: texts) == ["a", "d"], "a and d are there")
                    try expect(try reader.text("a", in: texts) == "1", "a is as before")
                    try expect(try reader.texts(in: other) == ["e"], "e is there")
                }
            }
        },
        Fact("a write inside a write is a savepoint of it") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { writer in
                    try writer.set("1", "a", in: texts)
                    try refused(by: engine) { try $0.set("2", "b", in: texts) }
                    try engine.write { try $0.set("3", "c", in: texts) }
                    let seen = try engine.read { try $0.texts(in: texts) }
                    try expect(seen == ["a", "c"], "a read inside sees the writes")
                }
                try refused(by: engine) { _ in
                    try engine.write { try $0.set("4", "d", in: texts) }
                }
                try expect(
                    try engine.read { try $0.texts(in: texts) } == ["a", "c"], "d is undone")
            }
        },
        Fact("a read sees the state in which it began") { subject in
            try subject.withEngine { engine in
                let (texts, later) = (
                    engine.store(.texts), engine.store(StoreName("later", .bytes))
                )
                try engine.write { try $0.set("old", "a", in: texts) }
                try engine.read { reader in
                    try engine.write { writer in
                        try writer.set("new", "a", in: texts)
                        try writer.set("new", "b", in: later)
                    }
                    try expect(try reader.text("a", in: texts) == "old", "the value is the old one")
                    try expect(try reader.text("b", in: later) == nil, "the store is not there yet")
                    let inner = try engine.read { try $0.text("a", in: texts) }
                    try expect(inner == "old", "a read inside a read sees the same")
                }
                try engine.read { reader in
                    try expect(try reader.text("a", in: texts) == "new", "the next read sees it")
                    try expect(try reader.text("b", in: later) == "new", "and the new store")
                }
            }
        },
        Fact("a dropped store is empty and can be written to again") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { try $0.set("1", "a", in: texts) }
                _ = try engine.read { try $0.count(of: texts) }
                try engine.write { writer in
                    try writer.drop(texts)
                    try expect(try writer.text("a", in: texts) == nil, "empty at once")
                    try writer.drop(texts)
                }
                try expect(try engine.read { try $0.count(of: texts) } == 0, "empty for readers")
                try expect(try engine.read { try $0.storeNames() }.isEmpty, "and gone")
                try engine.write { try $0.set("2", "b", in: texts) }
                try expect(try engine.read { try $0.texts(in: texts) } == ["b"], "made again")
            }
        },
        Fact("removeAll empties a store") { subject in
            try subject.withEngine { engine in
                let numbers = engine.store(.numbers)
                try engine.write { writer in
                    try writer.removeAll(in: numbers)
                    for key: Int64 in 0..<1_000 {
                        try writer.set("value", key, in: numbers)
                    }
                }
                try engine.write { try $0.removeAll(in: numbers) }
                try expect(try engine.read { try $0.count(of: numbers) } == 0, "nothing is left")
            }
        },
        Fact("a store that was looked for in vain is found once it exists") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.read { try expect(try $0.text("a", in: texts) == nil, "it is missing") }
                try engine.write { writer in
                    try expect(try writer.text("a", in: texts) == nil, "it is still missing")
                    try? writer.savepoint {
                        try writer.set("1", "a", in: texts)
                        throw StorageError(.misuse, "undone")
                    }
                    try expect(try writer.text("a", in: texts) == nil, "it is missing again")
                    try writer.set("2", "a", in: texts)
                    try expect(try writer.text("a", in: texts) == "2", "it is found")
                }
                try expect(try engine.read { try $0.text("a", in: texts) } == "2", "and kept")
                try engine.write { writer in
                    try writer.drop(texts)
                    try expect(try writer.text("a", in: texts) == nil, "it is gone")
                    try writer.set("3", "a", in: texts)
                }
                try expect(try engine.read { try $0.text("a", in: texts) } == "3", "and back")
            }
        },
        Fact("what was committed is there after reopening") { subject in
            guard subject.isPersistent else {
                return
            }
            let directory = try subject.makeDirectory()
            let first = try subject.open(directory)
            let store = first.store(.texts)
            try first.write(durably: true) { try $0.set("1", "a", in: store) }
            try first.sync()
            first.close()
            let second = try subject.open(directory)
            defer { second.close() }
            let texts = second.store(.texts)
            try expect(try second.read { try $0.text("a", in: texts) } == "1", "it is there")
            try expect(try second.read { try $0.storeNames() } == [.texts], "so is its store")
        },
        Fact("a suspended engine refuses work, and goes on where it was") { subject in
            guard subject.isPersistent else {
                return
            }
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { try $0.set("1", "a", in: texts) }
                try engine.suspend()
                try engine.suspend()
                try expectError(.suspended) { try engine.read { (_: any StorageReader) in } }
                try expectError(.suspended) { try engine.write { try $0.set("2", "a", in: texts) } }
                try expectError(.suspended) { try engine.sync() }
                try engine.resume()
                try engine.resume()
                try expect(try engine.read { try $0.text("a", in: texts) } == "1", "it is there")
                try engine.write { try $0.set("2", "a", in: texts) }
                try expectError(.misuse) { try engine.read { _ in try engine.suspend() } }
                try expectError(.misuse) { try engine.write { _ in try engine.suspend() } }
                try expect(try engine.read { try $0.text("a", in: texts) } == "2", "so is the next")
                try engine.suspend()
                engine.close()
                try expectError(.closed) { try engine.read { (_: any StorageReader) in } }
            }
        },
        Fact("a reader keeps notes until a transaction commits") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { try $0.set("1", "a", in: texts) }
                let note = Note("1")
                try engine.read { reader in
                    try expect(reader.notes == nil, "none are there yet")
                    reader.notes = note
                    try engine.read { try expect($0.notes === note, "a read inside has them") }
                }
                try engine.read { try expect($0.notes === note, "they are kept") }
                try engine.write { writer in
                    try expect(writer.notes == nil, "a writer has none")
                    writer.notes = note
                    try expect(writer.notes == nil, "and keeps none")
                    try writer.set("2", "a", in: texts)
                    try engine.read { try expect($0.notes == nil, "nor a read inside") }
                }
                try engine.read { reader in
                    try expect(reader.notes == nil, "a commit ends them")
                    reader.notes = note
                }
                try engine.write { try $0.drop(texts) }
                try engine.read { try expect($0.notes == nil, "a store that is dropped does, too") }
                var escaped: (any StorageReader)?
                try engine.read { reader in
                    reader.notes = note
                    escaped = reader
                }
                try expect(escaped?.notes == nil, "none after the transaction")
            }
        },
        Fact("a closed engine says so") { subject in
            let engine = try subject.open(subject.makeDirectory())
            let texts = engine.store(.texts)
            engine.close()
            engine.close()
            try expectError(.closed) { try engine.read { (_: any StorageReader) in } }
            try expectError(.closed) { try engine.write { try $0.set("1", "a", in: texts) } }
        },
    ]
}
