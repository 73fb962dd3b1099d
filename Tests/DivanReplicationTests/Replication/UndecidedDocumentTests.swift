// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

/// What a replication makes of a document of which its selector cannot tell whether it is to go.
@Suite(.timeLimit(.minutes(5))) struct UndecidedDocumentTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        try here.put("a", ["t": "b"], parent: nil)
        let text = String(repeating: "a", count: 40) + "!"
        try here.put("stuck", ["t": .string(text)], parent: nil)
        try here.put("z", ["t": "b"], parent: nil)
    }

    private func choose(_ settings: inout ReplicationConfiguration) {
        settings.selector = ["t": ["$not": ["$regex": "(a+)+$"]]]
    }

    @Test(arguments: [false, true])
    func `it stays, is named once as refused, and the others go`(isPull: Bool) async throws {
        func replication() -> Replication {
            isPull
                ? there.makePullReplication(from: here, configure: choose)
                : here.makePushReplication(to: there, configure: choose)
        }
        let summary = try await replication().run()
        #expect(summary.transferred == 2)
        #expect(summary.refused == 1)
        #expect(summary.documentErrors.map(\.documentID) == ["stuck"])
        #expect(summary.documentErrors.first?.isTransient == false)
        #expect(try !there.contains("stuck"))
        #expect(try await replication().pendingDocumentIDs().isEmpty)
        // The checkpoint has passed it; once it has changed it is asked about again.
        #expect(try await replication().run().refused == 0)
        let revision = try #require(try here.document(withID: "stuck")).revisionID
        try here.put("stuck", ["t": "b"], parent: revision)
        #expect(try await replication().run().transferred == 1)
    }

    @Test func `it is not pending before the push has come to it`() async throws {
        let push = here.makePushReplication(to: there, configure: choose)
        #expect(try await push.pendingDocumentIDs() == ["a", "z"])
    }

    @Test func `a continuous push tells of one that is saved while it waits`() async throws {
        let push = here.push(to: there) {
            choose(&$0)
            $0.isContinuous = true
        }
        await eventually { push.activity == .idle }
        let text = String(repeating: "a", count: 40) + "!"
        try here.put("late", ["t": .string(text)], parent: nil)
        await eventually { push.summary.documentErrors.contains { $0.documentID == "late" } }
        await push.stopAndWait()
        #expect(try there.documentCount == 2)
    }
}
