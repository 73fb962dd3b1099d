// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// A first pull, which leaves out what was deleted before it began, and nothing else.
@Suite struct FirstPullTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
        stand.manner.withLock { $0.knowsActiveOnly = true }
        try there.put("before", [:], parent: nil)
        try there.delete("before")
        for n in 0..<6 { try there.put("d\(n)", [:], parent: nil) }
    }

    /// Pulls in pages of two changes, and returns the requests for them that named no deletions.
    ///
    /// - Parameters:
    ///   - source: Where documents come from.
    ///   - start: Where the source is said to stand.
    ///   - meanwhile: Gets the number of each page that was read.
    private func pull(
        from source: any ReplicationPeer, upTo start: RemoteSequence?,
        _ meanwhile: (Int) throws -> Void
    ) async throws -> [Bool] {
        let local = LocalPeer(here)
        let keeper = CheckpointKeeper(
            SequentialRun.id(here, there, isPush: false), local: local, remote: source,
            isPush: false, incarnation: here.testIncarnation)
        let worker = ReplicationWorker(source: source, target: local, keeper: keeper)
        var limits = ReplicationEngine.Limits()
        limits.page = 2
        var engine = ReplicationEngine(
            since: try await keeper.load(), isContinuous: false, activeOnlyUpTo: start,
            limits: limits)
        var (open, asked) = (engine.start(), [Bool]())
        while !open.isEmpty {
            let action = open.removeFirst()
            if case .finish(let failure) = action {
                if let failure { throw failure }
                break
            }
            if case .readChanges(let request) = action { asked.append(request.isActiveOnly) }
            guard let event = try await worker.perform(action) else { continue }
            open += engine.handle(event)
            engine.checkInvariants()
            if case .page = event { try meanwhile(asked.count) }
        }
        return asked
    }

    private func peer(_ isBehindHTTP: Bool) -> any ReplicationPeer {
        isBehindHTTP ? HTTPPeer(stand, for: here) : LocalPeer(there)
    }

    @Test(arguments: [false, true])
    func `what is deleted while its pages are read is deleted in the end`(isBehindHTTP: Bool)
        async throws
    {
        let source = peer(isBehindHTTP)
        let start = try await source.information().updateSequence
        let asked = try await pull(from: source, upTo: start) { page in
            if page == 1 { for id: DocumentID in ["d0", "d1"] { try there.delete(id) } }
        }
        #expect(try here.allDocuments().map(\.id.text) == ["d2", "d3", "d4", "d5"])
        #expect(try here.revisionTree(of: "before") == nil)
        #expect(asked.first == true && asked.last == false)
        // The checkpoint is past the deletions.
        let again = try await pull(from: source, upTo: nil) { _ in }
        #expect(again == [false])
    }

    @Test(arguments: [false, true])
    func `where nothing is changed meanwhile no page is read twice`(isBehindHTTP: Bool)
        async throws
    {
        let source = peer(isBehindHTTP)
        let start = try await source.information().updateSequence
        #expect(try await pull(from: source, upTo: start) { _ in }.allSatisfy(\.self))
        #expect(try here.documentCount == 6)
        #expect(try here.revisionTree(of: "before") == nil)
    }

    @Test(arguments: [nil, RemoteSequence(["x"]), RemoteSequence("x")])
    func `of a source that does not say where it stands deletions come, too`(
        start: RemoteSequence?
    ) async throws {
        let asked = try await pull(from: peer(false), upTo: start) { _ in }
        #expect(!asked.contains(true))
        #expect(try here.revisionTree(of: "before")?.isDeleted == true)
    }
}
