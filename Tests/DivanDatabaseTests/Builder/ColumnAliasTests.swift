// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// The names that a query gives to its columns, in the clauses behind them.
@Suite struct ColumnAliasTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.inBatch {
            for (number, group) in ["a", "b", "b", "b", "c", "c"].enumerated() {
                try database.create(
                    DocumentID("\(number)"),
                    ["g": .string(group), "n": .integer(Int64(number)), "o": ["c": 1]])
            }
        }
    }

    /// Groups, and under the name "c" how many documents each has.
    private var groups: SelectQuery {
        QueryBuilder.select(.property("g"), .expression(Function.count()).as("c"))
            .from(.database(database)).groupBy(.property("g"))
    }

    private func texts(_ query: SelectQuery, _ column: String = "g") throws -> [String] {
        try query.run().map { $0[column].string ?? "none" }
    }

    @Test func `rows are sorted by a column of that name`() throws {
        let name = QueryExpression.property("c")
        #expect(try texts(groups.orderBy(.expression(name).descending())) == ["b", "c", "a"])
        #expect(try texts(groups.orderBy(.expression(name).ascending())) == ["a", "c", "b"])
        let doubled = name.multiply(-2)
        #expect(try texts(groups.orderBy(.expression(doubled))) == ["b", "c", "a"])
        let plain = QueryBuilder.select(
            .expression(Function.abs(.property("n"))).as("size"), .property("g")
        )
        .from(.database(database))
        #expect(try texts(plain.orderBy(.property("size").descending()).limit(2)) == ["c", "c"])
    }

    @Test func `groups are kept by a column of that name`() throws {
        let kept = groups.having(.property("c").greaterThan(1)).orderBy(.property("g"))
        #expect(try texts(kept) == ["b", "c"])
    }

    @Test func `rows are grouped by a column of that name`() throws {
        let query =
            QueryBuilder
            .select(
                .expression(Function.upper(.property("g"))).as("letter"),
                .expression(Function.count()).as("c")
            ).from(.database(database)).groupBy(.property("letter")).orderBy(.property("c"))
        #expect(try texts(query, "letter") == ["A", "C", "B"])
    }

    @Test func `the JSON form knows the names, too`() throws {
        let query = try SelectQuery(
            json: [
                "WHAT": [[".g"], ["AS", ["COUNT()"], "c"]], "GROUP_BY": [[".g"]],
                "HAVING": [">", [".c"], 1], "ORDER_BY": [["DESC", [".c"]]],
            ], from: .database(database))
        #expect(try texts(query) == ["b", "c"])
    }

    @Test func `the name of a column hides a property of that name`() throws {
        let columns: [SelectResult] = [
            .property("g"), .expression(.int(0).subtract(.property("n"))).as("n"),
        ]
        let query = QueryBuilder.select(columns).from(.database(database))
        #expect(
            try query.orderBy(.property("n")).run().map { $0["n"].int } == [-5, -4, -3, -2, -1, 0])
        // An index on the property does not give this order.
        try database.createIndex(PropertyIndex(on: "n"))
        #expect(
            try query.orderBy(.property("n")).run().map { $0["n"].int } == [-5, -4, -3, -2, -1, 0])
    }

    @Test func `where, aggregates, longer paths and other sources mean properties`() throws {
        let summed =
            QueryBuilder
            .select(.property("g"), .expression(Function.sum(.property("n"))).as("n"))
            .from(.database(database).as("d")).groupBy(.property("g"))
        // The property in the condition, the sum in the order.
        let some = summed.where(.property("n").greaterThan(0)).orderBy(.property("n").descending())
        #expect(try some.run().map { $0["n"].int } == [9, 6])
        let largest = Function.maximum(.property("n"))
        #expect(try texts(summed.having(largest.greaterThan(3))) == ["c"])
        #expect(try texts(summed.orderBy(.expression(largest).descending())) == ["c", "b", "a"])
        #expect(try texts(groups.having(.property("o.c").equalTo(1))).count == 3)
        let named = summed.orderBy(.expression(.property("n").from("d")).descending())
        #expect(try texts(named) == ["c", "b", "a"])
        // Groups cannot be made by what counts them.
        #expect(try summed.groupBy(.property("n")).run().count == 6)
    }

    @Test func `what sorts a whole document by the name of its source is a property`() throws {
        try database.create("p", ["author": "x"])
        let query = QueryBuilder.select(.all(from: "author"), .property("author").as("name"))
            .from(.database(database))
            .join(
                .leftOuter(
                    .database(database).as("author"),
                    on: Meta.id.from("author").equalTo(.property("author")))
            )
            .orderBy(.property("author").descending())
        #expect(try texts(query, "name").first == "x")
    }
}
