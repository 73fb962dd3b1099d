// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct CompactionTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test func `old bodies go and revision IDs stay`() throws {
        let first = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        #expect(try database.document(withID: "a", revision: first.revisionID)?["n"].int == 1)
        #expect(try database.compact().bodiesDeleted == 1)
        #expect(
            code { try database.document(withID: "a", revision: first.revisionID) }
                == .revisionNotFound)
        #expect(try database.revisionHistory(of: "a").last == first.revisionID)
        #expect(try database.existing("a")["n"].int == 2)
        #expect(try database.problems() == [])
    }

    @Test func `nothing is compacted until it is asked for`() throws {
        let first = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        database.close()
        let again = try sandbox.database()
        #expect(try again.document(withID: "a", revision: first.revisionID)?["n"].int == 1)
    }

    @Test func `the body of a conflicting leaf stays until the conflict is resolved`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        #expect(try database.compact().bodiesDeleted == 0)
        let loser = try #require(try database.document(withID: "a", revision: "1-0"))
        #expect(loser["n"].int == 2)
        try database.delete(loser)
        #expect(try database.compact().bodiesDeleted == 1)
        #expect(code { try database.document(withID: "a", revision: "1-0") } == .revisionNotFound)
        #expect(try database.problems() == [])
    }

    @Test func `the file shrinks`() throws {
        let filler = JSONValue.string(String(repeating: "x", count: 4_000))
        try database.inBatch {
            for number in 0..<500 { try database.create("\(number)", ["f": filler]) }
        }
        try database.inBatch {
            for number in 0..<500 { try database.update("\(number)") { $0["f"] = nil } }
        }
        try database.compact { _ in }
        let small = try database.diskSize
        try database.inBatch {
            for number in 0..<500 {
                try database.update("\(number)") { $0.setValue(filler, forKey: "f") }
            }
        }
        try database.inBatch {
            for number in 0..<500 { try database.update("\(number)") { $0["f"] = nil } }
        }
        let large = try database.diskSize
        let result = try database.compact()
        #expect(result.bodiesDeleted == 1_000)
        #expect(result.bytesFreed > 1_000_000)
        #expect(try database.diskSize == large - result.bytesFreed)
        #expect(try database.diskSize < small + 500_000)
        #expect(try database.problems() == [])
    }

    @Test func `large bodies go in all their pieces`() throws {
        let text = JSONValue.string(String(repeating: "x", count: 700_000))
        try database.create("a", ["t": text])
        try database.update("a") { $0["t"] = nil }
        try database.compact()
        var rows = 0
        try database.inspect(store: "largeBodies") { _ in rows += 1 }
        #expect(rows == 0)
    }

    @Test func `compacting twice finds nothing the second time`() throws {
        try database.create("a")
        for number in 0..<5 { try database.update("a") { $0["n"] = Fragment(number) } }
        #expect(try database.compact().bodiesDeleted == 5)
        #expect(try database.compact().bodiesDeleted == 0)
    }

    @Test func `progress is reported and throwing stops the work`() throws {
        try database.create("a")
        for number in 0..<5 { try database.update("a") { $0["n"] = Fragment(number) } }
        #expect(throws: Whim()) { try database.compact { _ in throw Whim() } }
        #expect(try database.problems() == [])
        var reports: [WorkProgress] = []
        try database.compact { reports.append($0) }
        #expect(reports.first?.phase == "deleting old bodies")
        #expect(reports.first?.total == 5)
        #expect(reports.contains { $0.completed == 5 })
        #expect(try database.problems() == [])
    }

    @Test func `others write between the steps of a compaction`() throws {
        for number in 0..<50 { try database.create("\(number)") }
        for number in 0..<50 { try database.update("\(number)") { $0["n"] = 1 } }
        var writes = 0
        try database.compact { [database] _ in
            writes += 1
            let number = writes
            _ = try Running { try database.create("during-\(number)") }.value()
        }
        #expect(writes > 0)
        #expect(try database.documentCount == 50 + writes)
        #expect(try database.problems() == [])
    }

    @Test func `a cancelled compaction leaves a sound database`() async throws {
        let database = database
        try database.inBatch {
            for number in 0..<50 {
                try database.create("\(number)")
                try database.update("\(number)") { $0["n"] = 1 }
            }
        }
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await database.perform { try $0.compact() }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(try database.problems() == [])
        #expect(try database.compact().bodiesDeleted == 50)
    }
}
