// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Synchronization
import Testing

/// Replications as an app holds and sees them.
@Suite(.timeLimit(.minutes(10))) struct ReplicationObjectTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    @Test func `each replication is an object of its own`() {
        let first = here.createPushReplication(to: there)
        let second = here.createPushReplication(to: there)
        #expect(first !== second)
        #expect(first.direction == .push)
        #expect(first.database === here)
        let pull = here.createPullReplication(from: "http://host:5984/db")
        #expect(pull.direction == .pull)
        #expect(pull.remote.description == "http://host:5984/db")
        #expect(!pull.isRunning)
        #expect(pull.activity == .stopped)
    }

    @Test func `what is set while it runs holds from the next start on`() async throws {
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        let push = here.createPushReplication(to: there)
        push.isContinuous = true
        push.start()
        push.documentIDs = ["b"]
        push.isContinuous = false
        try here.put("a", [:], parent: nil)
        try await eventually { try there.contains("a") }
        #expect(push.isRunning)
        await push.stopped()
        for id in ["b", "c"] { try here.put(id, [:], parent: nil) }
        push.start()
        await push.finished()
        #expect(try there.allDocuments().map(\.id) == ["a", "b"])
    }

    @Test func `a database lists its replications while they run`() async throws {
        #expect(here.replications.isEmpty)
        let (push, pull) = here.sync(with: there)
        #expect(here.replications.map(\.direction) == [.push, .pull])
        #expect(here.replications.first === push)
        #expect(there.replications.isEmpty)
        await push.stopped()
        #expect(here.replications.count == 1)
        #expect(here.replications.first === pull)
        push.start()
        push.start()
        #expect(here.replications.count == 2)
        for replication in here.replications { await replication.stopped() }
        #expect(here.replications.isEmpty)
        let once = here.createPushReplication(to: there)
        await once.run()
        #expect(here.replications.isEmpty)
    }

    @Test func `a running replication nobody holds is listed, and goes with its end`() async throws
    {
        weak var held: Replication?
        do {
            let pull = here.createPullReplication(from: there)
            pull.isContinuous = true
            pull.start()
            held = pull
        }
        try await eventually { held?.activity == .idle }
        #expect(here.replications.count == 1)
        await here.replications.first?.stopped()
        try await eventually { held == nil }
    }

    @Test func `replications begin anew when the database has new UUIDs`() async throws {
        for n in 0..<5 { try here.put("d\(n)", [:], parent: nil) }
        let push = here.createPushReplication(to: there)
        await push.run()
        await push.run()
        #expect(push.changesCount == 0)
        try here.replaceUUIDs()
        await push.run()
        #expect(push.changesCount == 5)
        #expect(try there.documentCount == 5)
        await push.run()
        #expect(push.changesCount == 0)
    }

    @Test func `a replication connects before it is active`() async throws {
        try here.put("a", [:], parent: nil)
        let push = here.createPushReplication(to: there)
        push.isContinuous = true
        let seen = Mutex<[Replication.Activity]>([])
        let token = push.addStatusListener { status in
            seen.withLock { if $0.last != status.activity { $0.append(status.activity) } }
        }
        push.start()
        try await eventually { push.activity == .idle }
        await push.stopped()
        try await eventually { seen.withLock { $0.last } == .stopped }
        let activities = seen.withLock { $0 }
        #expect(activities.first == .connecting)
        #expect(activities.contains(.idle))
        #expect(activities.filter { $0 == .connecting }.count == 1)
        _ = token
    }

    @Test func `events say which revisions are deletions, and which take a document away`()
        async throws
    {
        let gone = try there.put("gone", ["n": 1], parent: nil)
        try there.put("dead", ["n": 1], parent: nil)
        try there.put("plain", ["n": 1], parent: nil)
        let pull = here.createPullReplication(from: there)
        await pull.run()
        try there.delete("dead")
        try there.update("plain") { $0["n"] = 2 }
        try there.putExistingRevision(
            "gone", history: ["2-gone", gone.revisionID], ["_removed": true])
        let events = Mutex<[String: ReplicatedDocument]>([:])
        let token = pull.addDocumentListener { event in events.withLock { $0[event.id] = event } }
        await pull.run()
        try await eventually { events.withLock { $0.count } == 3 }
        let told = events.withLock { $0 }
        #expect(told["dead"]?.isDeleted == true)
        #expect(told["gone"]?.isDeleted == false)
        #expect(told.filter { $0.value.isAccessRemoved }.map(\.key) == ["gone"])
        #expect(told.values.allSatisfy { !$0.isPush && $0.error == nil })
        #expect(try here.document(withID: "gone") == nil)
        _ = token
    }
}
