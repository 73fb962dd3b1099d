// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanListener

/// Rules that do not run for a document, at a listener: the document is late, and not left out.
@Suite(.timeLimit(.minutes(5))) struct UnrunRuleTests {
    private let site: TestSite
    private let there: Database
    private let here: Database
    private let listener: Listener
    private let isBroken = Broken()

    private final class Broken: Sendable {
        private let state = Mutex(true)
        var isOn: Bool { state.withLock { $0 } }
        func mend() { state.withLock { $0 = false } }
    }

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        here = try Database.inMemory(named: "here")
        listener = try site.listen()
        there.setValidation(named: "odd") { [isBroken] revision, _ in
            guard revision.id == "bad", isBroken.isOn else { return }
            throw DatabaseError(.scriptFailed, "The process ended.")
        }
        for id in ["a", "bad", "c"] { try here.put(DocumentID(id), ["n": 1], parent: nil) }
    }

    @Test func `a push brings a document for which the rule did not run at first`() async throws {
        let url = try #require(listener.url(of: there))
        func push() -> Replication {
            here.makePushReplication(to: url) {
                $0.proxy = .none
                $0.retry.firstDelay = .milliseconds(1)
                $0.retry.longestDelay = .milliseconds(1)
            }
        }
        let first = try await push().run()
        #expect(first.transferred == 2 && first.refused == 1)
        #expect(try there.documentCount == 2)
        isBroken.mend()
        #expect(try await push().run().transferred == 1)
        #expect(try there.contains("bad"))
        listener.stop()
    }

    @Test func `a replication that a client starts does so, too`() async throws {
        let source = try site.manager.database(named: "source")
        for id in ["a", "bad", "c"] { try source.put(DocumentID(id), ["n": 1], parent: nil) }
        let body = #"{"source":"source","target":"notes","continuous":true}"#
        #expect(site.send("POST", "/_replicate", body).status == 202)
        try await eventually { try there.documentCount == 2 }
        isBroken.mend()
        try await eventually { try there.contains("bad") }
        listener.stop()
    }
}
