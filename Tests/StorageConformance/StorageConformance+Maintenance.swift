// SPDX-License-Identifier: Apache-2.0

import DivanStorage

extension StorageConformance {
    private static func fill(
        _ engine: any StorageEngine, _ count: Int64, of size: Int = 1_000
    ) throws -> Store {
        let numbers = engine.store(.numbers)
        let value = [UInt8](repeating: 1, count: size)
        try engine.write { writer in
            for key in 0..<count {
                try writer.set(value.span, forKey: key, in: numbers)
            }
        }
        return numbers
    }

    static let maintenanceFacts = [
        Fact("a copy holds one snapshot, while others write") { subject in
            try subject.withEngine { engine in
                let numbers = try fill(engine, 5_000)
                let directory = try subject.makeDirectory()
                var steps = 0
                try engine.copy(to: directory) { progress in
                    steps += 1
                    try expect(progress.completed <= progress.total, "progress is within bounds")
                    try engine.write { try $0.set("late", Int64(steps), in: numbers) }
                }
                try expect(steps > 0, "progress was reported")
                let copy = try subject.open(directory)
                defer { copy.close() }
                let copied = copy.store(.numbers)
                try copy.read { reader in
                    try expect(try reader.count(of: copied) == 5_000, "all rows are there")
                    try expect(try reader.text(1, in: copied) != "late", "as of the beginning")
                }
                try expect(try copy.verifyStructure(progress: nil).isEmpty, "it is sound")
            }
        },
        Fact("a copy that is stopped leaves nothing") { subject in
            try subject.withEngine { engine in
                _ = try fill(engine, 5_000)
                let directory = try subject.makeDirectory()
                do {
                    try engine.copy(to: directory) { _ in throw Refusal() }
                    throw Violation(description: "Expected that the copy stops.")
                } catch is Refusal {}
                try engine.copy(to: directory, progress: nil)
                try expectError(.misuse) { try engine.copy(to: directory, progress: nil) }
            }
        },
        Fact("compaction gives space back and changes nothing") { subject in
            try subject.withEngine { engine in
                let numbers = try fill(engine, 20_000)
                try engine.write { writer in
                    for key: Int64 in 0..<20_000 where key % 10 != 0 {
                        _ = try writer.remove(key: key, in: numbers)
                    }
                }
                let before = try engine.diskSize()
                let used = try engine.usedSize()
                if subject.isPersistent {
                    try expect(used < before - 10 << 20, "free pages hold nothing")
                }
                let reclaimed = try engine.compact { progress in
                    try expect(progress.completed <= progress.total, "progress is within bounds")
                }
                try expect(reclaimed > 10 << 20, "\(reclaimed) bytes are reclaimed")
                if subject.isPersistent {
                    try expect(try engine.diskSize() < before - 10 << 20, "the files shrink")
                }
                try expect(try engine.read { try $0.count(of: numbers) } == 2_000, "rows stay")
                try expect(try engine.verifyStructure(progress: nil).isEmpty, "it is sound")
                try expect(try engine.compact(progress: nil) == 0, "then there is nothing left")
            }
        },
        Fact("compaction that is stopped loses nothing") { subject in
            try subject.withEngine { engine in
                let numbers = try fill(engine, 20_000)
                try engine.write { writer in
                    for key: Int64 in 0..<18_000 {
                        _ = try writer.remove(key: key, in: numbers)
                    }
                }
                do {
                    _ = try engine.compact { _ in throw Refusal() }
                } catch is Refusal {}
                try expect(try engine.read { try $0.count(of: numbers) } == 2_000, "rows stay")
                try expect(try engine.verifyStructure(progress: nil).isEmpty, "it is sound")
            }
        },
        Fact("verification reads every row and finds nothing wrong") { subject in
            try subject.withEngine { engine in
                _ = try fill(engine, 25_000, of: 50)
                var calls = 0
                let problems = try engine.verifyStructure { _ in calls += 1 }
                try expect(problems.isEmpty, "there is no problem: \(problems)")
                try expect(calls >= 2, "progress was reported")
            }
        },
    ]
}
