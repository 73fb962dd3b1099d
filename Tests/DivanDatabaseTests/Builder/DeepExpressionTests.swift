// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Expressions of very many parts, as a loop makes them: they work or are refused.
@Suite struct DeepExpressionTests {
    private let database: Database
    private static let n = QueryExpression.property("n")

    init() throws {
        database = try Database.inMemory()
        for number in 1...3 { try database.create("\(number)", ["n": .integer(Int64(number))]) }
    }

    private func count(_ condition: QueryExpression) throws -> Int {
        try QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(condition).run().count
    }

    /// The same thing done to an expression many times over.
    private func repeated(
        _ times: Int, _ start: QueryExpression,
        _ step: (QueryExpression, QueryExpression) -> QueryExpression
    ) -> QueryExpression {
        (0..<times).reduce(start) { step($0, Self.n.equalTo(.int($1 + 2))) }
    }

    @Test(arguments: [5_000, 100_000]) func `a chain may have very many terms`(_ terms: Int)
        throws
    {
        let start = Self.n.equalTo(1)
        #expect(try count(repeated(terms, start) { $0.or($1) }) == 3)
        #expect(try count(repeated(terms, start) { $1.or($0) }) == 3)
        let other = QueryExpression.not(start)
        #expect(try count(repeated(terms, other) { $0.and(.not($1)) }) == 0)
        #expect(try count(repeated(terms, other) { .not($1).and($0) }) == 0)
    }

    @Test func `a chain is what its terms are one by one`() throws {
        let one = Self.n.equalTo(1)
        let two = Self.n.equalTo(2)
        let three = Self.n.equalTo(3)
        let missing = QueryExpression.property("none").equalTo(1)
        #expect(try count(one.or(two).or(three)) == 3)
        #expect(try count(one.or(two).and(two.or(three))) == 1)
        #expect(try count(one.and(two).or(three)) == 1)
        #expect(try count(missing.or(one).or(two)) == 2)
        #expect(try count(.not(missing.or(one).or(two))) == 0)
        #expect(try count(.not(missing.and(one).and(two))) == 3)
        #expect(try count(.not(missing.and(one).and(one))) == 2)
        #expect(try count(one.or(two).or(three.or(one).or(two))) == 3)
    }

    @Test func `a chain and the list of the JSON form are explained alike`() throws {
        try database.createIndex(PropertyIndex(on: "n"))
        let terms: [JSONValue] = (0..<40).map { ["=", [".n"], .integer($0)] }
        let listed = try SelectQuery(
            json: ["WHERE": .array(["OR"] + terms)], from: .database(database))
        let chain = repeated(38, Self.n.equalTo(0).or(Self.n.equalTo(1))) { $0.or($1) }
        let chained = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(chain)
        #expect(try chained.run().count == 3)
        #expect(try chained.explain().text == listed.explain().text)
    }

    @Test(arguments: [400, 5_000, 30_000, 1_000_000])
    func `anything else nests up to a limit, and more is refused`(_ levels: Int) throws {
        let deep: [QueryExpression] = [
            repeated(levels, Self.n) { sum, _ in sum.add(1) }.greaterThan(0),
            repeated(levels, Self.n) { sum, _ in .int(1).add(sum) }.greaterThan(0),
            repeated(levels, Self.n.isValued()) { condition, _ in .not(condition) },
            repeated(levels, Self.n) { value, _ in Function.abs(value) }.greaterThan(0),
            repeated(levels, Self.n) { value, _ in value.collate(.unicode) }.greaterThan(0),
            repeated(levels, Self.n.equalTo(1)) { condition, _ in condition.equalTo(true) },
        ]
        for (place, expression) in deep.enumerated() {
            if levels < 500 {
                #expect(try count(expression) == (place == 5 ? 1 : 3), "\(place)")
            } else {
                #expect(code { try count(expression) } == .invalidQuery, "\(place)")
            }
        }
    }

    @Test func `too much nesting is refused in every clause`() throws {
        let deep = repeated(5_000, Self.n) { sum, _ in sum.add(1) }
        let all = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
        let queries = [
            QueryBuilder.select(.expression(deep)).from(.database(database)),
            all.groupBy(deep), all.orderBy(.expression(deep)), all.having(deep.greaterThan(0)),
            all.join(.inner(.database(database).as("o"), on: Meta.id.from("o").equalTo(deep))),
        ]
        for query in queries {
            let error = #expect(throws: DatabaseError.self) { try query.run() }
            #expect(error?.code == .invalidQuery)
            #expect(error?.message.contains("512 levels") ?? false)
        }
    }
}
