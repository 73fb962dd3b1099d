// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// What a revision with nothing but `_removed` takes away, and by whose word.
@Suite(.timeLimit(.minutes(10))) struct AccessRemovalTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    private func leaves(_ database: Database, _ id: DocumentID = "a") throws -> [String] {
        try database.leafRevisions(of: id).map(\.revisionID.description).sorted()
    }

    private func mark(_ history: [RevisionID], _ body: JSONObject = ["_removed": true]) throws {
        try there.putExistingRevision("a", body, history: history)
    }

    @Test(arguments: [AccessRemoval.automatic, .purge, .keep, .store])
    func `a revision that may no longer be seen does what the policy says`(policy: AccessRemoval)
        async throws
    {
        let first = try there.put("a", ["n": 1], parent: nil).revisionID
        let pull = here.makePullReplication(from: there) { $0.accessRemoval = policy }
        try await pull.run()
        try mark(["2-gone", first])
        try await pull.run()
        let document = try here.document(withID: "a")
        switch policy {
        case .purge: #expect(try here.revisionTree(of: "a") == nil)
        case .keep: #expect(document?["n"].int == 1)
        case .automatic, .store: #expect(document?.body["_removed"]?.bool == true)
        }
    }

    @Test(arguments: [
        nil, "CouchDB/3.4.3 (Erlang OTP/25)", "Divan/1.0", "Couchbase Sync Gateway/1.5 CE",
        "Couchbase Sync Gateway",
    ])
    func `by itself only the word of a Sync Gateway takes a document away`(server: String?)
        async throws
    {
        let stand = CouchStandIn(there)
        stand.manner.withLock { $0.server = server }
        let loopback = try stand.serve()
        defer { loopback.stop() }
        let first = try there.put("a", ["n": 1], parent: nil).revisionID
        let pull = here.makePullReplication(from: loopback.databaseURL)
        try await pull.run()
        let mine = try here.put("a", ["n": 2], parent: first).revisionID
        try mark(["2-gone", first])
        try await pull.run()
        let isBelieved = server?.hasPrefix("Couchbase") ?? false
        #expect(try leaves(here) == (isBelieved ? [] : ["2-gone", mine.description].sorted()))
        #expect(try here.contains("a") == !isBelieved)
    }

    @Test func `a mark takes away the branch that it ends, and no other one`() async throws {
        try there.putExistingRevision("a", ["n": 1], history: ["3-win", "2-win", "1-a"])
        try there.putExistingRevision("a", ["n": 2], history: ["2-lose", "1-a"])
        let pull = here.makePullReplication(from: there) { $0.accessRemoval = .purge }
        try await pull.run()
        #expect(try leaves(here) == ["2-lose", "3-win"])
        // One that has nothing to do with what is here takes nothing away.
        try mark(["1-0"])
        try await pull.run()
        #expect(try leaves(here) == ["2-lose", "3-win"])
        try mark(["3-gone", "2-lose", "1-a"])
        try await pull.run()
        #expect(try leaves(here) == ["3-win"])
        #expect(try here.document(withID: "a")?["n"].int == 1)
        // What was edited here goes with the branch.
        try here.put("a", ["n": 3], parent: "3-win")
        try mark(["4-gone", "3-win", "2-win", "1-a"])
        try await pull.run()
        #expect(try here.revisionTree(of: "a") == nil)
        #expect(try here.verify().isEmpty)
    }

    @Test func `a mark beside content takes nothing away`() async throws {
        let first = try there.put("a", ["n": 1], parent: nil).revisionID
        let pull = here.makePullReplication(from: there) { $0.accessRemoval = .purge }
        try await pull.run()
        try mark(["2-b", first], ["_removed": true, "n": 2])
        try await pull.run()
        #expect(try here.document(withID: "a")?["n"].int == 2)
        #expect(try leaves(here) == ["2-b"])
    }

    @Test(arguments: [AccessRemoval.automatic, .purge])
    func `a push takes nothing away from its target`(policy: AccessRemoval) async throws {
        let mine = try here.put("a", ["n": 1], parent: nil).revisionID
        try mark(["2-gone", mine])
        let push = there.makePushReplication(to: here) { $0.accessRemoval = policy }
        try await push.run()
        #expect(try leaves(here) == ["2-gone"])
    }

    @Test func `a mark that is stored in a user's name takes nothing away`() async throws {
        let first = try there.put("a", ["n": 1], parent: nil).revisionID
        let pull = here.makePullReplication(from: there) { settings in
            settings.accessRemoval = .purge
            settings.localAuthor = PeerAuthor { { try $0() } }
        }
        try await pull.run()
        try mark(["2-gone", first])
        try await pull.run()
        #expect(try leaves(here) == ["2-gone"])
    }
}
