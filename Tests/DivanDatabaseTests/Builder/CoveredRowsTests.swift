// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Rows of an index give the columns that they have, as the documents would.
@Suite struct CoveredRowsTests {
    private static let collations: [Collation?] = [nil, .raw, .unicode, .ascii]

    @Test func `rows are the same with every index as without one`() throws {
        for round in Soak.rounds(test: 60, soak: 4_000) {
            var random = Soak.random(round: round, salt: 0xC07E)
            let database = try Database.inMemory()
            try database.inBatch {
                for number in 0..<random.below(60) {
                    try database.create("d\(number)", RandomSelector.document(2, &random))
                }
            }
            let path = RandomSelector.path(&random)
            let other = RandomSelector.path(&random)
            let property = QueryExpression.property(path)
            let constant = QueryExpression.value(RandomSelector.value(1, &random))
            let condition =
                random.oneIn(2) ? property.equalTo(constant) : property.lessThan(constant)
            let ordering = Ordering.property(path)
            let columns: [SelectResult] = [
                .property(path).as("a"), .expression(Meta.id), .property(other).as("b"),
                .property(path).as("c"), .expression(Meta.id).as("d"),
            ]
            let isWhole = random.oneIn(4)
            let (isDescending, limit, offset) = (random.oneIn(2), random.below(8), random.below(3))
            func query(_ columns: [SelectResult]) -> SelectQuery {
                QueryBuilder.select(columns).from(.database(database))
                    .where(isWhole ? .not(property.isMissing()) : condition)
                    .orderBy(isDescending ? ordering.descending() : ordering)
                    .limit(limit, offset: offset)
            }
            // One computed column has the others computed, too.
            let computed = try query(columns + [.expression(.value(true)).as("computed")]).run()
            let expected = computed.map { row in
                var properties = row.properties
                properties["computed"] = nil
                return JSONValue.object(properties).description
            }
            for collation in Self.collations {
                let index = PropertyIndex(
                    on: Set([path, other]).sorted { $0 == path && $1 != path },
                    collation: collation)
                try database.createIndex(index)
                #expect(try query(columns).run().map { $0.toJSON() } == expected, "round \(round)")
                try database.deleteIndex(named: index.name)
            }
        }
    }

    private func filled() throws -> Database {
        let database = try Database.inMemory()
        try database.inBatch {
            for number in 0..<200 {
                try database.create(
                    "d\(1_000 + number)",
                    [
                        "email": .string("m\(1_000 + number)"),
                        "size": .double(Double(number)), "other": true,
                    ])
            }
        }
        return database
    }

    private func query(_ database: Database, _ columns: String...) -> SelectQuery {
        QueryBuilder.select([.expression(Meta.id)] + columns.map { SelectResult.property($0) })
            .from(.database(database))
            .where(.property("email").greaterThanOrEqualTo("m1010"))
            .orderBy(.property("email")).limit(3)
    }

    @Test func `no document is read for columns that an index has`() throws {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "email"))
        let query = query(database, "email")
        #expect(try query.run().map { $0["id"].string } == ["d1010", "d1011", "d1012"])
        #expect(try query.run().map { $0["email"].string } == ["m1010", "m1011", "m1012"])
        let explanation = try query.explain()
        #expect(explanation.text.contains("no document was read"))
        #expect(explanation.actualRows == 3)
        #expect(explanation.estimatedRows == 190)
    }

    @Test func `numbers stay as they were written, for which documents are read`() throws {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "email", "size"))
        let rows = try query(database, "size").run()
        #expect(rows.first?.toJSON() == #"{"id":"d1010","size":10.0}"#)
    }

    @Test func `a text too large for a key is among the first rows`() throws {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "email"))
        let long = "m1010" + String(repeating: "x", count: 1 << 20)
        try database.create("long", ["email": .string(long)])
        let ids = try query(database, "email").run().map { $0["id"].string }
        #expect(ids == ["d1010", "long", "d1011"])
    }
}
