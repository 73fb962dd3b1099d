// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPlatform
import DivanTestSupport
import Testing

/// Groups of random documents agree with naive ones, whether documents are made for them or not.
struct GroupReferenceTests {
    private struct Group: Equatable {
        /// The document that stands for it, and what its properties are there.
        var id: String
        var values: [JSONValue?]
        var count: Int
        /// How many have a value of the property that is counted.
        var valued: Int
    }

    private static let order = ValueOrder(.raw, strings: ICUCollator.root)

    @Test func `random groups and counts agree with the naive model`() throws {
        for round in Soak.rounds(test: 150, soak: 10_000) {
            var random = Soak.random(round: round, salt: 0x6209)
            let database = try Database.inMemory()
            try database.inBatch {
                for _ in 0..<random.below(200) { try edit(database, &random) }
            }
            for _ in 0..<4 {
                let grouping = (0..<random.below(3)).map { _ in RandomSelector.path(&random) }
                let counted = RandomSelector.path(&random)
                let expected = try Self.groups(database, by: grouping, counting: counted)
                // Nothing but counts, which documents need not be made for; and a sum, which they are.
                for extra in [Function.count(), Function.sum(.value(1))] {
                    let found = try Self.ask(database, grouping, counted, extra)
                    #expect(found == expected, "round \(round), by \(grouping), \(counted)")
                }
            }
        }
    }

    /// Saves, changes, deletes and purges documents, in any order of their IDs, and makes conflicts.
    private func edit(_ database: Database, _ random: inout SeededRandom) throws {
        let id =
            random.oneIn(2)
            ? "d\(random.below(60))"
            : "0190abcd-7e2f-7abc-8def-0123456789\(10 + random.below(60))"
        let leaf: RevisionID = "1-\(["a", "b", "c"][random.below(3)])"
        let body = RandomSelector.document(2, &random)
        switch random.below(10) {
        case 0: try database.purge(DocumentID(id))
        case 1:
            try database.putExistingRevision(
                DocumentID(id), [:], history: ["2-e", leaf], isDeleted: true)
        case 2: try database.putExistingRevision(DocumentID(id), body, history: ["2-f", leaf])
        case 3: try database.putExistingRevision("_design/\(id)", body, history: [leaf])
        default: try database.putExistingRevision(DocumentID(id), body, history: [leaf])
        }
    }

    private static func ask(
        _ database: Database, _ grouping: [String], _ counted: String, _ extra: QueryExpression
    ) throws -> [Group] {
        let columns: [SelectResult] =
            [
                .expression(Meta.id), .expression(Function.count()),
                .expression(Function.count(.property(counted))), .expression(extra),
            ] + grouping.map { .property($0) }
        let query = QueryBuilder.select(columns).from(.database(database))
            .groupBy(grouping.map { .property($0) })
        let rows = try query.run()
        return rows.map { row in
            #expect(row[1].int == row[3].int)
            return Group(
                id: row[0].string ?? "", values: grouping.indices.map { row[4 + $0].value },
                count: row[1].int ?? -1, valued: row[2].int ?? -1)
        }
    }

    private static func groups(
        _ database: Database, by grouping: [String], counting counted: String
    ) throws -> [Group] {
        var groups: [Group] = []
        // They come in the order of their IDs.
        try database.forEachDocument { row in
            guard !row.id.text.hasPrefix("_design/") else { return }
            let document = JSONValue.object(
                try #require(try database.document(withID: row.id)).properties)
            let values = grouping.map { RandomSelector.value(document, $0) }
            let isValued = RandomSelector.value(document, counted).map { !$0.isNull } ?? false
            let place =
                groups.firstIndex { group in
                    zip(group.values, values).allSatisfy(isEqual)
                } ?? groups.count
            if place == groups.count {
                groups.append(Group(id: row.id.text, values: values, count: 0, valued: 0))
            }
            groups[place].count += 1
            groups[place].valued += isValued ? 1 : 0
        }
        // Without grouping there is one group, be it empty.
        if grouping.isEmpty, groups.isEmpty {
            groups.append(Group(id: "", values: [], count: 0, valued: 0))
        }
        return groups
    }

    private static func isEqual(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return order.collate(left, right) == 0
    }
}
