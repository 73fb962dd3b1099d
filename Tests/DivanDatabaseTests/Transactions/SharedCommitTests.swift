// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanMaintenance
import DivanModel
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanDatabase

/// Single writes of several threads that share a commit.
///
///      batch          write 0       write 1 …
///      holds ───────► leads: waits
///                                   enlist
///      ends ────────► does them all, commits once
@Suite(.timeLimit(.minutes(10))) struct SharedCommitTests {
    private static func database(
        _ plan: FaultPlan = FaultPlan(failing: .max, with: .io),
        didCommit: @escaping @Sendable () -> Void = {}
    ) throws -> Database {
        let engine = FaultyEngine(try TestStorage.make(), plan: plan, didCommit: didCommit)
        let core = try DatabaseCore(
            name: "shared", directory: nil, engine: engine, options: DatabaseOptions())
        return Database(name: "shared", core: core, readOnly: false, registration: nil)
    }

    /// Runs writes of as many threads so that they all wait at once; returns the outcome of each.
    ///
    /// - Parameter meanwhile: Called while they wait.
    private static func together<T: Sendable>(
        _ count: Int, on database: Database, meanwhile: () throws -> Void = {},
        _ write: @escaping @Sendable (Int) throws -> T
    ) throws -> [Result<T, any Error>] {
        let held = Gate()
        let end = Gate()
        let batch = Running {
            try database.inBatch {
                held.open()
                #expect(end.wait())
            }
        }
        #expect(held.wait())
        let commits = database.core.sharedCommits
        let before = commits.waitingCount
        var threads: [Running<T>] = []
        for number in 0..<count {
            threads.append(Running { try write(number) })
            // The first one leads; each of the others is seen to wait before the next one comes.
            if number == 0 {
                while !commits.isLed {}
            } else {
                while commits.waitingCount < before + number {}
            }
        }
        try meanwhile()
        end.open()
        _ = try? batch.value()
        return threads.map { thread in Result { try thread.value()! } }
    }

    @Test func `writes that wait at once are committed once, in the order in which they came`()
        throws
    {
        let commits = Atomic(0)
        let database = try Self.database { commits.add(1, ordering: .relaxed) }
        let saved = try Self.together(8, on: database) { number in
            let saved = try database.create("\(number)", ["n": .integer(Int64(number))])
            #expect(commits.load(ordering: .relaxed) == 2, "Told before the commit.")
            return saved.sequence
        }
        // That of the batch, and one for all.
        #expect(commits.load(ordering: .relaxed) == 2)
        #expect(try saved.map { try $0.get() } == (1...8).map { SequenceNumber($0) })
        #expect(try database.lastSequence == 8)
        #expect(try database.verify().isEmpty)
    }

    @Test func `a write that is refused is undone alone, and the object says so`() throws {
        let commits = Atomic(0)
        let database = try Self.database { commits.add(1, ordering: .relaxed) }
        try database.create("taken")
        let outcomes = try Self.together(6, on: database) { number in
            let document = MutableDocument(id: number % 2 == 0 ? "taken" : "new \(number)")
            defer { #expect((document.revisionID == nil) == (number % 2 == 0)) }
            return try database.save(document).document.sequence
        }
        for (number, outcome) in outcomes.enumerated() {
            if number % 2 == 0 {
                #expect(code { try outcome.get() } == .conflict)
            } else {
                #expect(try outcome.get() == SequenceNumber(2 + number / 2))
            }
        }
        #expect(try database.documentCount == 4)
        // The first one leads and is refused, so the second leads the others.
        #expect(commits.load(ordering: .relaxed) == 3)
        #expect(try database.verify().isEmpty)
    }

    @Test(arguments: [StorageError.Code.full, .io])
    func `wherever the storage fails, what was told is what is there`(_ failure: StorageError.Code)
        throws
    {
        var hasFailedAll = false
        for number in 1... {
            let plan = FaultPlan(failing: number, with: failure)
            let database = try Self.database(plan)
            let outcomes = try Self.together(4, on: database) { number in
                try database.create("\(number)", ["n": .integer(Int64(number))]).id
            }
            let codes = outcomes.map { outcome in code { try outcome.get() } }
            for (thread, outcome) in outcomes.enumerated() {
                let isThere = try database.contains(DocumentID("\(thread)"))
                #expect(
                    isThere == ((try? outcome.get()) != nil), "Thread \(thread), fault \(number).")
            }
            for code in codes.compactMap(\.self) {
                #expect(code == (failure == .full ? .storageFull : .io))
            }
            hasFailedAll = hasFailedAll || codes.allSatisfy { $0 != nil }
            #expect(try database.verify().isEmpty)
            // The fault was one; what failed now goes through.
            for (thread, outcome) in outcomes.enumerated() where (try? outcome.get()) == nil {
                try database.create(DocumentID("\(thread)"))
            }
            #expect(try database.documentCount == 4)
            if !plan.hasFailed { break }
        }
        #expect(hasFailedAll, "No commit of all of them was ever failed.")
    }

    @Test func `each change is told once, in order, with its sequence, and live documents follow`()
        async throws
    {
        let database = try Self.database()
        let told = Record<String>()
        let token = try database.addChangeListener { change in
            for id in change.documentIDs { told.append(id.text) }
        }
        try database.create("kept", ["n": 0])
        let live = try database.liveDocument(withID: "kept")
        #expect(live["n"].int == 0)
        // A listener that lags gets the last state of a document, once.
        await eventually { told.all == ["kept"] }
        let outcomes = try await offPool {
            try Self.together(6, on: database) { number in
                if number == 3 {
                    try database.update("kept") { $0["n"] = 3 }
                    // The thread that saved it sees it.
                    #expect(live["n"].int == 3)
                } else if number == 4 {
                    try database.create("kept")
                } else {
                    try database.create("\(number)")
                }
            }
        }
        #expect(outcomes.map { (try? $0.get()) != nil } == [true, true, true, true, false, true])
        await eventually { told.all.count == 6 }
        #expect(told.all == ["kept", "0", "1", "2", "kept", "5"])
        #expect(live["n"].int == 3)
        let feed = try database.changes().changes.map { "\($0.sequence) \($0.id)" }
        #expect(feed == ["2 0", "3 1", "4 2", "5 kept", "6 5"])
        database.core.hub.checkInvariants()
        token.remove()
    }

    @Test func `a task that is cancelled while its write waits has written nothing`() async throws {
        let database = try Self.database()
        let task = Mutex<Task<Void, any Error>?>(nil)
        let held = Gate()
        let end = Gate()
        let batch = Running {
            try database.inBatch {
                held.open()
                #expect(end.wait())
            }
        }
        await held.passed()
        let leader = Running { try database.create("leader") }
        await eventually { database.core.sharedCommits.isLed }
        task.withLock { task in
            task = Task { try await database.perform { _ = try $0.create("cancelled") } }
        }
        await eventually { database.core.sharedCommits.waitingCount == 1 }
        task.withLock { $0?.cancel() }
        end.open()
        _ = try await offPool { try batch.value() }
        _ = try await offPool { try leader.value() }
        let cancelled = task.withLock { $0 }
        await #expect(throws: CancellationError.self) { try await cancelled?.value }
        #expect(try database.contains("leader"))
        #expect(try !database.contains("cancelled"))
    }

    @TaskLocal private static var word = "none"

    @Test func `a validation function runs on the thread that saves`() throws {
        let database = try Self.database()
        let words = Record<String>()
        database.setValidation(named: "notes its thread") { _, _ in words.append(Self.word) }
        let saved = Atomic(0)
        let threads = (0..<4).map { number in
            Running {
                try Self.$word.withValue("word \(number)") {
                    for step in 0..<20 { try database.create("\(number)-\(step)") }
                }
                saved.add(20, ordering: .relaxed)
            }
        }
        for thread in threads { _ = try thread.value() }
        #expect(saved.load(ordering: .relaxed) == 80)
        #expect(words.all.sorted() == (0..<80).map { "word \($0 / 20)" })
    }

    @Test func `writes that wait when the database closes fail and leave nothing`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database { $0.durability = .full }
        let closer = Mutex<Running<Void>?>(nil)
        let outcomes = try Self.together(
            5, on: database,
            meanwhile: {
                closer.withLock { $0 = Running { database.close() } }
                while !database.core.isClosed {}
            }
        ) { try database.create("\($0)") }
        for outcome in outcomes { #expect(code { try outcome.get() } == .databaseClosed) }
        _ = try closer.withLock { $0 }?.value()
        let again = try sandbox.database { $0.durability = .full }
        #expect(try again.documentCount == 0)
        #expect(try again.verify().isEmpty)
    }

    @Test func `threads that save, delete and read at random find all that they were told`() throws
    {
        let sandbox = Sandbox()
        let database = try sandbox.database { $0.durability = .full }
        let token = try database.addChangeListener { _ in }
        let steps = Soak.count(test: 60, soak: 2_000)
        for thread in 0..<8 { try database.create("\(thread)-x") }
        let threads = (0..<8).map { thread in
            Running { () -> [String: Int] in
                var random = SeededRandom(seed: UInt64(thread))
                var mine: [String: Int] = [:]
                for step in 0..<steps {
                    let id = "\(thread)-\(random.below(10))"
                    let known = mine[id]
                    switch random.below(6) {
                    case 0 where known != nil:
                        try database.delete(DocumentID(id))
                        mine[id] = nil
                    case 1 where known != nil:
                        #expect(code { try database.create(DocumentID(id)) } == .conflict)
                    case 2:
                        try database.inBatch {
                            try database.putLocalDocument(DocumentID(id), ["n": 1])
                            try database.update(DocumentID("\(thread)-x")) { _ in }
                        }
                    case 3:
                        try database.putLocalDocument(DocumentID(id), ["step": 1])
                    default:
                        let document =
                            try database.document(withID: DocumentID(id))?.toMutable()
                            ?? MutableDocument(id: DocumentID(id))
                        document["n"] = Fragment(step)
                        try database.save(document, .failOnConflict)
                        mine[id] = step
                    }
                    #expect(
                        try database.document(withID: DocumentID(id))?["n"].int == mine[id])
                }
                return mine
            }
        }
        var all: [String: Int] = [:]
        for thread in threads { all.merge(try thread.value() ?? [:]) { $1 } }
        for (id, step) in all { #expect(try database.existing(DocumentID(id))["n"].int == step) }
        #expect(try database.documentCount == all.count + 8)
        #expect(try database.verify().isEmpty)
        database.core.hub.checkInvariants()
        token.remove()
    }
}
