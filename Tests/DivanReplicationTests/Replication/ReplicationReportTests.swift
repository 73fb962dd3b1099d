// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanReplication

/// What a replication tells a server that runs it: revisions counted as CouchDB counts them, and how far it is.
@Suite(.timeLimit(.minutes(10))) struct ReplicationReportTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    private func counts(
        checked: Int, found: Int, read: Int? = nil, written: Int? = nil, failed: Int = 0
    ) -> RevisionCounts {
        var counts = RevisionCounts()
        (counts.checked, counts.found) = (checked, found)
        (counts.read, counts.written, counts.failed) = (read ?? found, written ?? found, failed)
        return counts
    }

    @Test func `revisions are counted, not documents, and only those that go are found`()
        async throws
    {
        let first = try here.put("a", ["n": 0], parent: nil).revisionID
        try here.put("a", ["n": 1], parent: first)
        try here.put("a", ["n": 2], parent: first, options: .allowConflict)
        try here.put("b", [:], parent: nil)
        let push = here.makePushReplication(to: there)
        try await push.run()
        #expect(push.report.counts == counts(checked: 3, found: 3))
        let last = RemoteSequence(try here.lastSequence)
        #expect(push.report.read == last && push.report.safe == last)
        #expect(push.report.checkpointed == last)
        // The other end has them all.
        let other = here.makePushReplication(to: there) { $0.filter = "all" }
        here.setFilter(named: "all") { _, _ in true }
        try await other.run()
        #expect(other.report.counts == counts(checked: 3, found: 0))
    }

    @Test func `counts go on from those of the checkpoint, whichever replication saved it`()
        async throws
    {
        try here.put("a", [:], parent: nil)
        try await here.makePushReplication(to: there).run()
        try here.put("b", [:], parent: nil)
        let second = here.makePushReplication(to: there)
        try await second.run()
        #expect(second.report.counts == counts(checked: 2, found: 2))
        let history = try await second.checkpointHistory()
        #expect(history.map { $0["docs_written"] } == [2, 1])
        #expect(history.map { $0["start_last_seq"] } == [1, 0])
        #expect(history.map { $0["recorded_seq"] } == [2, 1])
        // One that is made to begin anew does not.
        let anew = here.makePushReplication(to: there) { $0.customProperties = ["reset": true] }
        try await anew.run()
        #expect(anew.report.counts == counts(checked: 2, found: 0))
    }

    @Test func `a revision that is refused has failed, and one that is gone was not read`()
        async throws
    {
        for id: DocumentID in ["a", "b", "c"] { try there.put(id, [:], parent: nil) }
        here.setValidation(named: "no b") { revision, context in
            if revision.id == "b" { throw context.rejection("no") }
        }
        let pull = here.makePullReplication(from: there)
        try await pull.run()
        #expect(pull.report.counts == counts(checked: 3, found: 3, written: 2, failed: 1))
    }

    @Test func `counts never sink while a replication is tried again`() async throws {
        for n in 0..<40 { try there.put("d\(n)", [:], parent: nil) }
        let standIn = CouchStandIn(there, seed: 3)
        standIn.manner.withLock { $0.faults = 4 }
        let server = try standIn.serve()
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL) {
            $0.proxy = .none
            $0.retry.maximumAttempts = .max
            $0.retry.firstDelay = .milliseconds(1)
            $0.retry.longestDelay = .milliseconds(2)
            $0.changesPerPage = 10
        }
        let seen = Mutex<[RevisionCounts]>([])
        let token = pull.addStatusListener { [unowned pull] _ in
            seen.withLock { $0.append(pull.report.counts) }
        }
        try await pull.run()
        await pull.listenersCaughtUp()
        token.remove()
        #expect(try here.documentCount == 40)
        #expect(pull.report.counts.written >= 40)
        let all = seen.withLock { $0 }
        for (earlier, later) in zip(all, all.dropFirst()) {
            #expect(earlier.orMore(later) == later)
        }
    }

    @Test(arguments: [(Int.max, 1 << 53), (Int.min, 0), (7, 7)])
    func `however many changes a source says to be pending, sums of them are numbers`(
        told: Int, taken: Int
    ) throws {
        var engine = ReplicationEngine(since: nil, isContinuous: false)
        _ = engine.start()
        let change = PeerChange(id: "a", revisions: [RevisionID("1-a")])
        let page = ChangesPage(
            changes: [change], lastSequence: RemoteSequence(1 as UInt64), isAtEnd: false,
            pending: told)
        _ = engine.handle(.page(page))
        #expect(engine.unexamined == taken + 1)
        var status = ReplicationStatus()
        (status.pending, status.total) = (engine.unexamined, 1)
        #expect(status.unfinished == taken + 2)
    }
}
