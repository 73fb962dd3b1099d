// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPlatform
import DivanTestSupport
import Testing

/// Built queries with random indexes agree with a naive evaluation of the same condition.
@Suite struct SelectReferenceTests {
    /// A condition, and what it should be for a document.
    struct Condition {
        var expression: QueryExpression
        var holds: (JSONValue) -> Bool?
    }

    private static let order = ValueOrder(.raw, strings: ICUCollator.root)

    /// Whatever orders indexes have, they never change a result.
    private static let collations: [Collation?] = [nil, nil, .raw, .unicode, .ascii]

    @Test func `random conditions and orders agree with the naive model`() throws {
        for round in Soak.rounds(test: 60, soak: 6_500) {
            var random = Soak.random(round: round, salt: 0xB17D)
            let database = try Database.inMemory()
            for number in 0..<random.below(4) {
                var paths = Set((0..<random.below(2) + 1).map { _ in RandomSelector.path(&random) })
                if random.oneIn(3) { paths = [random.element(of: RandomSelector.names) + "[]"] }
                try database.createIndex(
                    PropertyIndex(
                        named: "i\(number)", on: Array(paths),
                        collation: random.element(of: Self.collations)))
            }
            var documents: [(id: String, body: JSONValue)] = []
            try database.inBatch {
                for number in 0..<random.below(80) {
                    let body = RandomSelector.document(2, &random)
                    try database.create("d\(number)", body)
                    documents.append(("d\(number)", .object(body)))
                }
            }
            for _ in 0..<8 { try ask(database, documents, &random, round) }
        }
    }

    private func ask(
        _ database: Database, _ documents: [(id: String, body: JSONValue)],
        _ random: inout SeededRandom, _ round: Int
    ) throws {
        let condition = Self.condition(3, &random)
        let path = RandomSelector.path(&random)
        let isDescending = random.oneIn(2)
        let ordering = Ordering.property(path)
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(condition.expression)
            .orderBy(isDescending ? ordering.descending() : ordering)
        let limit = random.below(6)
        let expected = documents.filter { condition.holds($0.body) ?? false }
            .sorted { left, right in
                let place = Self.compare(
                    RandomSelector.value(left.body, path), RandomSelector.value(right.body, path))
                if place != 0 { return (place < 0) != isDescending }
                return left.id.utf8.lexicographicallyPrecedes(right.id.utf8) != isDescending
            }
            .map(\.id)
        let found = try query.run().compactMap { $0["id"].string }
        #expect(found == expected, "round \(round)")
        let limited = try query.limit(limit, offset: 1).run().compactMap { $0["id"].string }
        #expect(limited == Array(expected.dropFirst().prefix(limit)), "round \(round)")
    }

    // MARK: - Conditions

    private static func condition(_ depth: Int, _ random: inout SeededRandom) -> Condition {
        guard depth > 0, random.oneIn(2) else { return comparison(&random) }
        let left = condition(depth - 1, &random)
        guard !random.oneIn(4) else {
            return Condition(expression: .not(left.expression)) { left.holds($0).map { !$0 } }
        }
        let right = condition(depth - 1, &random)
        if random.oneIn(2) {
            return Condition(expression: left.expression.and(right.expression)) { document in
                let (a, b) = (left.holds(document), right.holds(document))
                if a == false || b == false { return false }
                return a == nil || b == nil ? nil : true
            }
        }
        return Condition(expression: left.expression.or(right.expression)) { document in
            let (a, b) = (left.holds(document), right.holds(document))
            if a == true || b == true { return true }
            return a == nil || b == nil ? nil : false
        }
    }

    private static func comparison(_ random: inout SeededRandom) -> Condition {
        let path = RandomSelector.path(&random)
        let property = QueryExpression.property(path)
        let constant = RandomSelector.value(1, &random)
        let other = QueryExpression.value(constant)
        switch random.below(10) {
        case 0:
            return Condition(expression: property.equalTo(other)) {
                test(RandomSelector.value($0, path), constant, isTyped: false) { $0 == 0 }
            }
        case 1:
            return Condition(expression: property.notEqualTo(other)) {
                test(RandomSelector.value($0, path), constant, isTyped: false) { $0 != 0 }
            }
        case 2:
            return Condition(expression: property.lessThan(other)) {
                test(RandomSelector.value($0, path), constant) { $0 < 0 }
            }
        case 3:
            return Condition(expression: other.lessThanOrEqualTo(property)) {
                test(RandomSelector.value($0, path), constant) { $0 >= 0 }
            }
        case 4:
            return Condition(expression: property.isMissing()) {
                RandomSelector.value($0, path) == nil
            }
        case 5:
            return Condition(expression: property.isNull()) {
                RandomSelector.value($0, path)?.isNull ?? false
            }
        case 6:
            return Condition(expression: property.like("a%")) {
                RandomSelector.value($0, path)?.string.map { $0.hasPrefix("a") }
            }
        case 7:
            let condition = QueryExpression.variable("x").equalTo(other)
            return Condition(expression: .any("x", in: property, satisfies: condition)) {
                RandomSelector.value($0, path)?.array?.contains { element in
                    test(element, constant, isTyped: false) { $0 == 0 } ?? false
                }
            }
        case 8:
            return Condition(expression: property.between(other, and: 1)) { document in
                let value = RandomSelector.value(document, path)
                let a = test(value, constant) { $0 >= 0 }
                let b = test(value, 1) { $0 <= 0 }
                if a == false || b == false { return false }
                return a == nil || b == nil ? nil : true
            }
        default:
            return Condition(expression: property.in(other, 1)) { document in
                let a = test(RandomSelector.value(document, path), constant, isTyped: false) {
                    $0 == 0
                }
                let b = test(RandomSelector.value(document, path), 1, isTyped: false) { $0 == 0 }
                if a == true || b == true { return true }
                return a == nil || b == nil ? nil : false
            }
        }
    }

    private static func test(
        _ left: JSONValue?, _ right: JSONValue, isTyped: Bool = true, _ holds: (Int) -> Bool
    ) -> Bool? {
        guard let left, !left.isNull, !right.isNull else { return nil }
        if isTyped, kind(left) != kind(right) { return nil }
        return holds(order.collate(left, right))
    }

    private static func kind(_ value: JSONValue) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .string: 2
        case .array: 3
        case .object: 4
        default: 5
        }
    }

    private static func compare(_ left: JSONValue?, _ right: JSONValue?) -> Int {
        guard let left, let right else { return (left == nil ? 0 : 1) - (right == nil ? 0 : 1) }
        return order.collate(left, right)
    }
}
