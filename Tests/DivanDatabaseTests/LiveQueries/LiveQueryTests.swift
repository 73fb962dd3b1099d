// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// What one live query has told, by its callback.
final class Told: Sendable {
    let updates = Record<LiveUpdate<QueryResult>>()
    let errors = Record<String>()

    var results: [[JSONValue]] { updates.all.map { $0.rows.map(\.key) } }
    var last: [JSONValue]? { results.last }

    func follow(_ live: LiveQuery<QueryResult>) -> ListenerToken {
        live.addChangeListener { result in
            switch result {
            case .success(let update): self.updates.append(update)
            case .failure(let error): self.errors.append("\(error)")
            }
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct LiveQueryTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let numbers: DatabaseView

    init() throws {
        database = try sandbox.database()
        numbers = database.view(named: "numbers")
        Self.setMap(numbers)
    }

    private static func setMap(_ view: DatabaseView, version: String = "1", reduce: Reduce? = nil) {
        view.setMap(version: version, reduce: reduce) { document, emit in
            if document["n"].exists { emit(document["n"], document["title"]) }
        }
    }

    @Test func `a live query gives its rows at once and again when they change`() async throws {
        try database.create("a", ["n": 1])
        let live = numbers.query().live(interval: .zero)
        #expect(live.rows == nil && !live.isRunning)
        var results = live.makeAsyncIterator()
        #expect(try await results.next()?.map(\.key) == [1])
        #expect(live.rows?.count == 1 && live.isRunning && live.lastError == nil)
        try database.create("b", ["n": 2])
        #expect(try await results.next()?.map(\.key) == [1, 2])
        try database.delete("a")
        #expect(try await results.next()?.map(\.key) == [2])
        try database.purge("b")
        #expect(try await results.next()?.map(\.key) == [])
    }

    @Test func `a listener is called with rows and their difference`() async throws {
        try database.create("a", ["n": 1])
        let told = Told()
        let token = told.follow(numbers.query().live(interval: .zero))
        await eventually { told.last == [1] }
        #expect(told.updates.all.last?.difference.inserted == [0])
        try database.create("b", ["n": 0])
        await eventually { told.last == [0, 1] }
        #expect(told.updates.all.last?.difference == difference { $0.inserted = [0] })
        try database.update("a") { $0["n"] = -1 }
        await eventually { told.last == [-1, 0] }
        let moved = told.updates.all.last?.difference
        #expect(moved?.moved.count == 1 && moved?.inserted == [] && moved?.removed == [])
        #expect(moved?.updated == [RowDifference.Pair(old: 1, new: 0)])
        try database.delete("b")
        await eventually { told.last == [-1] }
        #expect(told.updates.all.last?.difference == difference { $0.removed = [1] })
        token.remove()
        try database.create("c", ["n": 5])
        #expect(told.updates.all.count == 4)
    }

    private func difference(_ make: (inout RowDifference) -> Void) -> RowDifference {
        var difference = RowDifference(from: [], to: [])
        make(&difference)
        return difference
    }

    @Test func `a write that touches no row of the range does not run the query`() async throws {
        for number in 0..<20 { try database.create("\(number)", ["n": .integer(Int64(number))]) }
        let live = numbers.query(.range(from: 5, through: 9)).live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [5, 6, 7, 8, 9] }
        let runs = live.fetchCount
        for number in 10..<20 {
            let looks = live.lookCount
            try database.update("\(number)") { $0["n"] = Fragment(number + 100) }
            await eventually { live.lookCount > looks }
        }
        try database.create("unrelated", ["title": "no number"])
        try database.delete("0")
        try database.purge("1")
        // The last of them may still be looked at; what comes after it is in the range.
        try database.update("6") { $0["n"] = 6.5 }
        await eventually { told.last == [5, 6.5, 7, 8, 9] }
        #expect(live.fetchCount == runs + 1)
        token.remove()
    }

    @Test func `a live query of all documents runs for its own IDs only`() async throws {
        var query = database.allDocumentsQuery(.range(from: "b", through: "c"))
        query.prefixMatchLevel = 1
        let live = query.live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [] }
        for id: DocumentID in ["a1", "a2", "d1"] {
            let looks = live.lookCount
            try database.create(id)
            await eventually { live.lookCount > looks }
        }
        #expect(live.fetchCount == 1)
        try database.create("b1")
        await eventually { told.last == ["b1"] }
        try database.create("cc")
        await eventually { told.last == ["b1", "cc"] }
        try database.update("cc") { $0["n"] = 1 }
        await eventually { told.updates.all.count == 4 }
        #expect(told.updates.all.last?.difference.updated == [.init(old: 1, new: 1)])
        try database.purge("b1")
        await eventually { told.last == ["cc"] }
        token.remove()

        let single = database.allDocumentsQuery(.keys("x", "cc")).live(interval: .zero)
        let second = Told()
        let other = second.follow(single)
        await eventually { second.last == ["x", "cc"] }
        try database.create("x")
        await eventually { second.updates.all.last?.rows.first?.documentID == "x" }
        other.remove()
    }

    @Test func `a live query of conflicts shows each one while it lasts`() async throws {
        let first = try database.put("a", ["n": 1], parent: nil).revisionID
        try database.put("b", ["n": 1], parent: nil)
        var query = database.allDocumentsQuery()
        query.allDocumentsMode = .onlyConflicts
        let live = query.live(interval: .zero)
        var told: [[DocumentID]] = []
        for try await rows in live {
            told.append(rows.compactMap(\.documentID))
            switch told.count {
            case 1:
                try database.put("a", ["n": 2], parent: first)
                try database.put("a", ["n": 3], parent: first, options: .allowConflict)
            case 2: try database.resolveConflicts(of: "a", with: .keepWinner)
            default: break
            }
            if told.count == 3 { break }
        }
        #expect(told == [[], ["a"], []])
    }

    @Test func `documents that come along are followed though no row changes`() async throws {
        try database.create("a", ["n": 1, "more": 1])
        try database.create("b", ["n": 2])
        var query = numbers.query(.range(from: 0, through: 1))
        query.includeDocuments = true
        let live = query.live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [1] }
        try database.update("a") { $0["more"] = 2 }
        await eventually { told.updates.all.last?.rows.first?.includedDocument?["more"].int == 2 }
        #expect(told.updates.all.last?.difference.updated == [.init(old: 0, new: 0)])
        let runs = live.fetchCount
        let looks = live.lookCount
        try database.update("b") { $0["more"] = 3 }
        await eventually { live.lookCount > looks }
        #expect(live.fetchCount == runs)
        token.remove()
    }

    @Test func `equal results are told once`() async throws {
        Self.setMap(numbers, reduce: .count)
        try database.create("a", ["n": 1])
        let live = numbers.query().live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.updates.all.last?.rows.first?.value == 1 }
        try database.update("a") { $0["n"] = 7 }
        await eventually { live.fetchCount >= 2 }
        try database.create("b", ["n": 2])
        await eventually { told.updates.all.last?.rows.first?.value == 2 }
        #expect(told.updates.all.count == 2)
        #expect(told.updates.all.last?.difference.updated == [.init(old: 0, new: 0)])
        token.remove()
    }

    @Test func `a burst of writes gives few updates, the last one exact`() async throws {
        let live = numbers.query().live()
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [] }
        let began = ContinuousClock.now
        for number in 0..<1_000 { try database.create("\(number)", ["n": Int64(number).jsonValue]) }
        await eventually { told.last?.count == 1_000 }
        let taken = ContinuousClock.now - began
        // One for the first write, then one in each 0.2 seconds, and one at the end.
        let most = Int(taken / .milliseconds(200)) + 3
        #expect(told.updates.all.count <= most)
        #expect(told.last == (0..<1_000).map { .integer($0) })
        token.remove()
    }

    @Test func `a view's other version, collation and deletion are followed`() async throws {
        try database.create("a", ["n": "b", "title": "T"])
        try database.create("b", ["n": "A"])
        let live = numbers.query().live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == ["A", "b"] }
        numbers.setMap(version: "2") { document, emit in
            emit(document["n"], nil)
            emit("0", nil)
        }
        await eventually { told.last == ["0", "0", "A", "b"] }
        try numbers.delete()
        await eventually { told.errors.all.count == 1 }
        #expect(live.lastError != nil)
        Self.setMap(database.view(named: "numbers"), version: "3")
        await eventually { told.last == ["A", "b"] && live.lastError == nil }
        database.view(named: "numbers").collation = .raw
        try database.create("c", ["n": "B"])
        await eventually { told.last == ["A", "B", "b"] }
        token.remove()
    }

    @Test func `an index that is deleted is built again for the live query`() async throws {
        try database.create("a", ["n": 1])
        let live = numbers.query().live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [1] }
        try numbers.deleteIndex()
        try database.create("b", ["n": 2])
        await eventually { told.last == [1, 2] }
        token.remove()
    }

    @Test func `a failure is told and the next good result, too`() async throws {
        Self.setMap(numbers, reduce: .sum)
        numbers.setMap(version: "s", reduce: .sum) { document, emit in
            emit(document["n"], document["value"])
        }
        try database.create("a", ["n": 1, "value": 5])
        let live = numbers.query().live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.updates.all.last?.rows.first?.value == 5 }
        try database.create("b", ["n": 2, "value": "no number"])
        await eventually { told.errors.all.count == 1 }
        #expect(live.lastError is DatabaseError)
        let error = await code { try await live.waitForRows() }
        #expect(error == .invalidQuery)
        try database.update("b") { $0["value"] = 6 }
        await eventually { told.updates.all.last?.rows.first?.value == 11 }
        #expect(live.lastError == nil)
        token.remove()
    }

    @Test func `a query may be replaced while it is followed`() async throws {
        for number in 0..<5 { try database.create("\(number)", ["n": Int64(number).jsonValue]) }
        let live = numbers.query(.range(from: 3)).live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [3, 4] }
        live.query?.startKey = 2
        await eventually { told.last == [2, 3, 4] }
        #expect(told.updates.all.last?.difference == difference { $0.inserted = [0] })
        try database.delete("2")
        await eventually { told.last == [3, 4] }
        #expect(live.query?.startKey == 2)
        token.remove()
    }

    @Test func `stopping ends loops, and starting begins again`() async throws {
        try database.create("a", ["n": 1])
        let live = numbers.query().live(interval: .zero)
        let counts = Record<Int>()
        let loop = Task { for try await rows in live { counts.append(rows.count) } }
        await eventually { counts.all == [1] }
        live.stop()
        try await loop.value
        try database.create("b", ["n": 2])
        #expect(!database.core.hub.isFollowed)
        #expect(try await live.waitForRows() != nil)
        await eventually { live.rows?.count == 2 }
        live.stop()
    }

    @Test func `closing the database ends loops and listeners`() async throws {
        let other = try sandbox.database()
        let told = Told()
        let live = numbers.query().live(interval: .zero)
        let token = told.follow(live)
        let all = database.allDocumentsQuery().live(interval: .zero)
        let loop = Task { for try await _ in all {} }
        await eventually { all.rows != nil && live.rows != nil }
        // Another handle on the directory stays open.
        database.close()
        try await loop.value
        await eventually { !live.isRunning }
        try other.create("late", ["n": 1])
        #expect(told.results == [[]])
        var late = all.makeAsyncIterator()
        #expect(try await late.next() == nil)
        token.remove()
    }

    struct Chore: DocumentModel {
        static let documentType: String? = "chore"
        var identity = ModelIdentity()
    }

    /// Live queries of all kinds end when the app lets go of their database.
    ///
    /// - Parameter make: Makes one, and begins it.
    private func expectEnd<Rows: Sendable>(
        _ make: (Database) throws -> LiveQuery<Rows>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        weak var released: Database?
        let live: LiveQuery<Rows>
        do {
            let other = try sandbox.database("other")
            released = other
            live = try make(other)
            live.start()
            await eventually {
                live.rows != nil || live.lastError != nil
            }
            #expect(live.lastError == nil, sourceLocation: sourceLocation)
        }
        await eventually { !live.isRunning }
        #expect(released == nil, sourceLocation: sourceLocation)
    }

    @Test func `a live query does not keep its database open`() async throws {
        try await expectEnd { $0.allDocumentsQuery().live(interval: .zero) }
        try await expectEnd { database in
            let view = database.view(named: "numbers")
            Self.setMap(view)
            return view.query().live(interval: .zero)
        }
        try await expectEnd { try $0.find(selector: ["n": 1]).live(interval: .zero) }
        try await expectEnd { database in
            let live = try database.find(selector: ["n": 1]).live(interval: .zero)
            // Another query takes its place.
            live.query?.limit = 5
            return live
        }
        try await expectEnd { database in
            QueryBuilder.select(.expression(Meta.id)).from(.database(database).as("first"))
                .join(
                    .inner(
                        .database(database).as("second"),
                        on: Meta.id.from("second").equalTo(.property("other").from("first")))
                )
                .live(interval: .zero)
        }
        try await expectEnd { try $0.live(Chore.self, interval: .zero) }
        try await expectEnd { database in
            database.fullTextIndex(named: "texts", on: ["title"]).search("word")
                .live(interval: .zero)
        }
    }

    @Test func `a query keeps its database open`() throws {
        try sandbox.database("other").create("a", ["n": 1])
        let found = try sandbox.database("other").find(selector: ["n": 1])
        #expect(try found.run().map(\.id) == ["a"])
        let selected = QueryBuilder.select(.expression(Meta.id))
            .from(.database(try sandbox.database("other")))
        #expect(try selected.run().count == 1)
    }

    @Test func `a loop ends when its task is cancelled, and its live query with it`() async throws {
        let query = numbers.query()
        let started = Flag()
        let loop = Task {
            for try await _ in query.live() { started.set() }
        }
        await eventually { started.isSet }
        loop.cancel()
        try await loop.value
        await eventually { !database.core.hub.isFollowed }
    }

    @Test func `a listener may write, and remove itself`() async throws {
        let live = numbers.query().live(interval: .zero)
        let sizes = Record<Int>()
        let token = live.addChangeListener { [weak database] result in
            guard case .success(let update) = result else { return }
            sizes.append(update.rows.count)
            if update.rows.count < 3 {
                _ = try? database?.create(
                    "\(update.rows.count)", ["n": Int64(update.rows.count).jsonValue])
            }
        }
        await eventually { sizes.all.last == 3 }
        #expect(sizes.all == [0, 1, 2, 3])
        token.remove()
    }

    @Test func `writes in a batch are seen when it is committed, and undone ones never`()
        async throws
    {
        let live = numbers.query().live(interval: .zero)
        let told = Told()
        let token = told.follow(live)
        await eventually { told.last == [] }
        try database.inBatch {
            try database.create("a", ["n": 1])
            // The index follows inside the batch.
            #expect(try numbers.query().run().count == 1)
        }
        await eventually { told.last == [1] }
        _ = try? database.inBatch {
            try database.create("b", ["n": 2])
            #expect(try numbers.query().run().count == 2)
            throw Whim()
        }
        try database.create("c", ["n": 3])
        await eventually { told.last == [1, 3] }
        #expect(!told.results.contains([1, 2]))
        token.remove()
    }

    @Test func `a listener runs on the queue it asks for`() async throws {
        let queue = DispatchQueue(label: "the app's")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let found = Record<Bool>()
        let token = numbers.query().addChangeListener(interval: .zero, on: queue) { _ in
            found.append(DispatchQueue.getSpecific(key: key) == true)
        }
        await eventually { found.all == [true] }
        token.remove()
    }
}
