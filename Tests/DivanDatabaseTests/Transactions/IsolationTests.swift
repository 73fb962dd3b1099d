// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// What one thread or task sees of another one's batch: nothing, until it is committed.
@Suite struct IsolationTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test func `a reader beside a batch sees nothing of it and does not wait`() throws {
        try database.create("old")
        // writer                          reader
        // batch: create new
        //        go ──────────────────►   reads: only old
        //        ◄────────────────── seen
        // commit
        let go = Gate()
        let seen = Gate()
        let writer = Running { [database] in
            try database.inBatch {
                try database.create("new")
                go.open()
                #expect(seen.wait())
            }
        }
        #expect(go.wait())
        #expect(try database.allDocuments().map(\.id) == ["old"])
        #expect(try database.document(withID: "new") == nil)
        #expect(try database.lastSequence == 1)
        #expect(try database.changes(since: 1).changes.isEmpty)
        seen.open()
        _ = try writer.value()
        #expect(try database.contains("new"))
    }

    @Test func `a writer beside a batch waits for its end and sees its work`() throws {
        // first                           second
        // batch: create a
        //        go ──────────────────►   save b · · ·
        //        (50 ms: still waiting)
        // commit ─────────────────────►   saved: sequence 2
        let go = Gate()
        let end = Gate()
        let first = Running { [database] in
            try database.inBatch {
                try database.create("a")
                go.open()
                #expect(end.wait())
            }
        }
        #expect(go.wait())
        let second = Running { [database] in
            try database.write { transaction in
                #expect(try transaction.document(withID: "a") != nil)
                return try transaction.save(MutableDocument(id: "b")).document.sequence
            }
        }
        #expect(!second.isDone(within: 50))
        end.open()
        _ = try first.value()
        #expect(try second.value() == 2)
    }

    @Test func `readers see each batch whole or not at all`() throws {
        let rounds = 60
        try database.inBatch {
            for name: DocumentID in ["x", "y", "z"] { try database.create(name, ["n": 0]) }
        }
        let flag = Flag()
        let readers = (0..<3).map { _ in
            Running { [database] in
                var views = 0
                while !flag.isSet {
                    let numbers = try database.read { transaction in
                        try ["x", "y", "z"].map { name in
                            try transaction.document(withID: name)?.int(forKey: "n")
                        }
                    }
                    #expect(Set(numbers).count == 1)
                    views += 1
                }
                return views
            }
        }
        for round in 1...rounds {
            try database.inBatch {
                for name: DocumentID in ["x", "y", "z"] {
                    try database.update(name) { $0["n"] = Fragment(round) }
                }
            }
        }
        flag.set()
        for reader in readers { #expect(try (reader.value() ?? 0) > 0) }
        #expect(try database.existing("z")["n"].int == rounds)
    }

    @Test func `one read sees one moment whatever commits meanwhile`() throws {
        try database.create("a", ["n": 1])
        let go = Gate()
        let done = Gate()
        let writer = Running { [database] in
            go.wait()
            try database.update("a") { $0["n"] = 2 }
            try database.create("b")
            done.open()
        }
        try database.read { transaction throws in
            #expect(try transaction.document(withID: "a")?.int(forKey: "n") == 1)
            go.open()
            #expect(done.wait())
            #expect(try transaction.document(withID: "a")?.int(forKey: "n") == 1)
            #expect(try !transaction.contains("b"))
            #expect(try transaction.documentCount == 1)
            #expect(try transaction.lastSequence == 1)
            #expect(try transaction.changes().changes.count == 1)
        }
        _ = try writer.value()
        #expect(try database.documentCount == 2)
    }

    @Test func `a batch belongs to its thread and another thread's save is not in it`() throws {
        let inside = Gate()
        let batch = Running { [database] in
            try database.inBatch {
                try database.create("mine")
                inside.open()
                throw Whim()
            }
        }
        inside.wait()
        // Waits for the batch, which is rolled back, and is not undone with it.
        try database.create("theirs")
        #expect(throws: Whim()) { try batch.value() }
        #expect(try database.allDocuments().map(\.id) == ["theirs"])
        #expect(try database.lastSequence == 1)
    }

    @Test func `writers of many threads take turns and lose nothing`() throws {
        let work = (0..<6).map { thread in
            Running { [database] in
                for step in 0..<20 {
                    try database.inBatch {
                        try database.create("\(thread)-\(step)-a")
                        try database.create("\(thread)-\(step)-b")
                    }
                }
            }
        }
        for one in work { _ = try one.value() }
        #expect(try database.documentCount == 240)
        #expect(try database.lastSequence == 240)
        // The two documents of a batch have neighbouring sequences.
        let changes = try database.changes().changes.map(\.id.text)
        for index in stride(from: 0, to: changes.count, by: 2) {
            #expect(changes[index].dropLast() == changes[index + 1].dropLast())
        }
        #expect(try database.problems() == [])
    }

    @Test func `a long wait for another thread's batch is told once`() throws {
        let log = DatabaseLog(of: "patient")
        let database = try sandbox.database("patient")
        database.warnOfWaits(after: .milliseconds(20))
        let inside = Gate()
        let end = Gate()
        let batch = Running {
            try database.inBatch {
                inside.open()
                end.wait()
            }
        }
        inside.wait()
        let waiting = ["a", "b"].map { id in Running { try database.create(id) } }
        eventually { !log.messages(.warning).isEmpty }
        #expect(!waiting[0].isDone(within: 60))
        end.open()
        for one in waiting { _ = try one.value() }
        _ = try batch.value()
        #expect(log.messages(.warning).count == 1)
    }

    @Test func `short waits are not told`() throws {
        let log = DatabaseLog(of: "hasty")
        let database = try sandbox.database("hasty")
        database.warnOfWaits(after: .seconds(60))
        let work = (0..<4).map { thread in
            Running {
                for step in 0..<10 { try database.create("\(thread)-\(step)") }
            }
        }
        for one in work { _ = try one.value() }
        #expect(log.messages(.warning).isEmpty)
    }
}
