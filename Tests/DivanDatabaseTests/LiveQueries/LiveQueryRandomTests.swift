// SPDX-License-Identifier: Apache-2.0

import Divan
import func DivanTestSupport.eventually
import enum DivanTestSupport.Soak
import Testing

@testable import DivanDatabase
@testable import DivanQuery
import DivanTestSupport

/// A live query never misses the last change, no matter which writer makes it and how results are taken.
///
/// Soak slices: 4
@Suite struct LiveQueryRandomTests {
    private static let words = ["ant", "bee", "cat", "dog", "Eel", "fox"]

    @Test func `the final live result is that of a fresh query`() async throws {
        for round in Soak.rounds(test: 300, soak: 10_000) {
            let random = Soak.random(round: round, salt: 0x11FE)
            try await Self.run(round, random)
        }
    }

    private static func run(_ round: Int, _ seed: SeededRandom) async throws {
        var random = seed
        let database = try Database.inMemory()
        let view = database.view(named: "v")
        view.setMap(version: "1", reduce: .count) { document, emit in
            emit(document["word"], document["n"])
            if document["twice"].bool == true { emit(document["n"], nil) }
        }
        let interval = random.element(of: [0, 0, 1, 5])
        var queries: [ViewQuery] = []
        for _ in 0..<3 { queries.append(query(view, database, &random)) }
        let lives = queries.map { $0.live(interval: .milliseconds(interval)) }
        let tolds = lives.map { _ in Told() }
        let applied = lives.map { _ in Applied() }
        let tokens = zip(lives, tolds).map { $1.follow($0) }
        let more = zip(lives, applied).map { live, applied in
            live.addChangeListener { applied.add($0) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                var own = SeededRandom(seed: random.next(), UInt64(writer))
                group.addTask {
                    for _ in 0..<own.below(12) { try change(database, view, &own) }
                }
            }
            let replaced = random.below(lives.count)
            for number in 0..<10 {
                for live in lives { live.checkInvariants() }
                // Any moment will do, and the query stays the same one.
                if number == 5 { lives[replaced].query = queries[replaced] }
                await Task.yield()
            }
            try await group.waitForAll()
        }
        for (index, live) in lives.enumerated() {
            let fresh = try queries[index].run()
            await eventually { tolds[index].updates.all.last?.rows == fresh }
            await eventually { applied[index].rows == Array(fresh) }
            #expect(live.lastError == nil, "round \(round)")
            #expect(applied[index].isRight, "round \(round)")
            for (before, after) in zip(
                tolds[index].updates.all, tolds[index].updates.all.dropFirst())
            {
                #expect(before.rows != after.rows, "round \(round)")
            }
        }
        for live in lives { live.checkInvariants() }
        for token in tokens + more { token.remove() }
        for live in lives { live.checkInvariants() }
        database.close()
        for live in lives { live.checkInvariants() }
    }

    private static func query(
        _ view: DatabaseView, _ database: Database, _ random: inout SeededRandom
    )
        -> ViewQuery
    {
        var query = random.oneIn(4) ? database.allDocumentsQuery() : view.query()
        if case .view = query.source {
            if random.oneIn(2) { query.startKey = .string(random.element(of: words)) }
            if random.oneIn(2) { query.endKey = .string(random.element(of: words)) }
            query.mapOnly = random.oneIn(2)
            if random.oneIn(3) { query.grouping = .exact }
            if query.mapOnly, query.grouping == .none, random.oneIn(2) {
                query.includeDocuments = true
            }
        } else {
            if random.oneIn(2) { query.startKey = .string("\(random.below(8))") }
            query.allDocumentsMode = random.element(
                of: [.allDocuments, .includeDeleted, .showConflicts, .onlyConflicts])
        }
        query.descending = random.oneIn(2)
        if query.descending { swap(&query.startKey, &query.endKey) }
        if random.oneIn(3) { query.limit = random.below(5) }
        if random.oneIn(3) { query.skip = random.below(3) }
        return query
    }

    private static func change(
        _ database: Database, _ view: DatabaseView, _ random: inout SeededRandom
    )
        throws
    {
        let id: DocumentID = "\(random.below(8))"
        switch random.below(12) {
        case 0: try database.purge(id)
        case 1, 2:
            // Another writer may have been faster.
            if try database.contains(id) { _ = try? database.delete(id) }
        case 3: _ = try view.query().run()
        case 4:
            _ = try? database.inBatch {
                try database.putExistingRevision(
                    id, ["word": "bee", "n": 1], history: ["2-\(random.below(100))"])
                if random.oneIn(2) { _ = try view.query().run() }
                if random.oneIn(2) { throw Whim() }
            }
        case 5:
            try database.putExistingRevision(
                id, ["word": "cat", "n": 2], history: ["1-\(random.below(100))"])
        default:
            // Another writer may have deleted it meanwhile: then this one lost.
            let document = try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
            document.set(random.element(of: words), forKey: "word")
            document.set(random.below(5), forKey: "n")
            document.set(random.oneIn(3), forKey: "twice")
            _ = try? database.save(document)
        }
    }
}

/// Rows that are made by following the differences only.
private final class Applied: Sendable {
    private let state = Record<[QueryRow]>()
    private let wrong = Flag()

    var rows: [QueryRow]? { state.all.last }
    var isRight: Bool { !wrong.isSet }

    func add(_ result: Result<LiveUpdate<QueryResult>, any Error>) {
        guard case .success(let update) = result else {
            wrong.set()
            return
        }
        let rows = update.difference.applied(to: state.all.last ?? [], from: update.rows)
        if rows != Array(update.rows) { wrong.set() }
        state.append(rows)
    }
}

extension RowDifference {
    /// Follows the difference as its documentation says.
    func applied<Row>(to old: [Row], from new: some RandomAccessCollection<Row>) -> [Row] {
        let new = Array(new)
        var rows = old
        for place in (removed + moved.map(\.old)).sorted().reversed() { rows.remove(at: place) }
        let rest = moved.map { ($0.new, old[$0.old]) } + inserted.map { ($0, new[$0]) }
        for (place, row) in rest.sorted(by: { $0.0 < $1.0 }) { rows.insert(row, at: place) }
        for pair in updated { rows[pair.new] = new[pair.new] }
        return rows
    }
}
