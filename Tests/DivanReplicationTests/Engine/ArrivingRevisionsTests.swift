// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import DivanModel
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanReplication

/// Of what several peers offer at once, each revision is fetched from one.
@Suite(.timeLimit(.minutes(5))) struct ArrivingRevisionsTests {
    private let here: Database
    private let target: LocalPeer
    private let source: LocalPeer
    private let wanted: [MissingRevisions]

    init() async throws {
        here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        for number in 0..<50 { try there.put(DocumentID("d\(number)"), ["n": 1], parent: nil) }
        target = LocalPeer(here)
        source = LocalPeer(there)
        let page = try await source.changes(ChangesRequest(since: nil))
        wanted = page.changes.map { MissingRevisions(id: $0.id, revisions: $0.revisions) }
    }

    private func documents(_ fetched: [FetchedRevision]) -> [WireDocument] {
        fetched.compactMap {
            if case .document(let document) = $0.outcome { document } else { nil }
        }
    }

    @Test func `what another pull fetches is waited for, and not fetched again`() async throws {
        let arriving = ArrivingRevisions(patience: .seconds(600))
        let first = try await arriving.fetch(wanted, for: target) {
            try await source.revisions($0)
        }
        #expect(documents(first).count == wanted.count && arriving.count == wanted.count)
        let requests = Mutex(0)
        async let second = arriving.fetch(wanted, for: target) { asked in
            requests.withLock { $0 += 1 }
            return try await source.revisions(asked)
        }
        _ = try await target.put(documents(first))
        arriving.release(documents(first))
        let outcomes = try await second
        #expect(outcomes.count == wanted.count && documents(outcomes).isEmpty)
        #expect(requests.withLock { $0 } == 0)
        #expect(arriving.count == 0)
    }

    @Test func `what is free is fetched at once`() async throws {
        let arriving = ArrivingRevisions(patience: .seconds(600))
        let part = Array(wanted.prefix(20))
        _ = try await arriving.fetch(part, for: target) { try await source.revisions($0) }
        let rest = try await arriving.fetch(wanted, for: target) {
            try await source.revisions($0)
        }
        #expect(documents(rest).count == wanted.count - 20)
    }

    @Test func `what one pull fails to fetch is fetched by the one that waits`() async throws {
        let arriving = ArrivingRevisions(patience: .seconds(600))
        await #expect(throws: CancellationError.self) {
            try await arriving.fetch(wanted, for: target) { _ in throw CancellationError() }
        }
        let second = try await arriving.fetch(wanted, for: target) {
            try await source.revisions($0)
        }
        #expect(documents(second).count == wanted.count)
        // Fetched, and not stored.
        arriving.release(documents(second))
        let third = try await arriving.fetch(wanted, for: target) {
            try await source.revisions($0)
        }
        #expect(documents(third).count == wanted.count)
    }

    @Test func `a pull that is broken off, or slow, keeps no other one waiting for long`()
        async throws
    {
        let arriving = ArrivingRevisions(patience: .milliseconds(50))
        let lost = try await arriving.fetch(wanted, for: target) {
            try await source.revisions($0)
        }
        #expect(documents(lost).count == wanted.count)
        let second = try await arriving.fetch(wanted, for: target) {
            try await source.revisions($0)
        }
        #expect(documents(second).count == wanted.count)
    }

    @Test func `a pull that waits for another one can be cancelled`() async throws {
        let arriving = ArrivingRevisions(patience: .seconds(600))
        _ = try await arriving.fetch(wanted, for: target) { try await source.revisions($0) }
        let waiting = Task { [target, wanted] in
            try await arriving.fetch(wanted, for: target) { _ in [] }
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
