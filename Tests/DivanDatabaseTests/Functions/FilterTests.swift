// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct FilterTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        database.setFilter(named: "byOwner") { revision, parameters in
            revision["owner"].value == parameters["name"]
        }
    }

    private func ids(_ batch: ChangesBatch) -> [String] { batch.changes.map(\.id.text) }

    @Test func `a filter lets through the documents it says yes to`() throws {
        try database.create("a", ["owner": "Waldo"])
        try database.create("b", ["owner": "Ann"])
        try database.create("c", ["owner": "Waldo"])
        let batch = try database.changes(filter: "byOwner", parameters: ["name": "Waldo"])
        #expect(ids(batch) == ["a", "c"])
        #expect(batch.changes.map(\.sequence) == [1, 3])
        #expect(try ids(database.changes(filter: "byOwner", parameters: ["name": "Ann"])) == ["b"])
        #expect(try ids(database.changes(filter: "byOwner", parameters: ["name": "Eve"])) == [])
    }

    @Test func `the next reading begins after all that was looked at`() throws {
        for number in 0..<10 { try database.create("\(number)", ["owner": "Ann"]) }
        let none = try database.changes(filter: "byOwner", parameters: ["name": "Waldo"])
        #expect(none.lastSequence == 10)
        let some = try database.changes(limit: 3, filter: "byOwner", parameters: ["name": "Ann"])
        #expect(ids(some) == ["0", "1", "2"])
        #expect(some.lastSequence == 3)
        let rest = try database.changes(
            since: some.lastSequence, filter: "byOwner", parameters: ["name": "Ann"])
        #expect(rest.changes.count == 7)
        #expect(try database.changes(limit: 0, filter: "byOwner").changes == [])
    }

    @Test func `a filter sees the current revision of conflicts, large bodies and tombstones`()
        throws
    {
        let text = String(repeating: "x", count: 30_000)
        try database.create("large", ["owner": "Ann", "text": .string(text)])
        try database.create("conflict", ["owner": "Waldo"])
        try database.putExistingRevision("conflict", ["owner": "Ann"], history: ["2-z"])
        try database.put(
            "gone", ["owner": "Ann"], parent: database.create("gone").revisionID,
            options: .tombstone)
        let batch = try database.changes(filter: "byOwner", parameters: ["name": "Ann"])
        #expect(ids(batch) == ["large", "conflict", "gone"])
        #expect(batch.changes.map(\.isDeleted) == [false, false, true])
        #expect(batch.changes[1].revisions.count == 2)
    }

    @Test func `filters are replaced, found and removed by name`() throws {
        try database.create("a", ["owner": "Ann"])
        #expect(database.filterNames == ["byOwner"])
        let document = try database.existing("a")
        let byOwner = try #require(database.filter(named: "byOwner"))
        #expect(try byOwner(document, ["name": "Ann"]))
        database.setFilter(named: "byOwner") { _, _ in false }
        #expect(try database.changes(filter: "byOwner").changes == [])
        database.removeFilter(named: "byOwner")
        #expect(database.filter(named: "byOwner") == nil)
        #expect(code { try database.changes(filter: "byOwner") } == .invalidQuery)
    }

    @Test func `what a filter throws comes out`() throws {
        try database.create("a")
        database.setFilter(named: "whim") { _, _ in throw Whim() }
        #expect(throws: Whim()) { try database.changes(filter: "whim") }
        try database.create("b")
    }

    @Test func `in a batch a filter sees what the batch did`() throws {
        try database.inBatch {
            try database.create("a", ["owner": "Ann"])
            let batch = try database.changes(filter: "byOwner", parameters: ["name": "Ann"])
            #expect(ids(batch) == ["a"])
        }
    }

    @Test func `filtered changes equal all changes that pass`() throws {
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 51)
            let database = try Database.inMemory()
            database.setFilter(named: "n") { revision, parameters in
                revision["n"].value == parameters["n"]
            }
            try database.inBatch {
                for _ in 0..<30 {
                    let id: DocumentID = "\(random.below(8))"
                    let n = JSONValue.integer(Int64(random.below(3)))
                    switch random.below(4) {
                    case 0:
                        try database.putExistingRevision(
                            id, ["n": n], history: ["\(1 + random.below(4))-\(random.below(9))"])
                    case 1 where try database.contains(id): try database.delete(id)
                    default:
                        let old = try database.document(withID: id)
                        let document = old?.toMutable() ?? MutableDocument(id: id)
                        document["n"] = Fragment(n)
                        try database.save(document)
                    }
                }
            }
            let since = SequenceNumber(random.below(20))
            let expected = try database.changes(since: since).changes.filter { change in
                try database.leafRevisions(of: change.id).first?["n"].value == 1
            }
            var found: [Change] = []
            var place = since
            while true {
                let batch = try database.changes(
                    since: place, limit: 2, filter: "n", parameters: ["n": 1])
                found += batch.changes
                if batch.changes.isEmpty { break }
                place = batch.lastSequence
            }
            #expect(found == expected, "seed \(Soak.seed), round \(round)")
        }
    }
}
