// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanDatabase

@Suite(.timeLimit(.minutes(10))) struct ChangeListenerTests {
    private let sandbox = Sandbox()

    @Test func `a listener gets each change after its commit, one call at a time`() async throws {
        let database = try sandbox.database()
        let told = Record<String>()
        let inside = Atomic<Int>(0)
        let token = try database.addChangeListener { change in
            #expect(inside.add(1, ordering: .relaxed).newValue == 1)
            for id in change.documentIDs { told.append(id.text) }
            _ = inside.subtract(1, ordering: .relaxed)
        }
        let ids = (0..<100).map(String.init)
        for id in ids { try database.create(DocumentID(id)) }
        await eventually { told.all.count == 100 }
        #expect(told.all == ids)
        token.remove()
        try database.create("unheard")
        #expect(told.all == ids)
    }

    @Test func `a listener runs on the queue it asks for`() async throws {
        let database = try sandbox.database()
        let queue = DispatchQueue(label: "the app's")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let found = Record<Bool>()
        let all = try database.addChangeListener(on: queue) { _ in
            found.append(DispatchQueue.getSpecific(key: key) == true)
        }
        let one = try database.addDocumentChangeListener(for: "a", on: queue) { _ in
            found.append(DispatchQueue.getSpecific(key: key) == true)
        }
        try database.create("a")
        await eventually { found.all == [true, true] }
        all.remove()
        one.remove()
    }

    @Test func `a document's listener is told of that document only`() async throws {
        let database = try sandbox.database()
        let told = Record<DocumentChange>()
        let token = try database.addDocumentChangeListener(for: "a") { told.append($0) }
        for id: DocumentID in ["b", "a", "c"] { try database.create(id) }
        try database.purge("a")
        await eventually { told.all.last?.isPurge == true }
        #expect(told.all.allSatisfy { $0.documentID == "a" })
        #expect(told.all.count <= 2)
        token.remove()
    }

    @Test func `a slow listener gets the last state and few calls`() async throws {
        let database = try Database.inMemory()
        let gate = Gate()
        let calls = Record<DatabaseChange>()
        let token = try database.addChangeListener { change in
            calls.append(change)
            gate.wait()
        }
        try database.create("a")
        await eventually { calls.all.count == 1 }
        let edits = Soak.count(test: 2_000, soak: 100_000)
        for number in 0..<edits {
            try database.update("a") { $0.set(number, forKey: "n") }
        }
        gate.open()
        let last = try database.existing("a").sequence
        await eventually { calls.all.last?.lastSequence == last }
        #expect(calls.all.count == 2)
        #expect(calls.all.last?.changes.map(\.sequence) == [last])
        token.remove()
    }

    @Test func `a listener may read, write and remove itself`() async throws {
        let database = try sandbox.database()
        let token = Mutex<ListenerToken?>(nil)
        let calls = Record<[DocumentID]>()
        let listener = try database.addChangeListener { [weak database] change in
            calls.append(change.documentIDs)
            if change.documentIDs == ["a"] {
                _ = try? database?.create("b")
            } else {
                token.withLock { $0 }?.remove()
                _ = try? database?.create("c")
            }
        }
        token.withLock { $0 = listener }
        try database.create("a")
        await eventually { (try? database.contains("c")) == true }
        try database.create("d")
        #expect(calls.all == [["a"], ["b"]])
        token.withLock { $0 = nil }
    }

    @Test func `a listener may close the database and is not called after that`() async throws {
        let database = try sandbox.database()
        let calls = Record<Int>()
        let token = try database.addChangeListener { [weak database] _ in
            calls.append(1)
            database?.close()
        }
        try database.create("a")
        await eventually { database.isClosed }
        let again = try sandbox.database()
        try again.create("b")
        #expect(calls.all.count == 1)
        token.remove()
    }

    @Test func `a handle that is closed ends its listeners though another is open`() async throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        let told = Record<String>()
        let token = try first.addChangeListener { change in
            for id in change.documentIDs { told.append("first \(id)") }
        }
        let other = try second.addChangeListener { change in
            for id in change.documentIDs { told.append("second \(id)") }
        }
        try second.create("a")
        await eventually { told.all.count == 2 }
        first.close()
        try second.create("b")
        await eventually { told.all.contains("second b") }
        #expect(!told.all.contains("first b"))
        token.remove()
        other.remove()
    }

    @Test func `a listener goes with its token and keeps nothing alive`() async throws {
        final class Captured: Sendable {}
        weak var weakCaptured: Captured?
        weak var weakDatabase: Database?
        do {
            let database = try sandbox.database()
            let captured = Captured()
            weakCaptured = captured
            weakDatabase = database
            let calls = Record<Int>()
            do {
                let token = try database.addChangeListener { [captured] _ in
                    _ = captured
                    calls.append(1)
                }
                try database.create("a")
                await eventually { calls.all.count == 1 }
                token.remove()
            }
            #expect(!database.core.hub.isFollowed)
            _ = try database.addDocumentChangeListener(for: "a") { _ in calls.append(2) }
            await eventually { !database.core.hub.isFollowed }
        }
        await eventually { weakCaptured == nil && weakDatabase == nil }
    }

    @Test func `a token does not keep its database open`() async throws {
        var database: Database? = try sandbox.database()
        let token = try database?.addChangeListener { _ in }
        weak let core = database?.core
        database = nil
        await eventually { core == nil || core?.isClosed == true }
        token?.remove()
    }

    @Test func `listeners that come and go under writers miss nothing they should hear`()
        async throws
    {
        let database = try sandbox.database()
        let count = Soak.count(test: 200, soak: 5_000)
        let steady = Record<String>()
        let token = try database.addChangeListener { change in
            for change in change.changes { steady.append(change.documentID.text) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                group.addTask {
                    for number in 0..<count { try database.create("\(writer)-\(number)") }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for number in 0..<count / 4 {
                        let heard = Flag()
                        let id: DocumentID = "0-\(number)"
                        let visitor = try database.addDocumentChangeListener(for: id) { _ in
                            heard.set()
                        }
                        // Whatever was not there yet when it came, it must hear of.
                        let isThere = try database.contains(id)
                        if !isThere { await eventually { heard.isSet } }
                        visitor.remove()
                    }
                }
            }
            try await group.waitForAll()
        }
        await eventually { steady.all.count >= 2 * count }
        #expect(steady.all.count == 2 * count)
        #expect(Set(steady.all).count == 2 * count)
        token.remove()
    }
}
