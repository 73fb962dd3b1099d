// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Testing

/// A device that edits a document many times before it meets the others again.
@Suite(.timeLimit(.minutes(10))) struct OfflineHistoryTests {
    let server: Database
    let device: Database
    let other: Database

    init() throws {
        server = try Database.inMemory(named: "server")
        device = try Database.inMemory(named: "device")
        other = try Database.inMemory(named: "other")
    }

    private func edit(_ database: Database, _ times: Int, _ author: String) throws {
        try database.inBatch {
            for n in 0..<times {
                try database.update("note") {
                    $0["n"] = Fragment(n)
                    $0["author"] = Fragment(author)
                }
            }
        }
    }

    private func leaves(_ database: Database) throws -> [String] {
        try database.leafRevisions(of: "note").map { "\($0.revisionID) \($0.isDeleted)" }
    }

    private func push() async throws { try await device.makePushReplication(to: server).run() }
    private func pull() async throws { try await device.makePullReplication(from: server).run() }
    private func remove(_ database: Database) throws { try database.delete("note") }
    private func create(_ database: Database) throws {
        try database.put("note", ["text": "old"], parent: nil)
    }

    @Test(arguments: [25, 100, 999])
    func `a document edited many times offline makes no conflict, and stays deleted`(
        _ edits: Int
    ) async throws {
        try create(server)
        try await pull()
        try await other.makePullReplication(from: server).run()
        try edit(device, edits, "device")
        try await push()
        #expect(try leaves(server).count == 1)
        #expect(try leaves(server) == leaves(device))

        // Deleted elsewhere: the old text does not come back.
        try await other.makePullReplication(from: server).run()
        #expect(try leaves(other).count == 1)
        try remove(other)
        try await other.makePushReplication(to: server).run()
        try await pull()
        for database in [server, device, other] {
            #expect(try leaves(database).count == 1)
            #expect(try leaves(database).first?.hasSuffix("true") == true)
            let count = try database.documentCount
            #expect(count == 0)
        }
    }

    @Test func `a limit below the number of edits makes a document conflict with itself`()
        async throws
    {
        for database in [server, device, other] { try database.setRevisionLimit(20) }
        try create(server)
        try await pull()
        try edit(device, 25, "device")
        try await push()
        #expect(try leaves(server).count == 2)
    }

    @Test func `an edit of a revision that is old at the other end is one branch beside the other`()
        async throws
    {
        try create(server)
        try await pull()
        try edit(server, 90, "server")
        try edit(device, 60, "device")
        try await push()
        try await pull()
        #expect(try leaves(server).count == 2)
        #expect(try leaves(server) == leaves(device))
        for database in [server, device] {
            let tree = try database.revisionTree(of: "note")
            #expect(tree?.commonAncestorOfLiveLeaves?.id.generation == 1)
            let problems = try database.verify()
            #expect(problems.isEmpty)
        }
    }

    @Test func `an old revision that comes once more is no news`() async throws {
        try create(server)
        try await pull()
        try edit(server, 200, "server")
        let before = try leaves(server)
        // The device knows nothing but the first revision.
        try await push()
        #expect(try leaves(server) == before)
        let first = try device.revisionHistory(of: "note")
        let isNew = try server.putExistingRevision("note", ["text": "old"], history: first)
        #expect(!isNew)
        #expect(try leaves(server) == before)
    }

    @Test func `a push sends no more of a history than the other end lacks`() async throws {
        try create(server)
        try await pull()
        try edit(device, 300, "device")
        try await push()
        try edit(device, 1, "device")
        let tree = try device.read { try $0.recentTree(of: DocumentID("note")) }
        let newest = try #require(tree?.winner?.id)
        let known = try server.revisionHistory(of: "note")[0]
        let wanted = MissingRevisions(
            id: "note", revisions: [newest], possibleAncestors: [known])
        let fetched = try await LocalPeer(device).revisions([wanted])
        guard case .document(let document)? = fetched.first?.outcome else {
            Issue.record("The revision was not sent.")
            return
        }
        #expect((document.history?.ids.count ?? 0) < 40)
        let all = try await LocalPeer(device).revisions([
            MissingRevisions(id: wanted.id, revisions: [newest])
        ])
        guard case .document(let whole)? = all.first?.outcome else {
            Issue.record("The revision was not sent.")
            return
        }
        #expect(whole.history?.ids.count == 302)
    }
}
