// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// What the counts of a replication mean: changes compared, documents transferred, documents refused.
@Suite(.timeLimit(.minutes(10))) struct ReplicationProgressTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    private func fill(_ database: Database, _ ids: Range<Int>) throws {
        for n in ids { try database.put("d\(n)", ["n": .integer(Int64(n))], parent: nil) }
    }

    private func put(_ ids: String..., in database: Database) throws {
        for id in ids { try database.put(DocumentID(id), [:], parent: nil) }
    }

    /// A document with two leaves.
    private func putConflict(_ id: DocumentID, in database: Database) throws {
        let first = try database.put(id, ["n": 1], parent: nil)
        try database.put(id, ["n": 2], parent: first.revisionID)
        try database.put(id, ["n": 3], parent: first.revisionID, options: .allowConflict)
    }

    private func delete(_ id: String, in database: Database) throws {
        try database.delete(DocumentID(id))
    }

    private func leafCount(of id: DocumentID, in database: Database) throws -> Int {
        try database.leafRevisions(of: id).count
    }

    @Test func `what both ends have already is examined, and nothing is transferred`() async throws
    {
        try fill(here, 0..<10)
        try await here.makePushReplication(to: there).run()
        let push = here.makePushReplication(to: there) { $0.usesCheckpoints = false }
        let seen = Mutex<[ReplicationStatus]>([])
        let token = push.addStatusListener { status in seen.withLock { $0.append(status) } }
        let summary = try await push.run()
        #expect(summary.examined == 10)
        #expect(summary.transferred == 0 && summary.refused == 0)
        #expect(push.completedChangesCount == 0 && push.changesCount == 0)
        await eventually { seen.withLock { $0.last?.activity == .stopped } }
        #expect(seen.withLock { $0.allSatisfy { $0.transferred == 0 && $0.total == 0 } })
        // What is still to be examined is told apart from what is to be transferred.
        #expect(seen.withLock { $0.contains { $0.pending == 10 } })
        token.remove()
    }

    @Test func `the counts are of documents that were transferred, among all that were examined`()
        async throws
    {
        try fill(here, 0..<10)
        try await here.makePushReplication(to: there).run()
        try fill(here, 10..<13)
        try delete("d0", in: here)
        let push = here.makePushReplication(to: there) { $0.usesCheckpoints = false }
        let summary = try await push.run()
        #expect(summary.examined == 13)
        #expect(summary.transferred == 4)
        #expect(push.completedChangesCount == 4 && push.changesCount == 4)
        #expect(push.status.examined == 13 && push.status.pending == 0)
    }

    @Test func `a document with several leaves is one document`() async throws {
        try putConflict("a", in: here)
        let summary = try await here.makePushReplication(to: there).run()
        #expect(summary.examined == 1 && summary.transferred == 1)
        #expect(try leafCount(of: "a", in: there) == 2)
    }

    @Test func `what is refused is counted apart, and is no part of the whole`() async throws {
        try fill(here, 0..<5)
        there.setValidation(named: "small") { revision, context in
            if let n = revision["n"].int, n >= 3 { throw context.rejection("too large") }
        }
        let push = here.makePushReplication(to: there)
        let summary = try await push.run()
        #expect(summary.examined == 5 && summary.transferred == 3 && summary.refused == 2)
        #expect(push.status.refused == 2)
        #expect(push.completedChangesCount == 3 && push.changesCount == 3)
    }

    @Test func `what is tried again is counted once`() async throws {
        try put("a", "bad", "no", "z", in: there)
        here.setValidation(named: "no") { revision, context in
            if revision.id == "no" { throw context.rejection("not this one") }
        }
        let stand = CouchStandIn(there)
        stand.manner.withLock { $0.lacksBulkGet = true }
        let failures = Mutex(0)
        let server = try stand.serve { request, connection in
            guard request.target.hasPrefix("/db/bad") else { return false }
            let isFailing = failures.withLock { count in
                count += 1
                return count <= 2
            }
            guard isFailing else { return false }
            connection.respond(status: 500, body: Array(#"{"error":"unknown_error"}"#.utf8))
            return true
        }
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL) {
            $0.retry.firstDelay = .milliseconds(1)
            $0.proxy = .none
        }
        let summary = try await pull.run()
        #expect(failures.withLock { $0 } > 2)
        #expect(summary.transferred == 3 && summary.refused == 1)
        #expect(summary.documentErrors.map(\.documentID) == ["no"])
        #expect(pull.completedChangesCount == 3 && pull.status.refused == 1)
    }

    @Test func `both counts begin at zero when a replication gets to work after being idle`()
        async throws
    {
        try fill(here, 0..<10)
        let push = here.makePushReplication(to: there) { $0.isContinuous = true }
        let seen = Mutex<[ReplicationStatus]>([])
        let token = push.addStatusListener { status in seen.withLock { $0.append(status) } }
        push.start()
        await eventually { push.activity == .idle }
        // While it is idle they tell of the work that is done.
        #expect(push.completedChangesCount == 10 && push.changesCount == 10)
        try put("later", in: here)
        await eventually { push.activity == .idle && push.completedChangesCount == 1 }
        #expect(push.changesCount == 1)
        await push.stopAndWait()
        await eventually { seen.withLock { $0.last?.activity == .stopped } }
        let told = seen.withLock { $0 }
        #expect(told.allSatisfy { $0.transferred <= $0.total })
        // Nothing is known before it has heard from the other end.
        #expect(told.first?.activity == .connecting && told.first?.total == 0)
        let idle = try #require(told.firstIndex { $0.activity == .idle })
        #expect(told[idle].transferred == 10 && told[idle].total == 10)
        let again = told[idle...].firstIndex { $0.activity == .active }
        let active = told[try #require(again)]
        #expect(active.transferred == 0 && active.total == 0 && active.examined == 0)
        token.remove()
    }
}
