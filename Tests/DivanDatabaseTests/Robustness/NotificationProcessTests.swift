// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

@testable import DivanDatabase

/// What one process commits, the listeners of another hear of.
@Suite struct NotificationProcessTests {
    private static func child(on directory: TestDirectory) async throws -> UncheckedBox<TestChild> {
        try await offPool {
            let child = try TestChild("serve", directory.path("app.divan"))
            #expect(child.readLine() == "ready")
            return UncheckedBox(child)
        }
    }

    @Test func `another process's changes, deletions and purges are told as such`() async throws {
        let directory = try TestDirectory("told")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { database.close() }
        let child = try await Self.child(on: directory)
        let told = Record<DocumentChange>()
        let token = try database.addChangeListener { change in
            for change in change.changes { told.append(change) }
        }
        let one = Record<DocumentChange>()
        let tokenOfOne = try database.addDocumentChangeListener(for: "a") { one.append($0) }
        let lines = ["save a 1", "save b 1", "delete a", "purge a"]
        for (index, line) in lines.enumerated() {
            _ = try await offPool { try child.value.ask(line) }
            await eventually { told.all.count == index + 1 }
        }
        #expect(told.all.map(\.documentID) == ["a", "b", "a", "a"])
        #expect(told.all.map(\.sequence) == [1, 2, 3, nil])
        #expect(told.all.map(\.isDeletion) == [false, false, true, false])
        #expect(told.all.map(\.isPurge) == [false, false, false, true])
        #expect(told.all.allSatisfy { $0.source == .otherProcess })
        await eventually { one.all.last?.isPurge == true }
        #expect(one.all == told.all.filter { $0.documentID == "a" })
        #expect(try await offPool { child.value.finish() } == 0)
        token.remove()
        tokenOfOne.remove()
    }

    @Test func `of interleaved commits of two processes each is told once, with its maker`()
        async throws
    {
        let directory = try TestDirectory("interleaved")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { database.close() }
        let child = try await Self.child(on: directory)
        let told = Record<DocumentChange>()
        let heard = Record<DocumentID>()
        let token = try database.addChangeListener { change in
            for change in change.changes { told.append(change) }
        }
        let hubToken = database.core.hub.follow { event in
            guard case .changed(let change) = event else { return }
            for id in change.documentIDs { heard.append(id) }
        }
        let count = Soak.count(test: 500, soak: 10_000)
        async let made = offPool { try child.value.ask("make \(count)") }
        for number in 0..<count { try database.create("own-\(number)") }
        #expect(try await made == "made")
        await eventually { told.all.count >= 2 * count && heard.all.count >= 2 * count }
        #expect(told.all.count == 2 * count)
        #expect(told.all.compactMap(\.sequence) == (1...UInt64(2 * count)).map { $0 })
        for change in told.all {
            let isOwn = change.documentID.text.hasPrefix("own-")
            #expect(change.source == (isOwn ? .local : .otherProcess))
        }
        #expect(heard.all.count == 2 * count)
        #expect(Set(heard.all).count == 2 * count)
        #expect(try await offPool { child.value.finish() } == 0)
        token.remove()
        hubToken.remove()
    }

    @Test func `whoever follows another process's commits ends with what a fresh read finds`()
        async throws
    {
        let directory = try TestDirectory("mirror")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { database.close() }
        let child = try await Self.child(on: directory)
        let changes = try database.databaseChanges
        let commits = Soak.count(test: 500, soak: 10_000)
        let seed = Soak.seed
        async let churned = offPool { try child.value.ask("churn \(commits) \(seed)") }
        // The mirror learns from changes alone: a purge empties, all else names the place in the feed.
        let mirror = Task {
            var mirror: [String: SequenceNumber] = [:]
            for await change in changes {
                for change in change.changes { mirror[change.documentID.text] = change.sequence }
                if mirror["end"] != nil { break }
            }
            return mirror
        }
        #expect(try await churned == "churned")
        _ = try await offPool { try child.value.ask("save end 1") }
        var fresh: [String: SequenceNumber] = [:]
        for change in try database.changes().changes { fresh[change.id.text] = change.sequence }
        #expect(await mirror.value == fresh, "seed \(seed)")
        #expect(fresh.count > 20)
        #expect(try await offPool { child.value.finish() } == 0)
    }

    @Test func `a writer killed between its commit and the bell is noticed all the same`()
        async throws
    {
        let directory = try TestDirectory("killed")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { database.close() }
        let told = Record<DocumentChange>()
        let token = try database.addDocumentChangeListener(for: "a") { told.append($0) }
        // The child rings another file than the one watched here, as if it had not come to ringing.
        let changes = directory.path("app.divan/changes")
        try FileManager.default.moveItem(atPath: changes, toPath: changes + ".watched")
        try FileManager.default.copyItem(atPath: changes + ".watched", toPath: changes)
        let child = try await Self.child(on: directory)
        _ = try await offPool { try child.value.ask("save a 1") }
        child.value.kill()
        await eventually { told.all.map(\.sequence) == [1] }
        #expect(told.all.map(\.source) == [.otherProcess])
        token.remove()
    }
}
