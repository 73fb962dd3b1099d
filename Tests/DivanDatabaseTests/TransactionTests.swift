// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct TransactionTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `write commits when its closure returns and returns its value`() throws {
        let sequence = try database.write { transaction in
            try transaction.save(MutableDocument(id: "a")).document.sequence
        }
        #expect(sequence == 1)
        #expect(try database.contains("a"))
    }

    @Test func `write undoes everything when its closure throws`() throws {
        #expect(throws: Whim()) {
            try database.write { transaction in
                _ = try transaction.save(MutableDocument(id: "a"))
                _ = try transaction.put("b", [:], parent: nil)
                _ = try transaction.putExistingRevision("c", history: ["1-c"], [:])
                try transaction.putLocalDocument("l", [:])
                throw Whim()
            }
        }
        #expect(try database.lastSequence == 0)
        #expect(try database.localDocument("l") == nil)
    }

    @Test func `a write transaction does all that the database does`() throws {
        try database.write { transaction in
            let document = try transaction.save(MutableDocument(["n": 1], id: "a")).document
            _ = try transaction.update("a") { $0["n"] = 2 }
            #expect(code { try transaction.delete(document, .failOnConflict) } == .conflict)
            #expect(try transaction.document(withID: "a")?["n"].int == 2)
            #expect(try transaction.revisionTree(of: "a")?.nodes.count == 2)
            _ = try transaction.delete("a")
            #expect(try transaction.document(withID: "a") == nil)
            _ = try transaction.save(MutableDocument(id: "b"))
            #expect(try transaction.purge("b"))
            #expect(try transaction.purge("a", revisions: []) == [])
            try transaction.deleteLocalDocument("l")
            #expect(try transaction.read { try $0.documentCount } == 0)
            let copy = document.toMutable()
            copy["n"] = 3
            let result = try transaction.save(copy) { _, theirs in
                #expect(theirs == nil)
                return true
            }
            #expect(result?.overrode == true)
        }
        #expect(try database.existing("a")["n"].int == 3)
        #expect(try database.problems() == [])
    }

    @Test func `read gives its closure's value and passes its error on`() throws {
        try database.create("a")
        #expect(try database.read { try $0.contains("a") })
        #expect(throws: Whim()) { try database.read { _ in throw Whim() } }
        try database.create("b")
    }

    @Test func `reads may be nested and made inside a write`() throws {
        try database.write { transaction in
            _ = try transaction.save(MutableDocument(id: "a"))
            let count = try database.read { outer in
                try database.read { try $0.documentCount } + (try outer.documentCount)
            }
            #expect(count == 2)
        }
    }

    // MARK: - Asynchronous forms

    @Test func `async methods do what the blocking ones do`() async throws {
        let database = database
        let id = try await database.write { try $0.save(MutableDocument(["n": 1])).document.id }
        #expect(try await database.document(withID: id)?["n"].int == 1)
        #expect(try await database.read { try $0.documentCount } == 1)
        let result = try await database.save(MutableDocument(id: "b"), .failOnConflict)
        #expect(result.document.sequence == 2)
        let count = try await database.inBatch {
            try database.create("c")
            return try database.documentCount
        }
        #expect(count == 3)
    }

    @Test func `an error in an async write undoes it and is passed on`() async throws {
        let database = database
        await #expect(throws: Whim()) {
            try await database.write { transaction in
                _ = try transaction.save(MutableDocument(id: "a"))
                throw Whim()
            }
        }
        #expect(try await database.read { try $0.lastSequence } == 0)
    }

    @Test func `async writes of many tasks are all committed`() async throws {
        let database = database
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<20 {
                group.addTask {
                    for step in 0..<5 {
                        try await database.save(MutableDocument(id: "\(task)-\(step)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.read { try $0.documentCount } == 100)
    }

    @Test func `waiting writers do not occupy the threads of tasks`() async throws {
        let database = database
        let inside = Gate()
        let end = Gate()
        let batch = Running {
            try database.inBatch {
                inside.open()
                end.wait()
            }
        }
        inside.wait()
        // More waiting tasks than the pool has threads; another task must still run.
        let writers = (0..<64).map { number in
            Task { try await database.save(MutableDocument(id: "\(number)")) }
        }
        let bystander = Task { 42 }
        #expect(await bystander.value == 42)
        #expect(try await database.read { try $0.documentCount } == 0)
        end.open()
        for writer in writers { _ = try await writer.value }
        _ = try batch.value()
        #expect(try await database.read { try $0.documentCount } == 64)
    }

    @Test func `a write cancelled while it waits is not done`() async throws {
        let database = database
        let inside = Gate()
        let end = Gate()
        let batch = Running {
            try database.inBatch {
                inside.open()
                end.wait()
            }
        }
        inside.wait()
        let writer = Task { try await database.save(MutableDocument(id: "a")) }
        writer.cancel()
        end.open()
        await #expect(throws: CancellationError.self) { _ = try await writer.value }
        _ = try batch.value()
        #expect(try await database.document(withID: "a") == nil)
    }

    @Test func `a cancelled task begins neither reads nor writes`() async throws {
        let database = database
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect(throws: CancellationError.self) {
                try await database.save(MutableDocument(id: "a"))
            }
            await #expect(throws: CancellationError.self) {
                try await database.document(withID: "a")
            }
            await #expect(throws: CancellationError.self) {
                try await database.read { try $0.documentCount }
            }
        }
        task.cancel()
        await task.value
        #expect(try await database.read { try $0.lastSequence } == 0)
    }
}
