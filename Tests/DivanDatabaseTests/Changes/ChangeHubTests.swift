// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanDatabase

@Suite(.timeLimit(.minutes(10))) struct ChangeHubTests {
    private let sandbox = Sandbox()

    /// What a follower was told, as text: the IDs of one event, or "closed".
    private static func follow(
        _ database: Database, of id: String? = nil
    ) throws -> (token: ListenerToken, told: Record<String>) {
        let told = Record<String>()
        let handler: ChangeHub.Handler = { event in
            switch event {
            case .changed(let change):
                told.append(change.documentIDs.map(\.text).joined(separator: " "))
            case .closed: told.append("closed")
            }
        }
        guard let id else { return (database.core.hub.follow(handler), told) }
        return (database.core.hub.follow(documentID: try DocumentID(validating: id), handler), told)
    }

    @Test func `each commit is told with its documents, in order`() async throws {
        let database = try Database.inMemory()
        let (token, told) = try Self.follow(database)
        try database.create("a")
        try database.inBatch {
            try database.create("b")
            try database.create("c")
            try database.delete("a")
        }
        try database.purge("b")
        await eventually { told.all.count == 3 }
        #expect(told.all == ["a", "b c a", "b"])
        token.remove()
    }

    @Test func `what is rolled back is not told`() async throws {
        let database = try Database.inMemory()
        let (token, told) = try Self.follow(database)
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.create("undone")
                throw Whim()
            }
        }
        try database.inBatch {
            try database.create("kept")
            try? database.inBatch {
                try database.create("inner")
                throw Whim()
            }
        }
        await eventually { !told.all.isEmpty }
        #expect(told.all == ["kept"])
        token.remove()
    }

    @Test func `a handler runs after the commit and not on the writer's thread`() async throws {
        let database = try sandbox.database()
        let found = Record<Bool>()
        let token = database.core.hub.follow { [weak database] _ in
            guard let database else { return }
            found.append(
                !database.core.isInTransaction && (try? database.document(withID: "a")) != nil)
        }
        try database.create("a")
        await eventually { found.all == [true] }
        token.remove()
    }

    @Test func `a follower of one document is told of no other`() async throws {
        let database = try Database.inMemory()
        let (token, told) = try Self.follow(database, of: "b")
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        try database.inBatch {
            try database.create("d")
            try database.purge("b")
        }
        await eventually { told.all.count == 2 }
        #expect(told.all == ["b", "d b"])
        token.remove()
    }

    @Test func `a commit of very many documents is told from the feed, whole`() async throws {
        let database = try Database.inMemory()
        let sources = Record<ChangeSource>()
        let ids = Record<String>()
        let token = database.core.hub.follow { event in
            guard case .changed(let change) = event else { return }
            sources.append(change.source)
            for id in change.documentIDs { ids.append(id.text) }
        }
        let count = 2 * ChangeHub.largestCommit + 500
        try database.inBatch { for number in 0..<count { try database.create("\(number)") } }
        await eventually { ids.all.count == count }
        #expect(ids.all == (0..<count).map(String.init))
        #expect(Set(sources.all) == [.local])
        #expect(sources.all.count == 3)
        token.remove()
    }

    @Test func `what piles up behind a slow handler is forgotten and read instead`() async throws {
        let database = try sandbox.database()
        let (reached, gate) = (Gate(), Gate())
        let ids = Record<String>()
        let token = database.core.hub.follow { event in
            guard case .changed(let change) = event else { return }
            if change.documentIDs.map(\.text) == ["first"] {
                reached.open()
                gate.wait()
            }
            for id in change.documentIDs { ids.append(id.text) }
        }
        try database.create("first")
        await eventually { reached.isOpen }
        for batch in 0..<30 {
            try database.inBatch {
                for number in 0..<500 { try database.create("\(batch)-\(number)") }
            }
            let pending = database.core.hub.state.withLock { $0.pendingIDs }
            #expect(pending <= ChangeHub.largestPending)
        }
        gate.open()
        await eventually { ids.all.count >= 15_001 }
        #expect(Set(ids.all).count == 15_001)
        #expect(ids.all.count == 15_001)
        token.remove()
    }

    @Test func `a transaction carries its source`() async throws {
        let database = try Database.inMemory()
        let sources = Record<ChangeSource>()
        let token = database.core.hub.follow { event in
            if case .changed(let change) = event { sources.append(change.source) }
        }
        let url = ChangeSource.replication("http://example.org/db")
        try database.core.batch(source: url) { _ in _ = try database.create("a") }
        try database.create("b")
        try database.core.batch(source: url) { _ in
            for number in 0..<1_100 { try database.create("\(number)") }
        }
        await eventually { sources.all.count == 4 }
        #expect(sources.all == [url, .local, url, url])
        token.remove()
    }

    @Test func `following inside a batch begins before it`() async throws {
        let database = try sandbox.database()
        try database.create("before")
        let told = try database.inBatch {
            try database.create("a")
            let told = try Self.follow(database)
            try database.create("b")
            return told
        }
        // The hub noted no IDs before it was followed, so it reads the batch's first ones from the feed.
        await eventually { told.told.all == ["a b"] }
        told.token.remove()
    }

    @Test func `closing is told once and nothing after it`() async throws {
        let database = try sandbox.database()
        let (token, told) = try Self.follow(database)
        try database.create("a")
        await eventually { told.all == ["a"] }
        database.close()
        await eventually { told.all == ["a", "closed"] }
        let (late, toldLate) = try Self.follow(database)
        await eventually { toldLate.all == ["closed"] }
        token.remove()
        late.remove()
    }

    @Test func `a handler may cancel itself, write and close`() async throws {
        let database = try sandbox.database()
        let held = Mutex<ListenerToken?>(nil)
        let calls = Record<Int>()
        let token = database.core.hub.follow { [weak database] event in
            guard case .changed = event else { return }
            calls.append(1)
            held.withLock { $0 }?.remove()
            _ = try? database?.create("by the handler")
            database?.close()
        }
        held.withLock { $0 = token }
        try database.create("a")
        await eventually { database.isClosed }
        #expect(calls.all.count == 1)
        held.withLock { $0 = nil }
    }

    @Test func `without followers nothing is watched and nothing kept`() async throws {
        let database = try sandbox.database()
        let hub = database.core.hub
        let (first, _) = try Self.follow(database)
        let (second, _) = try Self.follow(database)
        #expect(hub.state.withLock { $0.watcher != nil && $0.mark != nil })
        first.remove()
        #expect(hub.state.withLock { $0.watcher != nil })
        second.remove()
        try database.create("a")
        #expect(hub.state.withLock { $0.watcher == nil && $0.mark == nil && $0.pending.isEmpty })
        #expect(!hub.isFollowed)
    }

    @Test func `the state agrees with itself, whatever writers and followers do`() async throws {
        for round in Soak.rounds(test: 20, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x4B)
            let database = try sandbox.database("hub \(round)")
            let hub = database.core.hub
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<2 {
                    var own = SeededRandom(seed: random.next(), UInt64(worker))
                    group.addTask { try Self.work(on: database, &own) }
                }
                for _ in 0..<50 {
                    hub.checkInvariants()
                    await Task.yield()
                }
                try await group.waitForAll()
            }
            hub.checkInvariants()
            #expect(hub.state.withLock { $0.followers.isEmpty })
            // A new follower is told of what comes now, and of nothing else.
            let (token, told) = try Self.follow(database)
            #expect(hub.state.withLock { $0.watcher != nil && $0.mark != nil }, "round \(round)")
            try database.create("last")
            let isTold = await eventually { told.all.contains { $0.hasSuffix("last") } }
            try #require(isTold, "round \(round): \(told.all)")
            // An empty one says that a handle was closed, or that the watching was taken up again.
            #expect(told.all.filter { !$0.isEmpty } == ["last"], "round \(round)")
            hub.checkInvariants()
            if random.oneIn(2) { try database.create("closing") }
            database.close()
            hub.checkInvariants()
            token.remove()
            hub.checkInvariants()
        }
    }

    // A check that begins while the first follower is added, and ends after `follow` has returned.
    @Test func `a check while following begins lets no later commit pass unseen`() async throws {
        let database = try sandbox.database()
        let (hub, core) = (database.core.hub, database.core)
        hub.queue.suspend()
        let (token, told) = try Self.follow(database)
        let (mark, epoch) = hub.state.withLock { ($0.mark, $0.epoch) }
        try database.create("a")
        #expect(try core.committedMark() != mark)
        #expect(hub.findMark(core, nil, epoch) == mark)
        // Where the mark could not be read, a commit that waits gives one: the counters are beyond it.
        hub.state.withLock { $0.mark = nil }
        #expect(hub.findMark(core, nil, epoch) == nil)
        #expect(hub.findMark(core, hub.state.withLock { $0.pending.first }, epoch) == mark)
        #expect(hub.findMark(core, nil, epoch + 1) == nil)
        hub.queue.resume()
        await eventually { told.all.contains("a") }
        #expect(told.all.filter { !$0.isEmpty } == ["a"])
        token.remove()
    }

    /// Follows, lets go, writes, and pauses, by chance.
    private static func work(on database: Database, _ random: inout SeededRandom)
        throws
    {
        var tokens: [ListenerToken] = []
        let hub = database.core.hub
        for _ in 0..<25 {
            switch random.below(8) {
            case 0, 1: tokens.append(try follow(database).token)
            case 2: tokens.append(try follow(database, of: "d\(random.below(3))").token)
            case 3, 4:
                if !tokens.isEmpty { tokens.remove(at: random.below(tokens.count)).remove() }
            case 5:
                hub.pause()
                hub.takeUpAgain()
            case 6: try database.purge("d\(random.below(3))")
            default:
                let id: DocumentID = "d\(random.below(3))"
                // The other one may have been faster.
                _ = try? database.put(
                    id, [:], parent: database.document(withID: id)?.revisionID)
            }
            hub.checkInvariants()
        }
        for token in tokens { token.remove() }
        hub.checkInvariants()
    }

    @Test func `a token that is let go of ends the following`() throws {
        let database = try sandbox.database()
        do { _ = try Self.follow(database) }
        #expect(!database.core.hub.isFollowed)
    }
}
