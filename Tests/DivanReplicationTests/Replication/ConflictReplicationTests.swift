// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// What two people who edit apart find when they meet.
@Suite(.timeLimit(.minutes(10))) struct ConflictReplicationTests {
    private func sync(_ database: Database, with server: Database) async throws {
        try await database.makePushReplication(to: server).run()
        try await database.makePullReplication(from: server).run()
    }

    private func leaves(_ database: Database) async throws -> [RevisionID] {
        try database.leafRevisions(of: "contact").map(\.revisionID)
    }

    @Test func `Molly and Naomi edit offline and find both edits, with one winner, after a sync`()
        async throws
    {
        let molly = try Database.inMemory(named: "molly")
        let naomi = try Database.inMemory(named: "naomi")
        let server = try Database.inMemory(named: "server")
        try molly.put("contact", ["name": "Ann", "phone": "1"], parent: nil)
        try await sync(molly, with: server)
        try await sync(naomi, with: server)
        try molly.update("contact") { $0["phone"] = "2" }
        try naomi.update("contact") { $0["name"] = "Anne" }
        for database in [molly, naomi, molly] { try await sync(database, with: server) }

        let all = try await leaves(server)
        #expect(all.count == 2)
        #expect(try await leaves(molly) == all)
        #expect(try await leaves(naomi) == all)
        for database in [molly, naomi, server] {
            #expect(try database.conflictCount == 1)
            let conflict = try #require(try database.conflict(of: "contact"))
            #expect(conflict.ancestor?["phone"].string == "1")
            let bodies = try all.map { revision in
                try database.document(withID: "contact", revision: revision)
            }
            #expect(Set(bodies.map { $0?["phone"].string }) == ["1", "2"])
            #expect(Set(bodies.map { $0?["name"].string }) == ["Ann", "Anne"])
            #expect(try database.document(withID: "contact")?.revisionID == all[0])
        }
        // Naomi merges, and all are one again.
        try naomi.resolveConflicts(of: "contact", with: .mergeFields)
        for database in [naomi, molly] { try await sync(database, with: server) }
        for database in [molly, naomi, server] {
            #expect(try database.conflictCount == 0)
            let merged = try #require(try database.document(withID: "contact"))
            #expect(merged["phone"].string == "2")
            #expect(merged["name"].string == "Anne")
        }
    }

    @Test func `a revision that a pull brings makes a stale save a conflict`() async throws {
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        try there.put("a", ["n": 1], parent: nil)
        let pull = here.makePullReplication(from: there)
        try await pull.run()
        let edited = try #require(try here.document(withID: "a")).toMutable()
        edited["mine"] = true
        try there.update("a") { $0["n"] = 2 }
        try await pull.run()
        do {
            try here.save(edited, .failOnConflict)
            Issue.record("The save overrode what the pull had brought.")
        } catch let error as DatabaseError { #expect(error.code == .conflict) }
        // An edit of the revision that is current now loses nothing.
        try here.update("a") { $0["mine"] = true }
        let document = try #require(try here.document(withID: "a"))
        #expect(document["n"].int == 2)
        #expect(document["mine"].bool == true)
        #expect(try here.conflictCount == 0)
    }

    @Test func `an app that writes while it is pulled into and pushed from loses no edit`()
        async throws
    {
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        let (push, pull) = here.sync(with: there)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (database, side) in [(here, "h"), (there, "t")] {
                group.addTask {
                    for n in 0..<60 {
                        let id: DocumentID = "\(side)\(n % 6)"
                        if n < 6 {
                            try database.put(id, ["count": 1], parent: nil)
                        } else {
                            try database.update(id) {
                                $0["count"] = Fragment(.integer(($0["count"].int64 ?? 0) + 1))
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for database in [here, there] {
            for id: DocumentID in ["h0", "h5", "t0", "t5"] {
                try await eventually { try database.document(withID: id)?["count"].int == 10 }
            }
            #expect(try database.conflictCount == 0)
        }
        await push.stopAndWait()
        await pull.stopAndWait()
    }

    @Test func `a deletion deletes the document at the other end`() async throws {
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        try here.put("a", ["n": 1], parent: nil)
        try await here.makePushReplication(to: there).run()
        #expect(try there.documentCount == 1)
        try here.delete("a")
        try await here.makePushReplication(to: there).run()
        #expect(try there.documentCount == 0)
        #expect(try there.document(withID: "a") == nil)
        #expect(
            try there.revisionHistory(of: "a") == here.revisionHistory(of: "a"))
    }

    @Test func `a conflict that the database could not store the end of for now is ended later`()
        async throws
    {
        struct Busy: ConflictResolver {
            let tries: Tries

            func resolve(_ conflict: Conflict) throws -> ConflictResolution {
                // Another process writes for longer than this one waits.
                if tries.count() == 1 { throw DatabaseError(.databaseBusy, "Not now.") }
                return MergeFields().resolve(conflict)
            }
        }
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        try there.put("a", ["n": 1], parent: nil)
        try here.put("a", ["n": 2], parent: nil)
        let resolver = Busy(tries: Tries())
        let pull = here.makePullReplication(from: there) {
            $0.conflictResolver = resolver
            $0.retry.firstDelay = .milliseconds(1)
        }
        try await pull.run()
        #expect(resolver.tries.count() > 2)
        #expect(try here.conflictCount == 0)
    }

    /// Counts calls.
    private final class Tries: Sendable {
        private let calls = Mutex(0)

        func count() -> Int {
            calls.withLock { calls in
                calls += 1
                return calls
            }
        }
    }
}
