// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

@testable import DivanQuery

/// Searches of one partition.
@Suite struct SearchPartitionTests {
    private static let partitions = ["a", "ab", "b"]
    private static let queries = [
        "x", "y OR z", "+x -y", "\"x y\"", "x*", "n:[1 TO 3]", "*:*", "*:* -x", "z~1", "_id:a\\:1",
    ]

    @Test func `a partition is searched as a database that has its documents alone`() throws {
        for round in Soak.rounds(test: 20, soak: 1_000) {
            var random = Soak.random(round: round, salt: 0x9A47)
            let whole = try Database.inMemory(partitioned: true)
            let own = try Self.partitions.map { _ in try Database.inMemory() }
            for _ in 0..<(5 + random.below(60)) {
                let place = random.below(own.count)
                let id = DocumentID("\(Self.partitions[place]):\(random.below(20))")
                let body = Self.document(&random)
                for database in [whole, own[place]] {
                    let revision = try database.document(withID: id)?.revisionID
                    _ = try database.put(id, body, parent: revision)
                }
            }
            let index = try SearchIndex.calling(whole, isPartitioned: true)
            for (place, database) in own.enumerated() {
                let other = try SearchIndex.calling(database)
                for text in Self.queries {
                    var query = SearchQuery(text)
                    query.limit = 1 + random.below(30)
                    query.counts = ["tag"]
                    query.ranges = [SearchQuery.Range(field: "n", label: "all")]
                    query.order = [random.oneIn(2) ? .score : SearchOrder(.field("n", .any))]
                    let expected = try other.run(query)
                    query.partition = Self.partitions[place]
                    let found = try index.run(query)
                    let note: Comment = "round \(round): \(text)"
                    #expect(found.total == expected.total, note)
                    #expect(found.hits.map(\.id) == expected.hits.map(\.id), note)
                    #expect(found.hits.map(\.order) == expected.hits.map(\.order), note)
                    #expect(Self.text(found.counts) == Self.text(expected.counts), note)
                    #expect(Self.text(found.ranges) == Self.text(expected.ranges), note)
                }
                database.close()
            }
            #expect(try index.statistics().documents == Int(whole.documentCount), "\(round)")
            whole.close()
        }
    }

    @Test func `an index that is made for partitions is asked for one, and no other index is`()
        throws
    {
        let database = try Database.inMemory(partitioned: true)
        defer { database.close() }
        var query = SearchQuery("x")
        let partitioned = try SearchIndex.calling(database, isPartitioned: true)
        #expect(throws: DatabaseError.self) { try partitioned.run(query) }
        query.partition = "a"
        #expect(try partitioned.run(query).total == 0)
        let global = try SearchIndex.calling(database)
        #expect(throws: DatabaseError.self) { try global.run(query) }
    }

    private static func document(_ random: inout SeededRandom) -> JSONObject {
        let words = (0..<random.below(5)).map { _ in random.element(of: ["x", "y", "z", "xy"]) }
        let calls: JSONValue = [
            ["default", .string(words.joined(separator: " ")), [:]],
            ["n", JSONValue(random.below(5)), ["facet": true]],
            ["tag", .string(random.element(of: ["r", "s"])), ["facet": true]],
        ]
        return ["fields": calls]
    }

    private static func text(_ counts: SearchResult.Counts?) -> String { "\(counts ?? [])" }
}
