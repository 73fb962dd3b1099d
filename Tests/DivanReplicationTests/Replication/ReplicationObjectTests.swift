// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
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

    private func put(_ ids: String..., in database: Database) throws {
        for id in ids { try database.put(DocumentID(id), [:], parent: nil) }
    }

    @Test func `each replication is an object of its own`() {
        let first = here.makePushReplication(to: there)
        let second = here.makePushReplication(to: there)
        #expect(first !== second)
        #expect(first.direction == .push)
        #expect(first.database === here)
        let pull = here.makePullReplication(from: "http://host:5984/db")
        #expect(pull.direction == .pull)
        #expect(pull.remote.description == "http://host:5984/db")
        #expect(!pull.isRunning)
        #expect(pull.activity == .stopped)
    }

    @Test func `settings of a replication can be read and not be assigned`() {
        let settings: AnyKeyPath = \Replication.settings
        #expect(!(settings is WritableKeyPath<Replication, ReplicationConfiguration>))
        let isContinuous: AnyKeyPath = \Replication.isContinuous
        #expect(!(isContinuous is WritableKeyPath<Replication, Bool>))
        let push = here.makePushReplication(to: there) { $0.documentIDs = ["b"] }
        #expect(push.documentIDs == ["b"])
        #expect(push.settings.documentIDs == ["b"])
    }

    @Test func `settings are a value, a closure, or a closure on top of a value`() throws {
        var settings = ReplicationConfiguration()
        settings.documentIDs = ["a"]
        let plain = here.makePullReplication(from: there, settings: settings)
        #expect(plain.documentIDs == ["a"])
        let both = here.makePullReplication(from: there, settings: settings) {
            $0.documentIDs.append("b")
        }
        #expect(both.documentIDs == ["a", "b"])
        // What the closure throws comes out, and nothing was made or started.
        struct Whim: Error {}
        #expect(throws: Whim.self) { try here.sync(with: there) { _ in throw Whim() } }
        #expect(here.replications.isEmpty)
    }

    @Test func `sync has its settings before it starts, in both directions`() async throws {
        try put("a", "b", in: here)
        try put("c", "d", in: there)
        // A value that says one-shot is continuous all the same; only the closure can say otherwise.
        let (push, pull) = here.sync(with: there, settings: ReplicationConfiguration()) {
            $0.documentIDs = ["a", "c"]
        }
        #expect(push.isContinuous && pull.isContinuous)
        #expect(push.direction == .push && pull.direction == .pull)
        await eventually { push.activity == .idle && pull.activity == .idle }
        #expect(try here.documentCount == 3)
        #expect(try there.documentCount == 3)
        await push.stopAndWait()
        await pull.stopAndWait()

        let once = here.sync(with: there) { $0.isContinuous = false }
        try await once.push.run()
        try await once.pull.run()
        #expect(try here.documentCount == 4)
        #expect(try there.documentCount == 4)
    }

    @Test func `push and pull start what they make`() async throws {
        try put("a", in: here)
        try put("b", in: there)
        let push = here.push(to: there)
        let pull = here.pull(from: there)
        await push.waitUntilEnded()
        await pull.waitUntilEnded()
        #expect(push.failure == nil && pull.failure == nil)
        #expect(try here.documentCount == 2)
        #expect(try there.documentCount == 2)
    }

    @Test func `a database lists its replications while they run`() async throws {
        #expect(here.replications.isEmpty)
        let (push, pull) = here.sync(with: there)
        #expect(here.replications.map(\.direction) == [.push, .pull])
        #expect(here.replications.first === push)
        #expect(there.replications.isEmpty)
        await push.stopAndWait()
        #expect(here.replications.count == 1)
        #expect(here.replications.first === pull)
        push.start()
        push.start()
        #expect(here.replications.count == 2)
        for replication in here.replications { await replication.stopAndWait() }
        #expect(here.replications.isEmpty)
        let once = here.makePushReplication(to: there)
        try await once.run()
        #expect(here.replications.isEmpty)
    }

    @Test func `a running replication nobody holds is listed, and goes with its end`() async throws
    {
        weak var held: Replication?
        do {
            let pull = here.makePullReplication(from: there) { $0.isContinuous = true }
            pull.start()
            held = pull
        }
        await eventually { held?.activity == .idle }
        #expect(here.replications.count == 1)
        await here.replications.first?.stopAndWait()
        await eventually { held == nil }
    }

    @Test func `replications begin anew when the database has new UUIDs`() async throws {
        for n in 0..<5 { try here.put("d\(n)", [:], parent: nil) }
        let push = here.makePushReplication(to: there)
        try await push.run()
        try await push.run()
        #expect(push.status.examined == 0)
        try here.replaceUUIDs()
        try await push.run()
        #expect(push.status.examined == 5)
        #expect(try there.documentCount == 5)
        try await push.run()
        #expect(push.status.examined == 0)
    }

    @Test func `a replication connects before it is active`() async throws {
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(to: there) { $0.isContinuous = true }
        let seen = Mutex<[Replication.Activity]>([])
        let token = push.addStatusListener { status in
            seen.withLock { if $0.last != status.activity { $0.append(status.activity) } }
        }
        push.start()
        await eventually { push.activity == .idle }
        await push.stopAndWait()
        await eventually { seen.withLock { $0.last } == .stopped }
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
        let pull = here.makePullReplication(from: there) { $0.accessRemoval = .purge }
        try await pull.run()
        try there.delete("dead")
        try there.update("plain") { $0["n"] = 2 }
        try there.putExistingRevision(
            "gone", ["_removed": true], history: ["2-gone", gone.revisionID])
        let events = Mutex<[String: ReplicatedDocument]>([:])
        let token = pull.addDocumentListener { event in
            events.withLock { $0[event.id.text] = event }
        }
        try await pull.run()
        await eventually { events.withLock { $0.count } == 3 }
        let told = events.withLock { $0 }
        #expect(told["dead"]?.isDeleted == true)
        #expect(told["gone"]?.isDeleted == false)
        #expect(told.filter { $0.value.isAccessRemoved }.map(\.key) == ["gone"])
        #expect(told.values.allSatisfy { !$0.isPush && $0.error == nil })
        #expect(try here.document(withID: "gone") == nil)
        _ = token
    }
}
