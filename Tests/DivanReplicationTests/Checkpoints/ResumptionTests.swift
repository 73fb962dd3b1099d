// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Testing

/// Where a replication goes on after what may happen to either database.
@Suite(.timeLimit(.minutes(10))) struct ResumptionTests {
    let folder: URL
    let remote: Database

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-resumption-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        remote = try Database.inMemory(named: "remote")
    }

    private func database(_ name: String) throws -> Database {
        var options = DatabaseOptions()
        options.create = true
        return try Database.open(at: folder.appending(path: "\(name).divan"), options: options)
    }

    /// Runs a replication to its end, and gives how many changes it looked at.
    private func run(_ replication: Replication) async throws -> Int {
        let summary = try await replication.run()
        #expect(summary.documentErrors.isEmpty)
        return summary.examined
    }

    @Test func `a push goes on where it was after the database was closed and opened`() async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try database("db")
        for n in 0..<5 { try first.put("a\(n)", [:], parent: nil) }
        #expect(try await run(first.makePushReplication(to: remote)) == 5)
        first.close()
        let second = try database("db")
        defer { second.close() }
        try second.put("b", [:], parent: nil)
        #expect(try await run(second.makePushReplication(to: remote)) == 1)
    }

    @Test
    func `after an older backup is restored, what is written past the old sequence is pushed`()
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let original = try database("db")
        try original.put("early", [:], parent: nil)
        #expect(try await run(original.makePushReplication(to: remote)) == 1)
        let backup = folder.appending(path: "backup.divan")
        try original.backup(to: backup)
        for n in 0..<5 { try original.put("lost\(n)", [:], parent: nil) }
        #expect(try await run(original.makePushReplication(to: remote)) == 5)
        original.close()

        let place = folder.appending(path: "db.divan")
        try FileManager.default.removeItem(at: place)
        try FileManager.default.moveItem(at: backup, to: place)
        let restored = try database("db")
        defer { restored.close() }
        // The same sequences as the lost documents had, and beyond.
        for n in 0..<8 { try restored.put("new\(n)", [:], parent: nil) }
        _ = try await run(restored.makePushReplication(to: remote))
        for n in 0..<8 { #expect(try remote.document(withID: "new\(n)") != nil) }
        // And what the other end still has comes back.
        _ = try await run(restored.makePullReplication(from: remote))
        #expect(try restored.documentCount == 14)
    }

    @Test func `two copies of a directory that push in turn both bring everything`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try database("one")
        for n in 0..<3 { try first.put("common\(n)", [:], parent: nil) }
        _ = try await run(first.makePushReplication(to: remote))
        first.close()
        try FileManager.default.copyItem(
            at: folder.appending(path: "one.divan"), to: folder.appending(path: "two.divan"))
        let one = try database("one")
        let two = try database("two")
        defer {
            one.close()
            two.close()
        }
        for round in 0..<4 {
            for n in 0...round {
                try one.put("one-\(round)-\(n)", [:], parent: nil)
                try two.put("two-\(round)-\(n)", [:], parent: nil)
            }
            _ = try await run(one.makePushReplication(to: remote))
            _ = try await run(two.makePushReplication(to: remote))
        }
        #expect(try remote.documentCount == 3 + 2 * 10)
    }

    @Test func `a remote database that was made anew gets everything again`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let local = try database("db")
        defer { local.close() }
        for n in 0..<4 { try local.put("a\(n)", [:], parent: nil) }
        var target = try database("remote")
        let push = local.makePushReplication(to: target) { $0.remoteUUID = "the-server" }
        #expect(try await run(push) == 4)
        try target.delete()
        target = try database("remote")
        defer { target.close() }
        let again = local.makePushReplication(to: target) { $0.remoteUUID = "the-server" }
        #expect(try await run(again) == 4)
        #expect(try target.documentCount == 4)
    }

    @Test
    func `with a remoteUUID nothing goes again to a server that has moved to another address`()
        async throws
    {
        let local = try Database.inMemory(named: "local")
        for n in 0..<4 { try local.put("a\(n)", [:], parent: nil) }
        let stand = CouchStandIn(remote)
        let first = try stand.serve()
        let second = try stand.serve()
        defer { second.stop() }
        func push(to server: LoopbackServer, _ uuid: String?) -> Replication {
            local.makePushReplication(to: server.databaseURL) { $0.remoteUUID = uuid }
        }
        #expect(try await run(push(to: first, "the-server")) == 4)
        #expect(try await run(push(to: first, nil)) == 4)
        first.stop()
        #expect(first.port != second.port)
        #expect(try await run(push(to: second, "the-server")) == 0)
        // By its address alone it is another server.
        #expect(try await run(push(to: second, nil)) == 4)
    }

    @Test func `a pull from a database that was restored to an older state misses nothing`()
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let local = try database("local")
        defer { local.close() }
        let source = try database("source")
        try source.put("early", [:], parent: nil)
        let pull = local.makePullReplication(from: source) { $0.remoteUUID = "source" }
        #expect(try await run(pull) == 1)
        let backup = folder.appending(path: "backup.divan")
        try source.backup(to: backup)
        for n in 0..<5 { try source.put("x\(n)", [:], parent: nil) }
        #expect(try await run(pull) == 5)
        source.close()
        let place = folder.appending(path: "source.divan")
        try FileManager.default.removeItem(at: place)
        try FileManager.default.moveItem(at: backup, to: place)
        let restored = try database("source")
        defer { restored.close() }
        for n in 0..<3 { try restored.put("y\(n)", [:], parent: nil) }
        let again = local.makePullReplication(from: restored) { $0.remoteUUID = "source" }
        _ = try await run(again)
        for n in 0..<3 { #expect(try local.document(withID: "y\(n)") != nil) }
    }

    @Test func `replications are offline while their manager is suspended`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let manager = try Manager(directory: folder)
        defer { manager.close() }
        let database = try manager.database(named: "db")
        let push = database.makePushReplication(to: remote) { $0.isContinuous = true }
        push.start()
        await eventually { push.activity == .idle }
        try manager.suspend()
        let pull = database.makePullReplication(from: remote)
        pull.start()
        await eventually { pull.activity == .offline }
        try manager.resume()
        for n in 0..<3 { try database.put("a\(n)", [:], parent: nil) }
        try await eventually { try remote.documentCount == 3 }
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        await push.stopAndWait()
    }
}
