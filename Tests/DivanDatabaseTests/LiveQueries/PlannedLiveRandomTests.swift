// SPDX-License-Identifier: Apache-2.0

import Divan
import func DivanTestSupport.eventually
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

@testable import DivanDatabase

/// The last change is never missed by live selectors and live queries of the builder, with and without
/// indexes.
///
/// Soak slices: 4
@Suite struct PlannedLiveRandomTests {
    @Test func `the final live result is that of a fresh selector or builder query`() async throws {
        for round in Soak.rounds(test: 200, soak: 10_000) {
            let random = Soak.random(round: round, salt: 0x11FF)
            try await Self.run(round, random)
        }
    }

    private static func run(_ round: Int, _ seed: SeededRandom) async throws {
        var random = seed
        let database = try Database.inMemory()
        for number in 0..<random.below(4) {
            let collation: Collation = random.oneIn(2) ? .raw : .unicode
            let element = random.oneIn(4) ? "[]" : ""
            try database.createIndex(
                PropertyIndex(
                    named: "i\(number)", on: [RandomSelector.path(&random) + element],
                    collation: collation))
        }
        let interval = Duration.milliseconds(random.element(of: [0, 0, 1, 5]))
        var query = try database.find(selector: RandomSelector.selector(1, &random))
        if random.oneIn(2) { query.sort = [.ascending(RandomSelector.path(&random))] }
        if random.oneIn(3) { query.limit = random.below(4) + 1 }
        let asked = query
        let select = self.select(database, &random)
        let found = asked.live(interval: interval)
        let selected = select.live(interval: interval)
        let (documents, rows) = (ToldOf<FindResult>(), ToldOf<SelectRows>())
        let tokens = [documents.follow(found), rows.follow(selected)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                var own = SeededRandom(seed: random.next(), UInt64(writer))
                group.addTask {
                    for _ in 0..<own.below(15) { try change(database, asked, &own) }
                }
            }
            try await group.waitForAll()
        }
        let freshDocuments = try asked.run()
        let freshRows = try select.run()
        await eventually { documents.last == freshDocuments }
        await eventually { rows.last == freshRows }
        #expect(found.lastError == nil && selected.lastError == nil, "round \(round)")
        check(documents.updates.all.map { (Array($0.rows), $0.difference) }, round)
        check(rows.updates.all.map { (Array($0.rows), $0.difference) }, round)
        for token in tokens { token.remove() }
        database.close()
    }

    /// That no result is told twice, and that differences lead from each to the next.
    private static func check<Row: Equatable>(
        _ results: [(rows: [Row], difference: RowDifference)], _ round: Int
    ) {
        var rows: [Row] = []
        for (index, result) in results.enumerated() {
            if index > 0 { #expect(rows != result.rows, "round \(round)") }
            rows = result.difference.applied(to: rows, from: result.rows)
            #expect(rows == result.rows, "round \(round)")
        }
    }

    private static func select(_ database: Database, _ random: inout SeededRandom) -> SelectQuery {
        let path = RandomSelector.path(&random)
        let property = QueryExpression.property(path)
        let value = QueryExpression.value(RandomSelector.value(0, &random))
        let condition = random.element(of: [
            property.equalTo(value), property.greaterThan(1), property.isMissing(),
            property.equalTo(value).or(.property(RandomSelector.path(&random)).lessThan(3)),
        ])
        if random.oneIn(4) {
            return QueryBuilder.select(.property(path), .expression(Function.count()).as("count"))
                .from(.database(database)).groupBy(property)
                .orderBy(.property(path).ascending())
        }
        let query = QueryBuilder.select(.expression(Meta.id), .property(path))
            .from(.database(database)).where(condition)
            .orderBy(.property(path).ascending(), .expression(Meta.id))
        return random.oneIn(3) ? query.limit(random.below(4) + 1) : query
    }

    private static func change(
        _ database: Database, _ query: FindQuery, _ random: inout SeededRandom
    ) throws {
        let id: DocumentID = "\(random.below(8))"
        switch random.below(10) {
        case 0: try database.purge(id)
        // Another writer may have been faster.
        case 1: _ = try? database.delete(id)
        case 2: _ = try query.run()
        case 3:
            _ = try? database.inBatch {
                try database.putExistingRevision(
                    id, RandomSelector.document(1, &random), history: ["2-\(random.below(100))"])
                if random.oneIn(2) { _ = try query.run() }
                if random.oneIn(2) { throw Whim() }
            }
        default:
            let document = MutableDocument(RandomSelector.document(1, &random), id: id)
            if (try? database.save(document)) == nil {
                let body = RandomSelector.document(1, &random)
                _ = try? database.update(id) { document in
                    for (key, value) in body { document.set(value, forKey: key) }
                }
            }
        }
    }
}
