// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// A condition that is compiled to look-ups in packed documents holds where its evaluation is true.
@Suite struct PackedConditionTests {
    private static let collations: [Collation?] = [nil, nil, .raw, .unicode, .ascii]

    private static func node(_ depth: Int, _ random: inout SeededRandom) -> ExpressionNode {
        if depth > 0, random.oneIn(3) {
            let parts = (0..<random.below(4)).map { _ in node(depth - 1, &random) }
            return random.oneIn(2) ? .all(parts) : .any(parts)
        }
        guard let path = try? PropertyPath(RandomSelector.path(&random)) else { return .any([]) }
        var property = ExpressionNode.property(path, source: nil)
        if let collation = random.element(of: collations) {
            property = .collated(property, collation)
        }
        func constant() -> ExpressionNode { .literal(RandomSelector.value(1, &random)) }
        let comparisons: [ExpressionNode.Comparison] = [
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .identical,
        ]
        switch random.below(5) {
        case 0: return .test(random.element(of: [.missing, .null, .valued]), property)
        case 1: return .between(property, constant(), constant())
        case 2: return .oneOf(property, [constant(), constant()])
        case 3: return .compare(random.element(of: comparisons), constant(), property)
        default: return .compare(random.element(of: comparisons), property, constant())
        }
    }

    @Test func `a compiled condition holds where its evaluation is true`() throws {
        let database = try Database.inMemory()
        var compiled = 0
        try database.core.read { snapshot in
            for round in Soak.rounds(test: 4_000, soak: 200_000) {
                var random = Soak.random(round: round, salt: 0xC0D)
                let node = Self.node(2, &random)
                guard let condition = PackedCondition(node, source: nil) else { continue }
                compiled += 1
                for _ in 0..<6 {
                    let body = PackedValue(.object(RandomSelector.document(2, &random)))
                    let document = Document(
                        id: "d", revisionID: RevisionID("1-a"), sequence: 1, isDeleted: false,
                        body: body, store: 0)
                    let scope = ExpressionScope(
                        document, name: nil, snapshot: snapshot, patterns: PatternCache())
                    let expected = try node.truth(in: scope) ?? false
                    let holds = body.withBytes { condition.holds(in: $0) }
                    #expect(holds == expected, "round \(round): \(node) of \(body)")
                }
            }
        }
        #expect(compiled > 1_000)
    }

    @Test func `documents are counted by a condition, with and without groups`() throws {
        let database = try Database.inMemory()
        for number in 0..<40 {
            try database.create(
                "d\(number)", ["n": .integer(Int64(number)), "kind": number % 2 == 0 ? "a" : "b"])
        }
        let query = QueryBuilder.select(.expression(Function.count())).from(.database(database))
            .where(.property("n").greaterThanOrEqualTo(30).or(.property("n").equalTo(0)))
        #expect(try query.run().first?[0].int == 11)
        let grouped = QueryBuilder.select(.property("kind"), .expression(Function.count()))
            .from(.database(database)).where(.property("n").greaterThan(30))
            .groupBy(.property("kind"))
        // Groups come in the order of their least documents: d31, d32.
        #expect(try grouped.run().map { $0[0].string } == ["b", "a"])
        #expect(try grouped.run().map { $0[1].int } == [5, 4])
    }
}
