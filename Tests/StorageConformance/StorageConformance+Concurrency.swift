// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
import DivanStorage
internal import Synchronization

extension StorageConformance {
    /// Runs `bodies` on threads of their own and rethrows the first error.
    static func concurrently(_ bodies: [@Sendable () throws -> Void]) throws {
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: bodies.count) { number in
            do {
                try bodies[number]()
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let error = failure.withLock({ $0 }) {
            throw error
        }
    }

    static let concurrencyFacts = [
        Fact("readers see whole commits while a writer writes") { subject in
            try subject.withEngine { engine in
                let (left, right) = (engine.store(.texts), engine.store(.numbers))
                let isDone = Atomic(false)
                let write: @Sendable () throws -> Void = {
                    defer { isDone.store(true, ordering: .releasing) }
                    for round in 0..<500 {
                        try engine.write { writer in
                            try writer.set(String(round), "a", in: left)
                            try writer.set(String(round), Int64(round), in: right)
                            try writer.set(String(round), -1, in: right)
                        }
                    }
                }
                let read: @Sendable () throws -> Void = {
                    var last = -1
                    while !isDone.load(ordering: .acquiring) {
                        try engine.read { reader in
                            let here = try reader.text("a", in: left)
                            let there = try reader.text(-1, in: right)
                            try expect(here == there, "both stores are of one commit")
                            let round = Int(here ?? "-1") ?? -1
                            try expect(round >= last, "time does not go back")
                            let newest = try reader.text(Int64(round + 1), in: right)
                            try expect(newest == nil, "nothing later shows")
                            last = round
                        }
                    }
                }
                try concurrently([write, read, read, read])
            }
        },
        Fact("writers of several threads take turns") { subject in
            try subject.withEngine { engine in
                let numbers = engine.store(.numbers)
                let add: @Sendable () throws -> Void = {
                    for _ in 0..<100 {
                        try engine.write { writer in
                            let old = try writer.text(0, in: numbers).flatMap { Int($0) } ?? 0
                            try writer.set(String(old + 1), 0, in: numbers)
                        }
                    }
                }
                try concurrently([add, add, add, add])
                try expect(try engine.read { try $0.text(0, in: numbers) } == "400", "none is lost")
            }
        },
        Fact("two engines on one place see each other's commits and stores") { subject in
            guard subject.isPersistent else {
                return
            }
            let directory = try subject.makeDirectory()
            let (first, second) = (try subject.open(directory), try subject.open(directory))
            defer {
                first.close()
                second.close()
            }
            let (one, two) = (first.store(.texts), second.store(.texts))
            try expect(try second.read { try $0.text("a", in: two) } == nil, "nothing yet")
            try first.write { try $0.set("1", "a", in: one) }
            try expect(try second.read { try $0.text("a", in: two) } == "1", "seen")
            try second.write { try $0.set("2", "a", in: two) }
            try expect(try first.read { try $0.text("a", in: one) } == "2", "seen")
            try second.write { try $0.drop(two) }
            for _ in 0..<3 {
                try expect(
                    try first.read { try $0.text("a", in: one) } == nil, "gone for the other")
            }
            do {
                try first.write { writer in
                    try expect(try writer.text("a", in: one) == nil, "gone for a writer, too")
                    try writer.set("undone", "a", in: one)
                    try expect(try writer.text("a", in: one) == "undone", "made by this writer")
                    throw Refusal()
                }
            } catch is Refusal {}
            for engine in [(first, one), (second, two)] {
                let read = try engine.0.read { try $0.text("a", in: engine.1) }
                try expect(read == nil, "still gone after a write that was undone")
            }
            try first.write { try $0.set("3", "a", in: one) }
            try expect(try second.read { try $0.text("a", in: two) } == "3", "made again")
            let add: @Sendable (any StorageEngine, Store) throws -> Void = { engine, store in
                for round in 0..<100 {
                    try engine.write { try $0.set("x", "\(round)", in: store) }
                    _ = try engine.read { try $0.count(of: store) }
                }
            }
            try concurrently([{ try add(first, one) }, { try add(second, two) }])
            try expect(try first.read { try $0.count(of: one) } == 101, "all are there")
        },
        Fact("notes are true of each snapshot that has them, while two engines write") { subject in
            guard subject.isPersistent else {
                return
            }
            let directory = try subject.makeDirectory()
            let engines = [try subject.open(directory), try subject.open(directory)]
            defer { engines.forEach { $0.close() } }
            let kept = Atomic(0)
            let work: @Sendable (any StorageEngine) throws -> Void = { engine in
                let store = engine.store(.texts)
                for round in 0..<1_000 {
                    if round.isMultiple(of: 4) {
                        try engine.write { try $0.set("\(round)", "a", in: store) }
                    }
                    try engine.read { reader in
                        let text = try reader.text("a", in: store)
                        guard let note = reader.notes as? Note else {
                            return reader.notes = Note(text)
                        }
                        try expect(note.text == text, "a note tells what is there")
                        kept.add(1, ordering: .relaxed)
                    }
                }
            }
            try concurrently(engines.map { engine in { try work(engine) } })
            try expect(kept.load(ordering: .relaxed) > 0, "some notes are kept")
        },
        Fact("more readers than the limit wait their turn") { subject in
            try subject.withEngine { engine in
                let texts = engine.store(.texts)
                try engine.write { try $0.set("1", "a", in: texts) }
                let read: @Sendable () throws -> Void = {
                    for _ in 0..<50 {
                        try engine.read { reader in
                            try expect(try reader.text("a", in: texts) == "1", "it is there")
                        }
                    }
                }
                try concurrently(Array(repeating: read, count: 64))
            }
        },
    ]
}
