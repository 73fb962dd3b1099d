// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

/// What a replication does depends on what changed, not on what is there.
@Suite(.timeLimit(.minutes(10))) struct ReplicationCostTests {
    private func fill(_ database: Database, _ range: Range<Int>) throws {
        try database.inBatch {
            for n in range { try database.put("d\(n)", ["n": .integer(Int64(n))], parent: nil) }
        }
    }

    @Test
    func `one changed document costs the same requests in a large database as in a small one`()
        async throws
    {
        var costs: [Int] = []
        var bytes: [Int] = []
        for count in [20, 4_000] {
            let here = try Database.inMemory(named: "here")
            let traffic = Traffic()
            let stand = CouchStandIn(try Database.inMemory(named: "there"))
            let server = try stand.serve(traffic: traffic)
            defer { server.stop() }
            try fill(here, 0..<count)
            let push = here.makePushReplication(to: server.databaseURL) {
                // A busy machine does not make it tell the server more often how far it is.
                $0.checkpointInterval = .seconds(600)
            }
            try await push.run()
            traffic.reset()
            try here.update("d7") { $0["n"] = 0 }
            try await push.run()
            #expect(push.status.examined == 1)
            costs.append(traffic.requests)
            bytes.append(traffic.received)
            traffic.reset()
            try await push.run()
            #expect(push.status.examined == 0)
            #expect(stand.requests.withLock { $0.last }?.hasPrefix("GET _local") == true)
        }
        #expect(costs[0] == costs[1])
        #expect(costs[0] <= 8)
        #expect(abs(bytes[0] - bytes[1]) < 500)
    }

    @Test func `one database is pushed to three others at once, and each has everything`()
        async throws
    {
        let here = try Database.inMemory(named: "here")
        let targets = try (0..<3).map { try Database.inMemory(named: "target\($0)") }
        let servers = try targets.map { try CouchStandIn($0).serve() }
        defer { for server in servers { server.stop() } }
        try fill(here, 0..<500)
        let pushes = servers.map { server in
            here.push(to: server.databaseURL) { $0.isContinuous = true }
        }
        // More comes while they run.
        for step in 5..<9 { try fill(here, (step * 100)..<(step * 100 + 100)) }
        for n in 0..<50 { try here.delete("d\(n)") }
        for target in targets {
            try await eventually {
                try target.documentCount == 850
                    && target.revisionTree(of: "d49")?.winner?
                        .isTombstone == true
            }
        }
        for push in pushes {
            await eventually { push.activity == .idle }
            #expect(push.lastError == nil)
            #expect(try await push.pendingDocumentIDs().isEmpty)
            await push.stopAndWait()
        }
        let expected = try here.allDocuments().map { "\($0.id) \($0.revisionID)" }
        for target in targets {
            #expect(try target.allDocuments().map { "\($0.id) \($0.revisionID)" } == expected)
        }
    }

    @Test func `a pull into a prebuilt database brings only what came since`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-prebuilt-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try Database.inMemory(named: "server")
        try fill(server, 0..<200)
        var options = DatabaseOptions()
        options.create = true
        let prebuilt = try Database.open(
            at: folder.appending(path: "made/prebuilt.divan"), options: options)
        try await prebuilt.makePullReplication(from: server).run()
        #expect(
            try prebuilt.allDocuments().allSatisfy { $0.revisionID.generation == 1 })
        #expect(try prebuilt.documentCount == 200)
        prebuilt.close()

        let manager = try Manager(directory: folder.appending(path: "app"))
        defer { manager.close() }
        try manager.replaceDatabase(
            named: "app", from: folder.appending(path: "made/prebuilt.divan"))
        let installed = try manager.database(named: "app")
        try fill(server, 200..<203)
        try server.update("d5") { $0["n"] = 1_000 }
        let pull = installed.makePullReplication(from: server)
        let brought = Mutex<Set<String>>([])
        let token = pull.addDocumentListener { event in
            brought.withLock { _ = $0.insert(event.id.text) }
        }
        try await pull.run()
        await eventually { brought.withLock { $0.count } == 4 }
        #expect(brought.withLock { $0 } == ["d5", "d200", "d201", "d202"])
        #expect(try installed.documentCount == 203)
        _ = token
    }

    @Test func `a snapshot of a server's database has one body a document`() async throws {
        let server = try Database.inMemory(named: "server")
        try fill(server, 0..<30)
        for round in Int64(0)..<5 {
            for n in 0..<30 {
                try server.update("d\(n)") { $0["round"] = Fragment(.integer(round)) }
            }
        }
        let snapshot = try Database.inMemory(named: "snapshot")
        try await snapshot.makePullReplication(from: server).run()
        var rows = 0
        try snapshot.inspect(store: "revisions") { _ in rows += 1 }
        #expect(rows == 30)
        #expect(try snapshot.documentCount == 30)
        #expect(
            try snapshot.revisionHistory(of: "d3") == server.revisionHistory(of: "d3"))
    }

    @Test func `a live query shows more and more while a pull runs`() async throws {
        let here = try Database.inMemory(named: "here")
        let server = try Database.inMemory(named: "server")
        let view = here.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["n"]) }
        let counts = Mutex<[Int]>([])
        let token = view.query().addChangeListener(interval: .zero) { result in
            guard case .success(let update) = result else { return }
            counts.withLock { $0.append(update.rows.count) }
        }
        await eventually { counts.withLock { $0.last } == 0 }
        let pull = here.makePullReplication(from: server) { $0.isContinuous = true }
        pull.start()
        for step in 1...5 {
            try fill(server, ((step - 1) * 40)..<(step * 40))
            await eventually { counts.withLock { $0.last } == step * 40 }
            #expect(pull.isRunning)
        }
        let seen = counts.withLock { $0 }
        #expect(seen == seen.sorted())
        #expect(Set(seen).isSuperset(of: [0, 40, 80, 120, 160, 200]))
        await pull.stopAndWait()
        token.remove()
    }
}
