// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// The suspending forms: they do what the blocking ones do, and can be cancelled.
@Suite struct AsyncTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    // MARK: - The same verbs

    @Test func `every verb that writes has a suspending form that does the same`() async throws {
        let saved = try await database.save(MutableDocument(["n": 1], id: "a")).document
        let updated = try await database.update("a") { $0["n"] = 2 }
        let put = try await database.put("a", ["n": 3], parent: updated.revisionID)
        #expect([saved, updated, put].map(\.generation) == [1, 2, 3])
        #expect(try await database.putExistingRevision("a", history: ["1-x"], ["n": 4]))
        #expect(try await database.purge("a", revisions: ["1-x"]) == ["1-x"])
        let stale = saved.toMutable()
        stale["n"] = 5
        #expect(try await database.save(stale, conflictHandler: { _, _ in false }) == nil)
        #expect(await code { try await database.delete(saved, .failOnConflict) } == .conflict)
        #expect(try await database.delete("a").generation == 4)
        #expect(try await database.purge("a"))
        try await database.putLocalDocument("mark", ["at": 7])
        #expect(try await database.localDocument("mark") == ["at": 7])
        try await database.deleteLocalDocument("mark")
        #expect(try await database.localDocument("mark") == nil)
        for resolution in 0..<2 {
            try await database.putExistingRevision("c", history: ["1-x"], ["n": 1])
            try await database.putExistingRevision("c", history: ["1-y"], ["n": 2])
            let conflict = try #require(try await database.conflict(of: "c"))
            if resolution == 0 {
                #expect(try await database.resolve(conflict, by: .save(["n": 3]))["n"].int == 3)
            } else {
                let kept = try await database.resolveConflicts(of: "c", with: .keepWinner)
                #expect(kept == conflict.winner)
            }
            try await database.purge("c")
        }
        try await database.setMaxRevTreeDepth(3)
        #expect(try database.maxRevTreeDepth == 3)
        try await database.sync()
    }

    @Test func `every verb that reads has a suspending form that does the same`() async throws {
        let first = try await database.save(MutableDocument(["n": 1], id: "a")).document
        try await database.putExistingRevision("a", history: ["1-0"], ["n": 2])
        #expect(try await database.document(withID: "a") == first)
        #expect(
            try await database.document(withID: "a", revision: "1-0")?.properties == ["n": 2])
        #expect(try await database.contains("a"))
        #expect(try await database.revisionTree(of: "a")?.leaves.count == 2)
        #expect(try await database.revisionHistory(of: "a") == [first.revisionID])
        #expect(try await database.conflictingRevisions(of: "a").count == 2)
        #expect(try await database.leafRevisions(of: "a").count == 2)
        #expect(try await database.hasConflicts())
        let conflict = try #require(try await database.conflict(of: "a"))
        #expect(conflict.leaves.count == 2)
        database.setFilter(named: "all") { _, _ in true }
        #expect(try await database.changes(filter: "all").changes.map(\.id) == ["a"])
        #expect(try await database.changes().changes.map(\.id) == ["a"])
        #expect(try await database.allDocuments().map(\.id) == ["a"])
        let found = Record<String>()
        try await database.forEachDocument { row in found.append(row.id) }
        #expect(found.all == ["a"])
    }

    @Test func `long work has suspending forms`() async throws {
        try await database.save(MutableDocument(["n": 1], id: "a"))
        try await database.update("a") { $0["n"] = 2 }
        #expect(try await database.verify().isEmpty)
        #expect(try await database.compact().bodiesDeleted == 1)
        let (source, target) = (sandbox.url(), sandbox.url("copy"))
        database.close()
        #expect(try await Database.salvage(from: source, to: target).documentsCopied == 1)
        let copy = try await Database.open(at: target)
        #expect(try await copy.document(withID: "a")?["n"].int == 2)
        try await copy.delete()
        #expect(await code { _ = try await Database.open(at: target) } == .databaseNotFound)
    }

    // MARK: - Actors

    @MainActor @Test func `the edit of an update runs where the caller runs`() async throws {
        try await database.save(MutableDocument(["n": 1], id: "a"))
        // Not Sendable: this would not compile if the closure left the actor.
        var seen: [Int] = []
        try await database.update("a") { document in
            MainActor.preconditionIsolated()
            seen.append(document.int(forKey: "n"))
            document["n"] = 2
        }
        #expect(seen == [1])
    }

    @Test func `updates of many tasks are all there`() async throws {
        let database = database
        try await database.save(MutableDocument(["n": 0], id: "a"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<5 {
                        try await database.update("a") {
                            $0.set($0.int(forKey: "n") + 1, forKey: "n")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.document(withID: "a")?["n"].int == 40)
    }

    @Test func `an edit that throws leaves the document as it was`() async throws {
        try await database.save(MutableDocument(["n": 1], id: "a"))
        await #expect(throws: Whim()) {
            try await database.update("a") { document in
                document["n"] = 2
                throw Whim()
            }
        }
        #expect(try await database.document(withID: "a")?["n"].int == 1)
    }

    // MARK: - Cancellation

    @Test func `whatever waits for the writer can be cancelled and has then done nothing`()
        async throws
    {
        let database = database
        try await database.save(MutableDocument(["n": 1], id: "a"))
        let (inside, end) = (Gate(), Gate())
        let batch = Running {
            try database.inBatch {
                inside.open()
                end.wait()
            }
        }
        inside.wait()
        let waiting: [Task<Void, any Error>] = [
            Task { try await database.update("a") { $0["n"] = 2 } },
            Task { try await database.delete("a") },
            Task { _ = try await database.purge("a") },
            Task { _ = try await database.put("b", [:], parent: nil) },
            Task { _ = try await database.putExistingRevision("c", history: ["1-a"], [:]) },
            Task { try await database.putLocalDocument("d", [:]) },
        ]
        for task in waiting { task.cancel() }
        end.open()
        _ = try batch.value()
        for task in waiting {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(try await database.document(withID: "a")?["n"].int == 1)
        #expect(try await database.read { try $0.lastSequence } == 1)
        #expect(try await database.localDocument("d") == nil)
    }

    @Test func `an enumeration stops when its task is cancelled`() async throws {
        let database = database
        try await database.inBatch {
            for number in 0..<100 { try database.save(MutableDocument(id: "\(number)")) }
        }
        let (began, goOn) = (Gate(), Gate())
        let seen = Record<String>()
        let task = Task {
            try await database.forEachDocument { row in
                seen.append(row.id)
                began.open()
                goOn.wait()
            }
        }
        began.wait()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(seen.all.count == 1)
    }

    @Test func `a cancelled task begins no long work`() async throws {
        let database = database
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect(throws: CancellationError.self) { _ = try await database.verify() }
            await #expect(throws: CancellationError.self) { try await database.compact() }
            await #expect(throws: CancellationError.self) { _ = try await database.allDocuments() }
            await #expect(throws: CancellationError.self) { _ = try await database.changes() }
        }
        task.cancel()
        await task.value
    }
}
