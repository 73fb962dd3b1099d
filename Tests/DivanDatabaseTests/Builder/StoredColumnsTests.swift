// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Columns are taken from bodies where they lie, where an index leads to these, as documents would give them.
///
/// Soak slices: 1.
@Suite struct StoredColumnsTests {
    /// A database with an index, and one without, which are edited alike.
    private struct Pair {
        let indexed: Database
        let plain: Database

        init() throws {
            indexed = try Database.inMemory()
            plain = try Database.inMemory()
        }

        func both(_ edit: (Database) throws -> Void) throws {
            try edit(indexed)
            try edit(plain)
        }
    }

    /// Edits some documents. Some keep what the index is on, so that its rows remember a former sequence; some get a second
    /// leaf or a large body, so that the row of the revision does not tell all.
    private func edit(_ pair: Pair, _ random: inout SeededRandom) throws {
        for edit in 0..<random.below(30) {
            let id = DocumentID("d\(random.below(60))")
            var body = RandomSelector.document(2, &random)
            if random.oneIn(10) { body["c"] = .string(String(repeating: "large", count: 5_000)) }
            let (kind, number) = (random.below(8), Int64(random.below(1_000)))
            try pair.both { database in
                guard let document = try database.document(withID: id)?.toMutable(), kind < 6 else {
                    _ = try database.putExistingRevision(
                        id, body, history: ["\(1 + kind % 2)-edit\(edit)\(number)"])
                    return
                }
                guard kind > 0 else {
                    try database.delete(id)
                    return
                }
                document["other"] = Fragment(number)
                if kind > 2 { for (key, value) in body { document[key] = Fragment(value) } }
                try database.save(document)
            }
        }
    }

    private func query(
        _ database: Database, _ path: String, _ columns: [SelectResult], _ seed: UInt64,
        isComputed: Bool
    ) -> SelectQuery {
        // One computed column has the others computed, too.
        let more: [SelectResult] = isComputed ? [.expression(.value(true)).as("computed")] : []
        var random = SeededRandom(seed: seed)
        let property = QueryExpression.property(path)
        let constant = QueryExpression.value(RandomSelector.value(1, &random))
        let condition = random.oneIn(2) ? property.equalTo(constant) : property.lessThan(constant)
        let ordering = Ordering.property(path)
        let select =
            random.oneIn(4)
            ? more.isEmpty
                ? QueryBuilder.selectDistinct(columns[0], columns[2], columns[3])
                : QueryBuilder.selectDistinct(columns[0], columns[2], columns[3], more[0])
            : QueryBuilder.select(columns + more)
        return select.from(.database(database))
            .where(random.oneIn(4) ? .not(property.isMissing()) : condition)
            .orderBy(random.oneIn(2) ? ordering.descending() : ordering)
            .limit(random.below(12), offset: random.below(3))
    }

    @Test func `rows are those of documents, whatever is edited in between`() throws {
        for round in Soak.rounds(test: 60, soak: 3_000) {
            var random = Soak.random(round: round, salt: 0x5708)
            let pair = try Pair()
            let path = RandomSelector.path(&random)
            try pair.indexed.createIndex(PropertyIndex(on: path))
            for _ in 0..<4 {
                try edit(pair, &random)
                let columns: [SelectResult] = [
                    .property(RandomSelector.path(&random)).as("a"), .expression(Meta.id),
                    .property("other"), .property(path).as("b"),
                ]
                let seed = random.next()
                let rows = try query(
                    pair.indexed, path, columns, seed, isComputed: false
                ).run()
                let plain = try query(pair.plain, path, columns, seed, isComputed: false).run()
                let expected = try query(
                    pair.plain, path, columns, seed, isComputed: true
                ).run().map { row in
                    var properties = row.properties
                    properties["computed"] = nil
                    return JSONValue.object(properties).description
                }
                #expect(rows.map { $0.toJSON() } == expected, "round \(round)")
                #expect(plain.map { $0.toJSON() } == expected, "round \(round)")
                #expect(plain == rows, "round \(round)")
            }
        }
    }
}
