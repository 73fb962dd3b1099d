// SPDX-License-Identifier: Apache-2.0

import DivanStorage

extension StorageConformance {
    static let valueFacts = [
        Fact("a value that was set is there, and replaced by the next") { subject in
            try subject.withEngine { engine in
                let (texts, numbers) = (engine.store(.texts), engine.store(.numbers))
                try engine.write { writer in
                    try writer.set("one", "a", in: texts)
                    try writer.set("eins", 1, in: numbers)
                    try expect(try writer.text("a", in: texts) == "one", "the writer sees it")
                    try writer.set("two", "a", in: texts)
                    try writer.set("zwei", 1, in: numbers)
                }
                try engine.read { reader in
                    try expect(try reader.text("a", in: texts) == "two", "bytes are replaced")
                    try expect(try reader.text(1, in: numbers) == "zwei", "numbers are replaced")
                    try expect(try reader.text("b", in: texts) == nil, "another key is absent")
                    try expect(try reader.text(2, in: numbers) == nil, "another key is absent")
                }
            }
        },
        Fact("insert leaves a value that is there") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { writer in
                    try expect(try writer.insert("one", "a", in: texts), "the first goes in")
                    try expect(try !writer.insert("two", "a", in: texts), "the second does not")
                    try expect(try writer.text("a", in: texts) == "one", "the first stays")
                }
            }
        },
        Fact("remove says whether there was a value") { subject in
            try subject.withEngine { engine in
                let (texts, numbers) = (engine.store(.texts), engine.store(.numbers))
                try engine.write { writer in
                    try expect(try !writer.remove("a", in: texts), "a missing store has none")
                    try writer.set("one", "a", in: texts)
                    try writer.set("one", 1, in: numbers)
                    try expect(try writer.remove("a", in: texts), "it was there")
                    try expect(try !writer.remove("a", in: texts), "it is gone")
                    try expect(try writer.remove(key: 1, in: numbers), "it was there")
                    try expect(try writer.count(of: texts) == 0, "nothing is left")
                }
            }
        },
        Fact("a store that was never written to reads as empty") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.read { reader in
                    try expect(try reader.text("a", in: texts) == nil, "no value")
                    try expect(try reader.count(of: texts) == 0, "no rows")
                    try expect(try !reader.cursor(in: texts).seekToFirst(), "no first row")
                    try expect(try reader.storeNames().isEmpty, "no store")
                }
            }
        },
        Fact("empty keys and empty values are kept") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { writer in
                    try writer.set("", "", in: texts)
                    try writer.set("", "a", in: texts)
                }
                try engine.read { reader in
                    try expect(try reader.text("", in: texts) == "", "the empty key is there")
                    try expect(try reader.text("a", in: texts) == "", "the empty value is there")
                    try expect(try reader.texts(in: texts) == ["", "a"], "in order")
                }
            }
        },
        Fact("integer keys reach from the least to the greatest") { subject in
            try subject.withEngine { engine in
                let numbers = engine.store(.numbers)
                let keys: [Int64] = [.min, -1, 0, 1, .max]
                try engine.write { writer in
                    for key in keys.reversed() {
                        try writer.set(String(key), key, in: numbers)
                    }
                }
                try engine.read { reader in
                    let values = try reader.rows(in: numbers).map(\.value)
                    let texts = values.map { String(decoding: $0, as: UTF8.self) }
                    try expect(texts == keys.map { String($0) }, "they are in order")
                }
            }
        },
        Fact("a value of 50 MB comes back as it was") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                var value = [UInt8](repeating: 7, count: 50 << 20)
                for position in stride(from: 0, to: value.count, by: 4_093) {
                    value[position] = UInt8(truncatingIfNeeded: position)
                }
                let key = Array("large".utf8)
                try engine.write { try $0.set(value.span, forKey: key.span, in: texts) }
                let copy = try engine.read { try $0.value(forKey: key.span, in: texts) }
                try expect(copy == value, "all bytes are the same")
            }
        },
        Fact("a chunked value can be read in parts") { subject in
            try subject.withEngine { engine in
                let chunked = ChunkedValues(store: engine.store(StoreName("large", .bytes)))
                let value = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
                try engine.write { writer in
                    try chunked.set(value.span, id: 5, in: writer)
                    try chunked.set([UInt8]().span, id: 6, in: writer)
                }
                try engine.read { reader in
                    try expect(try chunked.value(id: 5, in: reader) == value, "it is whole")
                    try expect(try chunked.value(id: 6, in: reader) == [], "it is empty")
                    try expect(try chunked.value(id: 7, in: reader) == nil, "there is none")
                    for range in [0..<1, 65_535..<65_537, 131_000..<199_999, 199_999..<300_000] {
                        var part: [UInt8] = []
                        _ = try chunked.withRange(range, id: 5, in: reader) {
                            part += [UInt8](copying: $0)
                        }
                        try expect(part == Array(value[range.clamped(to: 0..<200_000)]), "\(range)")
                    }
                }
                try engine.write { writer in
                    try expect(try chunked.remove(id: 5, in: writer), "it was there")
                    try expect(try chunked.value(id: 5, in: writer) == nil, "it is gone")
                }
            }
        },
    ]
}
