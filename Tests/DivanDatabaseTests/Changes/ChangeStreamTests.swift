// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite(.timeLimit(.minutes(10))) struct ChangeStreamTests {
    private let sandbox = Sandbox()

    @Test func `a stream gives what is there and then what comes`() async throws {
        let database = try sandbox.database()
        try database.save(MutableDocument(id: "a"))
        var stream = database.changeStream().makeAsyncIterator()
        #expect(try await stream.next()?.changes.map(\.id) == ["a"])
        let saver = Task { try database.save(MutableDocument(id: "b")) }
        #expect(try await stream.next()?.changes.map(\.id) == ["b"])
        _ = try await saver.value
    }

    @Test func `a stream begins after a sequence and gives batches of a limit`() async throws {
        let database = try sandbox.database()
        try database.inBatch {
            for number in 0..<7 { try database.save(MutableDocument(id: "\(number)")) }
        }
        var stream = database.changeStream(since: 2, limit: 2).makeAsyncIterator()
        #expect(try await stream.next()?.changes.map(\.id) == ["2", "3"])
        #expect(try await stream.next()?.changes.map(\.id) == ["4", "5"])
        #expect(try await stream.next()?.changes.map(\.id) == ["6"])
    }

    @Test func `a slow reader gets a document that changed twice once`() async throws {
        let database = try sandbox.database()
        var stream = database.changeStream().makeAsyncIterator()
        for number in 0..<5 {
            try database.write { transaction in
                let document =
                    try transaction.document(withID: "a")?.toMutable()
                    ?? MutableDocument(id: "a")
                document["n"] = Fragment(number)
                try transaction.save(document)
            }
        }
        let batch = try await stream.next()
        #expect(batch?.changes.map(\.sequence) == [5])
    }

    @Test func `a stream hears of another handle on the directory`() async throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        #expect(first !== second)
        var stream = first.changeStream().makeAsyncIterator()
        let saver = Task { try second.save(MutableDocument(id: "a")) }
        #expect(try await stream.next()?.changes.map(\.id) == ["a"])
        _ = try await saver.value
    }

    @Test func `a stream ends when its database is closed`() async throws {
        let database = try sandbox.database()
        let started = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            var stream = database.changeStream().makeAsyncIterator()
            started.continuation.finish()
            return try await stream.next() == nil
        }
        for await _ in started.stream {}
        database.close()
        #expect(try await reader.value)
    }

    @Test func `a stream ends when its handle is closed though another is open`() async throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        let reader = Task {
            var stream = first.changeStream().makeAsyncIterator()
            return try await stream.next() == nil
        }
        try await Task.sleep(for: .milliseconds(30))
        first.close()
        #expect(try await reader.value)
        #expect(!second.isClosed)
    }

    @Test func `a stream ends when its task is cancelled`() async throws {
        let database = try sandbox.database()
        let reader = Task {
            var count = 0
            for try await batch in database.changeStream() { count += batch.changes.count }
            return count
        }
        try database.save(MutableDocument(id: "a"))
        try await Task.sleep(for: .milliseconds(30))
        reader.cancel()
        #expect(try await reader.value <= 1)
    }

    @Test func `a rolled back batch rings no bell`() async throws {
        let database = try sandbox.database()
        var stream = database.changeStream().makeAsyncIterator()
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.save(MutableDocument(id: "undone"))
                throw Whim()
            }
        }
        try database.save(MutableDocument(id: "kept"))
        #expect(try await stream.next()?.changes.map(\.id) == ["kept"])
    }

    @Test func `several streams see every document of several writers`() async throws {
        let database = try sandbox.database()
        let readers = (0..<3).map { _ in
            Task {
                var seen: Set<String> = []
                for try await batch in database.changeStream(limit: 7) {
                    seen.formUnion(batch.changes.map(\.id.text))
                    if seen.count == 60 { break }
                }
                return seen.count
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<3 {
                group.addTask {
                    for step in 0..<20 {
                        try database.save(MutableDocument(id: "\(task)-\(step)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        for reader in readers { #expect(try await reader.value == 60) }
    }

    @Test func `streams that come and go leave nothing behind`() async throws {
        let database = try sandbox.database()
        for number in 0..<50 {
            var stream = database.changeStream(since: SequenceNumber(number)).makeAsyncIterator()
            try database.save(MutableDocument(id: "\(number)"))
            #expect(try await stream.next()?.changes.count == 1)
        }
    }
}
