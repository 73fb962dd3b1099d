// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// `perform` and `performBatch`: blocking calls off the thread of a task.
@Suite struct PerformTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    // MARK: - Leaving the thread

    @Test func `perform makes its calls outside of any task and returns their result`()
        async throws
    {
        let saved = try await database.perform { database in
            #expect(withUnsafeCurrentTask { $0 == nil })
            return try database.save(MutableDocument(["n": 1], id: "a")).document
        }
        #expect(try database.document(withID: "a") == saved)
        let manager = try sandbox.manager()
        let name = try await manager.perform { try $0.database(named: "other").name }
        #expect(name == "other")
        let url = sandbox.url("third")
        let third = try await Database.perform { try sandbox.database("third") }
        third.close()
        #expect(try await Database.perform { try Database.open(at: url) }.documentCount == 0)
    }

    @Test func `what a perform throws reaches the task`() async throws {
        await #expect(throws: Whim()) { try await database.perform { _ in throw Whim() } }
        #expect(
            await code { try await database.perform { try $0.delete("a") } } == .documentNotFound)
    }

    @Test func `the calls of a performBatch are one transaction`() async throws {
        let count = try await database.performBatch { database in
            try database.create("a")
            try database.create("b")
            return try database.documentCount
        }
        #expect(count == 2)
        await #expect(throws: Whim()) {
            try await database.performBatch { database in
                try database.create("c")
                throw Whim()
            }
        }
        #expect(try !database.contains("c"))
    }

    @Test func `blocking calls and performs of many tasks are all done`() async throws {
        let database = database
        try database.save(MutableDocument(["n": 0], id: "a"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<12 {
                group.addTask {
                    for _ in 0..<5 {
                        switch task % 3 {
                        case 0: try Self.count(database)
                        case 1: try await database.perform { try Self.count($0) }
                        default: try await database.performBatch { try Self.count($0) }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try database.document(withID: "a")?["n"].int == 60)
    }

    private static func count(_ database: Database) throws {
        try database.update("a") { $0.set($0.int(forKey: "n") + 1, forKey: "n") }
    }

    // MARK: - Waiting for the writer

    @Test func `two hundred writes that wait for a batch keep no read waiting`() async throws {
        let database = database
        let (batch, end) = holdWriter()
        let begun = Record<Int>()
        let writers = (0..<200).map { number in
            Task {
                try await database.perform { database in
                    begun.append(number)
                    try database.create("\(number)")
                }
            }
        }
        // All of them have begun, so all of them wait, and this read comes after them.
        await eventually { begun.all.count == 200 }
        #expect(try await database.perform { try $0.documentCount } == 0)
        end.open()
        for writer in writers { _ = try await writer.value }
        try batch.value()
        #expect(try database.documentCount == 200)
    }

    @Test func `a thousand batches wait for their turn without a thread`() async throws {
        let database = database
        let (batch, end) = holdWriter()
        let writers = (0..<1_000).map { number in
            Task { try await database.performBatch { try $0.create("\(number)") } }
        }
        #expect(try await database.perform { try $0.documentCount } == 0)
        #expect(await Task { 42 }.value == 42)
        end.open()
        for writer in writers { _ = try await writer.value }
        try batch.value()
        #expect(try database.documentCount == 1_000)
    }

    @Test func `closures that wait for one another all get a thread`() async throws {
        let gates = (0..<40).map { _ in Gate() }
        let last = gates.count - 1
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in gates.indices {
                group.addTask { [database] in
                    try await database.perform { _ in
                        // Each waits for the one that comes after it.
                        if place < last { gates[place + 1].wait() }
                        gates[place].open()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Holds the writer until the gate is opened.
    private func holdWriter() -> (batch: Running<Void>, end: Gate) {
        let (inside, end, database) = (Gate(), Gate(), database)
        let batch = Running {
            try database.inBatch {
                inside.open()
                end.wait()
            }
        }
        inside.wait()
        return (batch, end)
    }

    // MARK: - Cancellation

    @Test func `a cancelled task performs nothing`() async throws {
        let database = database
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect(throws: CancellationError.self) {
                try await database.perform { try $0.create("a") }
            }
            await #expect(throws: CancellationError.self) {
                try await database.performBatch { try $0.create("b") }
            }
        }
        task.cancel()
        await task.value
        #expect(try database.lastSequence == 0)
    }

    @Test func `a write that waits for its turn does nothing when its task is cancelled`()
        async throws
    {
        let database = database
        let (batch, end) = holdWriter()
        let begun = Gate()
        let waiting: [Task<Void, any Error>] = [
            Task {
                try await database.perform { database in
                    begun.open()
                    try database.create("a")
                }
            },
            Task { try await database.performBatch { _ = try $0.create("b") } },
        ]
        await begun.passed()
        for task in waiting { task.cancel() }
        end.open()
        try batch.value()
        for task in waiting {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(try database.lastSequence == 0)
    }

    @Test func `an enumeration stops at the next document when its task is cancelled`()
        async throws
    {
        let database = database
        try database.inBatch { for number in 0..<100 { try database.create("\(number)") } }
        let (began, goOn) = (Gate(), Gate())
        let seen = Record<String>()
        let task = Task {
            try await database.perform { database in
                try database.forEachDocument { row in
                    seen.append(row.id.text)
                    began.open()
                    goOn.wait()
                }
            }
        }
        await began.passed()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(seen.all.count == 1)
    }

    @Test func `the build of an index stops at the next document when its task is cancelled`()
        async throws
    {
        let database = database
        // More than one core maps at once.
        try database.inBatch { for number in 0..<3_000 { try database.create("\(number)") } }
        let (began, goOn) = (Gate(), Gate())
        let seen = Record<String>()
        let view = database.view(named: "slow")
        view.setMap(version: "1") { document, emit in
            seen.append(document.id.text)
            began.open()
            goOn.wait()
            emit(1)
        }
        let task = Task { try await database.perform { _ in try view.query().run().count } }
        await began.passed()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        // Each thread was at one document.
        #expect(seen.all.count <= ProcessInfo.processInfo.activeProcessorCount)
        #expect(view.failures.isEmpty)
        #expect(try view.query().run().count == 3_000)
    }

    @Test(arguments: LongWork.all)
    func `long work stops when the task that performs it is cancelled`(_ work: LongWork)
        async throws
    {
        let (database, sandbox) = (database, sandbox)
        try LongWork.fill(database)
        let sequence = try database.lastSequence
        let (began, goOn) = (Gate(), Gate())
        let task = Task {
            try await database.perform { database in
                began.open()
                goOn.wait()
                try work.run(database, sandbox)
            }
        }
        await began.passed()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try database.lastSequence == sequence)
        #expect(try database.verify().isEmpty)
        // The same work of another caller goes on to its end.
        try work.run(database, sandbox)
    }

    @Test func `a task that a perform starts is not cancelled with it`() async throws {
        let database = database
        try database.create("a")
        let (began, goOn) = (Gate(), Gate())
        let task = Task {
            try await database.perform { database in
                began.open()
                goOn.wait()
                return Task { try database.allDocuments().count }
            }
        }
        await began.passed()
        task.cancel()
        goOn.open()
        #expect(try await task.value.value == 1)
    }
}

/// Something that may take long.
struct LongWork: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (Database, Sandbox) throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (Database, Sandbox) throws -> Void) {
        (testDescription, self.run) = (name, run)
    }

    /// More documents than a query looks at between two checks, one of them in conflict.
    static func fill(_ database: Database) throws {
        try database.inBatch {
            for number in 0..<1_100 {
                try database.save(MutableDocument(["n": .integer(Int64(number))], id: "\(number)"))
            }
            try database.update("1") { $0["text"] = "a couch" }
            try database.putExistingRevision("2", ["n": 0], history: ["1-x"])
        }
    }

    static let all = [
        LongWork("allDocuments") { database, _ in _ = try database.allDocuments() },
        LongWork("changes") { database, _ in _ = try database.changes() },
        LongWork("filtered changes") { database, _ in
            database.setFilter(named: "none") { _, _ in false }
            _ = try database.changes(filter: "none")
        },
        LongWork("find") { database, _ in _ = try database.find(selector: ["n": ["$gte": 0]]).run()
        },
        LongWork("select") { database, _ in
            let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
                .where(.property("n").greaterThan(5))
            _ = try query.run()
        },
        LongWork("query of a view") { database, _ in
            let view = database.view(named: "numbers")
            view.setMap(version: "1") { document, emit in emit(document["n"]) }
            _ = try view.query().run()
        },
        LongWork("query of all documents") { database, _ in
            _ = try database.allDocumentsQuery().run()
        },
        LongWork("search") { database, _ in
            _ = try database.fullTextIndex(named: "texts", on: ["text"]).search("couch").run()
        },
        LongWork("updateIndexes") { database, _ in
            try database.createIndex(PropertyIndex(on: "n"))
            try database.updateIndexes()
            try database.deleteIndex(named: "n")
        },
        LongWork("verify") { database, _ in _ = try database.verify() },
        LongWork("compact") { database, _ in try database.compact() },
        LongWork("resolveConflicts") { database, _ in
            try database.resolveConflicts(with: .keepWinner)
        },
        LongWork("performMaintenance") { database, _ in
            try database.performMaintenance(.integrityCheck)
        },
        LongWork("inspect") { database, _ in try database.inspect { _ in } },
        LongWork("backup") { database, sandbox in try database.backup(to: sandbox.url("backup")) },
        LongWork("copy") { _, sandbox in
            try Database.copy(from: sandbox.url(), to: sandbox.url("copy"))
        },
    ]
}
