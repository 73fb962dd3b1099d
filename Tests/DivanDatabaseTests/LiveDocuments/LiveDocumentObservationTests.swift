// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanTestSupport
import FoundationEssentials
import Observation
import Synchronization
import Testing

/// Observers are told after the commit, of what concerns them, and miss nothing.
@Suite struct LiveDocumentObservationTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let document: LiveDocument

    init() throws { (database, document) = try sandbox.liveDocument(["n": 0]) }

    /// Reads something while being tracked; the flag says when it has changed.
    private func track<T>(_ read: () -> T) -> Flag {
        let flag = Flag()
        withObservationTracking {
            _ = read()
        } onChange: {
            flag.set()
        }
        return flag
    }

    /// Waits until all that has been committed so far is told.
    private func settle() async throws {
        let marker = try database["marker"]
        let told = track { marker.exists }
        try marker.update { $0.set($0.int(forKey: "n") + 1, forKey: "n") }
        await eventually { told.isSet }
    }

    @Test func `whoever looked at a document is told when it has another revision`() async throws {
        let flags = [
            track { document["n"].int }, track { document.properties },
            track { document.userProperties }, track { document.currentRevision },
            track { document.currentRevisionID }, track { document.exists },
            track { document.isDeleted }, track { document.isGone }, track { document.keys },
            track { document.count }, track { document.sequence },
            track { document.int(forKey: "n") }, track { document.loadFailure },
        ]
        try database.create("b")
        try await settle()
        #expect(flags.allSatisfy { !$0.isSet })
        try database.update("a") { $0["n"] = 1 }
        await eventually { flags.allSatisfy(\.isSet) }
    }

    @Test func `a losing revision changes the conflict and not the properties`() async throws {
        try document.putExistingRevision(["n": 9], history: ["9-z"])
        try await settle()
        let (content, conflict) = (track { document["n"].int }, track { document.isConflicted })
        let leaves = track { try? document.leafRevisions }
        try document.putExistingRevision(["n": 8], history: ["8-z"])
        try await settle()
        #expect(!content.isSet && leaves.isSet)
        // It was in conflict before, and has more leaves now.
        #expect(conflict.isSet && document["n"].int == 9)
    }

    @Test func `deletion, restoring and purging are told`() async throws {
        for change: () throws -> Void in [
            { try document.delete() }, { try document.update { $0["n"] = 2 } },
            { try document.purge() }, { try document.putProperties(["n": 0]) },
        ] {
            let flag = track { document.exists }
            try change()
            await eventually { flag.isSet }
        }
    }

    @Test func `what another handle and another process do is told`() async throws {
        let other = try sandbox.database()
        let flag = track { document["n"].int }
        try other.update("a") { $0["n"] = 1 }
        await eventually { flag.isSet }
        #expect(document["n"].int == 1)
        let path = sandbox.url().path(percentEncoded: false)
        let again = track { document["n"].int }
        try await offPool {
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("save a 2")?.hasPrefix("saved") == true)
            #expect(child.finish() == 0)
        }
        await eventually { again.isSet }
        #expect(document["n"].int == 2)
    }

    @Test func `a batch is told once and after its commit, and not when it is rolled back`()
        async throws
    {
        try await settle()
        let count = Atomic<Int>(0)
        func observe() {
            withObservationTracking {
                _ = document["n"].int
            } onChange: {
                count.add(1, ordering: .relaxed)
            }
        }
        observe()
        #expect(throws: Whim()) {
            try database.inBatch {
                try document.update { $0["n"] = 1 }
                throw Whim()
            }
        }
        try await settle()
        #expect(count.load(ordering: .relaxed) == 0)
        let before = try database.inBatch {
            for number in 2...9 { try document.update { $0.set(number, forKey: "n") } }
            return count.load(ordering: .relaxed)
        }
        #expect(before == 0)
        await eventually { count.load(ordering: .relaxed) == 1 }
        try await settle()
        #expect(count.load(ordering: .relaxed) == 1 && document["n"].int == 9)
    }

    @Test func `observers are told on no thread that writes and may write themselves`() async throws
    {
        let wrote = Gate()
        let inTransaction = Flag()
        withObservationTracking {
            _ = document["n"].int
        } onChange: { [database, document] in
            if database.core.isInTransaction { inTransaction.set() }
            _ = try? document.update { $0["seen"] = true }
            wrote.open()
        }
        try document.update { $0["n"] = 1 }
        try await offPool { #expect(wrote.wait()) }
        #expect(!inTransaction.isSet)
        #expect(document.userProperties == ["n": 1, "seen": true])
    }

    @Test func `who observes again and again sees the last state in the end`() async throws {
        // As a user interface does: draw, be told, draw again.
        let rounds = Soak.count(test: 300, soak: 20_000)
        let shown = Record<Int>()
        let screen = Screen(document, shown)
        screen.draw()
        try await Self.write(rounds, to: database)
        await eventually { shown.all.last == rounds }
        #expect(shown.all == shown.all.sorted())
    }

    private static func write(_ rounds: Int, to database: Database) async throws {
        for number in 1...rounds {
            try database.inBatch {
                try database.update("a") { $0.set(number, forKey: "n") }
            }
        }
    }

    /// Draws a property whenever it has changed, one drawing at a time.
    private final class Screen: Sendable {
        private let document: LiveDocument
        private let shown: Record<Int>
        private let drawing = Mutex(())

        init(_ document: LiveDocument, _ shown: Record<Int>) {
            self.document = document
            self.shown = shown
        }

        func draw() {
            withObservationTracking {
                drawing.withLock { _ in shown.append(document.int(forKey: "n")) }
            } onChange: { [self] in
                Task { draw() }
            }
        }
    }

    @Test func `a change between looking and being registered is not missed`() async throws {
        let told = Flag()
        try await settle()
        // Observation registers an observer after it has looked. What happens in between:
        //
        //     observer              writer              queue of notifications
        //     reads 0
        //                           commits 1
        //                                               tells all observers: none yet
        //     is registered
        let document = document
        try await offPool {
            withObservationTracking {
                #expect(document["n"].int == 0)
                let other = Flag()
                withObservationTracking {
                    _ = document["n"].int
                } onChange: {
                    other.set()
                }
                _ = try? Running { try document.update { $0["n"] = 1 } as SavedRevision }.value()
                while !other.isSet { Gate().wait(milliseconds: 1) }
                Gate().wait(milliseconds: 5)
            } onChange: {
                told.set()
            }
        }
        await eventually { told.isSet }
    }
}
