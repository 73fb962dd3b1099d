// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

/// One-shot and continuous replications of the same pair go on where the other kind has come to.
@Suite(.timeLimit(.minutes(10))) struct CheckpointKindsTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    private func fill(_ ids: Range<Int>, in database: Database? = nil) throws {
        for n in ids {
            try (database ?? there).put("d\(n)", ["n": .integer(Int64(n))], parent: nil)
        }
    }

    private func forget(_ purged: DocumentID, expired: DocumentID? = nil) throws {
        try here.purge(purged)
        if let expired { try here.setExpiration(of: expired, at: Date(timeIntervalSince1970: 1)) }
    }

    private func isHere(_ id: DocumentID) throws -> Bool { try here.contains(id) }

    /// Sets the kind, and lets it save its last checkpoint however busy the machine is.
    private func kind(isContinuous: Bool) -> (inout ReplicationConfiguration) -> Void {
        return { settings in
            settings.isContinuous = isContinuous
            settings.timeToStop = .seconds(600)
        }
    }

    /// Pulls everything, and gives how many changes were compared.
    private func pull(isContinuous: Bool) async throws -> Int {
        try await examined(
            here.makePullReplication(from: there, configure: kind(isContinuous: isContinuous)))
    }

    private func examined(_ replication: Replication) async throws -> Int {
        guard replication.isContinuous else { return try await replication.run().examined }
        replication.start()
        await eventually { replication.activity == .idle }
        await replication.stopAndWait()
        return replication.summary.examined
    }

    @Test(arguments: [false, true])
    func `what was purged or has expired stays away when the other kind of pull follows`(
        continuousFirst: Bool
    ) async throws {
        try fill(0..<6)
        #expect(try await pull(isContinuous: continuousFirst) == 6)
        try forget("d1", expired: "d2")
        try await eventually { try here.revisionTree(of: "d2") == nil }
        #expect(try await pull(isContinuous: !continuousFirst) == 0)
        #expect(try here.documentCount == 4)
        // The first kind knows what the other one has brought since.
        try fill(6..<8)
        #expect(try await pull(isContinuous: !continuousFirst) == 2)
        #expect(try await pull(isContinuous: continuousFirst) == 0)
        #expect(try here.documentCount == 6)
        #expect(try !isHere("d1") && !isHere("d2"))
    }

    @Test(arguments: [false, true])
    func `both kinds of push share their checkpoint, and know what is pending`(
        continuousFirst: Bool
    ) async throws {
        try fill(0..<5, in: here)
        let first = here.makePushReplication(
            to: there, configure: kind(isContinuous: continuousFirst))
        let second = here.makePushReplication(
            to: there, configure: kind(isContinuous: !continuousFirst))
        #expect(first.checkpointID == second.checkpointID)
        #expect(try await examined(first) == 5)
        #expect(try await second.pendingDocumentIDs().isEmpty)
        #expect(try await examined(second) == 0)
    }

    @Test func `replications that differ in a filter share nothing`() async throws {
        let plain = here.makePullReplication(from: there)
        let some = here.makePullReplication(from: there) { $0.documentIDs = ["d1"] }
        #expect(plain.checkpointID != some.checkpointID)
    }

    // MARK: - What earlier versions have left

    private func id(isContinuous: Bool) -> ReplicationID {
        var settings = ReplicationID.Settings(
            localUUID: here.privateUUID, remoteURL: "divan:\(there.publicUUID)", isPush: false)
        settings.isContinuous = isContinuous
        return ReplicationID(settings)
    }

    private func checkpoint(isContinuous: Bool, in database: Database) throws -> JSONObject? {
        try database.localDocument(id(isContinuous: isContinuous).localDocumentID)
    }

    private func set(_ document: JSONObject?, isContinuous: Bool, in database: Database) throws {
        let id = id(isContinuous: isContinuous).localDocumentID
        guard let document else { return try database.deleteLocalDocument(id) }
        try database.putLocalDocument(id, document)
    }

    /// Lets the checkpoint at both ends be one of a one-shot replication, as an earlier version wrote it.
    private func moveCheckpointToOneShot() throws {
        for database in [here, there] {
            let document = try #require(try checkpoint(isContinuous: true, in: database))
            try set(document, isContinuous: false, in: database)
            try set(nil, isContinuous: true, in: database)
        }
    }

    @Test(arguments: [false, true])
    func `a checkpoint that an earlier version made for one-shot pulls counts for both kinds`(
        isContinuous: Bool
    ) async throws {
        try fill(0..<4)
        #expect(try await pull(isContinuous: false) == 4)
        try moveCheckpointToOneShot()
        try forget("d1")
        #expect(try await pull(isContinuous: isContinuous) == 0)
        try fill(4..<6)
        #expect(try await pull(isContinuous: isContinuous) == 2)
        // From now on it is the common one.
        #expect(try checkpoint(isContinuous: true, in: here) != nil)
        #expect(try await pull(isContinuous: !isContinuous) == 0)
        #expect(try !isHere("d1"))
    }

    @Test(arguments: [false, true])
    func `of two checkpoints that earlier versions have left, the further one counts`(
        oneShotIsFurther: Bool
    ) async throws {
        try fill(0..<4)
        #expect(try await pull(isContinuous: false) == 4)
        let ends = [here, there]
        let early = try ends.map { try checkpoint(isContinuous: true, in: $0) }
        try fill(4..<6)
        #expect(try await pull(isContinuous: true) == 2)
        for (index, database) in ends.enumerated() {
            let late = try checkpoint(isContinuous: true, in: database)
            try set(oneShotIsFurther ? late : early[index], isContinuous: false, in: database)
            try set(oneShotIsFurther ? early[index] : late, isContinuous: true, in: database)
        }
        try forget("d5")
        #expect(try await pull(isContinuous: true) == 0)
        #expect(try await pull(isContinuous: false) == 0)
        #expect(try !isHere("d5"))
    }

    @Test func `a checkpoint that only one end has left counts for nothing`() async throws {
        try fill(0..<4)
        #expect(try await pull(isContinuous: false) == 4)
        try moveCheckpointToOneShot()
        try set(nil, isContinuous: false, in: there)
        #expect(try await pull(isContinuous: true) == 4)
    }

    @Test func `a conflict that a one-shot pull of an earlier version has noted is ended`()
        async throws
    {
        let note: DocumentID = "_divan/pull-conflicts-\(id(isContinuous: false).text)"
        let first = try here.put("a", ["n": 1], parent: nil)
        try here.put("a", ["n": 2], parent: first.revisionID)
        try here.put("a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        try here.putLocalDocument(note, ["ids": ["a"]])
        try await here.makePullReplication(from: there) { $0.conflictResolver = .keepWinner }
            .run()
        #expect(try here.conflictCount == 0)
        #expect(try here.localDocument(note) == nil)
    }

    // MARK: - Both at once

    @Test func `a saving that fails half way leaves what another run of the pair has saved`()
        async throws
    {
        var losses = 0
        for round: UInt64 in 1...8 {
            let remote = FaultyPeer(LocalPeer(there), random: SeededRandom(seed: round))
            func keeper() -> CheckpointKeeper {
                CheckpointKeeper(
                    id(isContinuous: true), local: LocalPeer(here), remote: remote, isPush: false,
                    incarnation: here.incarnation)
            }
            let (first, second) = (keeper(), keeper())
            _ = try await first.load()
            _ = try await second.load()
            try await first.save(RemoteSequence(round * 100))
            // The other one has not heard of that. Its request to the remote end is lost, or the answer is.
            remote.faults.withLock { $0 = 1 }
            await #expect(throws: ReplicationError.self) {
                try await second.save(RemoteSequence(round * 100 + 50))
            }
            remote.faults.withLock { $0 = 0 }
            let common = try await keeper().load()?.number
            #expect(common == round * 100 || common == round * 100 + 50)
            if common == round * 100 { losses += 1 }
        }
        #expect(losses > 0)
    }

    @Test func `a reset that breaks off goes on from what it has saved itself`() async throws {
        try fill(0..<4)
        let isBroken = Mutex<DocumentID?>(nil)
        let server = try CouchStandIn(there).serve { [there] request, connection in
            guard request.target.contains("_bulk_get"), text(request.body).contains("d3"),
                let saved = isBroken.withLock({ $0 })
            else { return false }
            // Not before both ends have saved what came until now.
            eventually { ((try? there.localDocument(saved)) ?? nil) != nil }
            isBroken.withLock { $0 = nil }
            connection.respond(status: 503)
            return true
        }
        defer { server.stop() }
        let plain = here.makePullReplication(from: server.databaseURL)
        try await plain.run()
        try moveToOneShot(plain, server)
        try forget("d0")
        try forget("d3")
        isBroken.withLock { $0 = DocumentID(plain.checkpointID) }
        let again = here.makePullReplication(from: server.databaseURL) { settings in
            settings.customProperties["reset"] = true
            settings.revisionsPerFetch = 1
            settings.changesPerPage = 1
            settings.checkpointInterval = .milliseconds(1)
            settings.retry.firstDelay = .milliseconds(1)
        }
        try fill(4..<5)
        try await again.run()
        #expect(again.runCount == 2)
        #expect(try here.documentCount == 5)
    }

    /// Lets the checkpoint of a pull from a URL be one that an earlier version made for a one-shot one.
    private func moveToOneShot(_ pull: Replication, _ server: LoopbackServer) throws {
        let old = ReplicationID(
            .init(localUUID: here.privateUUID, remoteURL: server.databaseURL, isPush: false))
        let new = DocumentID(pull.checkpointID)
        for database in [here, there] {
            let document = try #require(try database.localDocument(new))
            try database.putLocalDocument(old.localDocumentID, document)
            try database.deleteLocalDocument(new)
        }
    }
}
