// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// What becomes of conflicts whose resolver throws.
@Suite(.timeLimit(.minutes(10))) struct FailingResolverTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    private struct Refusal: Error {}

    /// Throws while it is told to, and counts how often it is asked.
    private final class Moody: ConflictResolver {
        let throwing = Mutex(true)
        let asked = Mutex(0)

        func resolve(_ conflict: Conflict) throws -> ConflictResolution {
            asked.withLock { $0 += 1 }
            if throwing.withLock({ $0 }) { throw Refusal() }
            return .keep(conflict.winner)
        }
    }

    /// Documents that were edited at both ends.
    private func conflicts(_ count: Int) throws {
        try here.inBatch {
            for n in 0..<count {
                try here.putExistingRevision("d\(n)", ["n": 1], history: ["1-a"])
            }
        }
        try there.inBatch {
            for n in 0..<count {
                try there.putExistingRevision("d\(n)", ["n": 2], history: ["1-b"])
            }
        }
    }

    private func pull(_ resolver: some ConflictResolver) -> Replication {
        here.makePullReplication(from: there) { $0.conflictResolver = resolver }
    }

    @Test func `a conflict whose resolver throws is told of, and is no refusal`() async throws {
        try conflicts(2)
        let pull = pull(Moody())
        let events = Mutex<[ReplicatedDocument]>([])
        let token = pull.addDocumentListener { event in events.withLock { $0.append(event) } }
        let summary = try await pull.run()
        await pull.listenersCaughtUp()
        token.remove()
        #expect(summary.transferred == 2)
        #expect(summary.refused == 0)
        #expect(summary.documentErrors.map(\.code) == [.conflictUnresolved, .conflictUnresolved])
        #expect(Set(summary.documentErrors.map(\.documentID)) == ["d0", "d1"])
        #expect(summary.documentErrors.allSatisfy { $0.underlying is Refusal })
        #expect(pull.lastError?.code == .conflictUnresolved)
        #expect(pull.failure == nil)
        let failed = events.withLock { $0.filter { $0.error?.code == .conflictUnresolved } }
        #expect(Set(failed.map(\.id)) == ["d0", "d1"])
        #expect(try here.conflictCount == 2)
    }

    @Test func `the next run tries again, also without news, and the error is over`() async throws {
        try conflicts(3)
        let resolver = Moody()
        let pull = pull(resolver)
        try await pull.run()
        #expect(try await pull.run().documentErrors.count == 3)
        #expect(resolver.asked.withLock { $0 } == 6)
        resolver.throwing.withLock { $0 = false }
        let summary = try await pull.run()
        #expect(summary.documentErrors.isEmpty)
        #expect(pull.lastError == nil)
        #expect(try here.conflictCount == 0)
        #expect(resolver.asked.withLock { $0 } == 9)
    }

    @Test func `a conflict that was left is ended after a restart, by another resolver`()
        async throws
    {
        let folder = try ScratchDirectory()
        let there = try Database.inMemory(named: "there")
        try there.putExistingRevision("a", ["n": 2], history: ["1-b"])
        var options = DatabaseOptions()
        options.create = true
        let url = URL(filePath: folder.path).appending(path: "here.divan")
        do {
            let here = try Database.open(at: url, options: options)
            defer { here.close() }
            try here.putExistingRevision("a", ["n": 1], history: ["1-a"])
            try await here.makePullReplication(from: there) {
                $0.conflictResolver = Moody()
            }.run()
            #expect(try here.conflictCount == 1)
        }
        let here = try Database.open(at: url, options: options)
        defer { here.close() }
        let summary = try await here.makePullReplication(from: there) {
            $0.conflictResolver = .keepWinner
        }.run()
        #expect(summary.documentErrors.isEmpty)
        #expect(try here.conflictCount == 0)
    }

    @Test func `a run asks a resolver that always throws once for each arrival`() async throws {
        try conflicts(300)
        let resolver = Moody()
        let pull = here.makePullReplication(from: there) {
            $0.conflictResolver = resolver
            $0.isContinuous = true
            $0.revisionsPerFetch = 10
        }
        pull.start()
        await eventually { pull.activity == .idle && resolver.asked.withLock { $0 } == 300 }
        #expect(resolver.asked.withLock { $0 } == 300)
        // Of a document that changes it is asked again, and of no other.
        try there.update("d7") { $0["n"] = 3 }
        await eventually { resolver.asked.withLock { $0 } > 300 }
        try there.put("new", [:], parent: nil)
        try await eventually { try here.contains("new") }
        #expect(resolver.asked.withLock { $0 } == 301)
        // What the app ends by itself is over with the next run.
        try here.resolveConflicts(with: .keepWinner)
        await pull.stopAndWait()
        #expect(
            try await pull.database.makePullReplication(from: there) {
                $0.conflictResolver = resolver
            }.run().documentErrors.isEmpty)
        #expect(resolver.asked.withLock { $0 } == 301)
    }

    @Test func `so many conflicts stay noted and no more`() async throws {
        let resolver = Moody()
        try conflicts(3)
        try await here.makePullReplication(from: there).run()
        var reception = Reception(source: "there")
        reception.resolver = resolver
        reception.noteID = "note"
        reception.noteLimit = 2
        // What is not in conflict, or not there, is over.
        try here.putLocalDocument("note", ["ids": ["none", "d0", "d1", "d2"]])
        for _ in 1...3 { try await reception.resolveNoted(in: here) }
        #expect(try here.localDocument("note")?["ids"] == ["d0", "d1"])
        #expect(resolver.asked.withLock { $0 } == 3)
    }
}
