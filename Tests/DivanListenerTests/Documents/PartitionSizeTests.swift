// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanListener

/// `couchdb/max_partition_size`: when an edit is refused, and what finding that out costs.
@Suite struct PartitionSizeTests {
    private let site: TestSite
    private let database: Database
    private let text = String(repeating: "x", count: 1_000)

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db", partitioned: true)
        site.send("PUT", "/_node/_local/_config/couchdb/max_partition_size", #""5000""#)
    }

    /// Fills a partition by edits until one is refused.
    private func fill(_ name: String) throws -> Int {
        for n in 0..<100 {
            let answer = site.send("PUT", "/db/\(name):\(n)", #"{"text":"\#(text)"}"#)
            guard answer.status != 201 else { continue }
            #expect(answer.status == 403 && answer.json["error"] == "partition_overflow")
            #expect(
                answer.json["reason"]
                    == .string("Partition limit exceeded due to update on '\(name):\(n)'"))
            return n
        }
        Issue.record("no edit was refused")
        return 0
    }

    @Test func `a full partition takes only edits that make no document longer`() throws {
        #expect(try fill("a") == 5)
        #expect(try database.partition("a").info().contentBytes >= 5_000)
        // Another partition, what belongs to none, and what replicators bring.
        #expect(site.send("PUT", "/db/b:1", "{}").status == 201)
        #expect(site.send("PUT", "/db/_design/d", "{}").status == 201)
        #expect(
            site.send("PUT", "/db/a:x?new_edits=false", #"{"_rev":"1-abc","n":1}"#).status == 201)
        let rows = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a:y"},{"_id":"b:y"}]}"#
        ).json
        #expect(rows[0]?["error"] == "partition_overflow" && rows[1]?["ok"] == true)

        let revision = try #require(database.document(withID: "a:0")?.revisionID)
        let shorter = site.send("PUT", "/db/a:0", #"{"_rev":"\#(revision)","text":""}"#)
        #expect(shorter.status == 201)
        #expect(site.send("PUT", "/db/a:z", "{}").status == 201)
    }

    @Test func `what is deleted or purged makes room at once`() throws {
        #expect(try fill("a") == 5)
        let (first, second) = (
            try #require(database.document(withID: "a:0")?.revisionID),
            try #require(database.document(withID: "a:1")?.revisionID)
        )
        #expect(site.send("DELETE", "/db/a:0?rev=\(first)").status == 200)
        #expect(site.send("PUT", "/db/a:0", #"{"text":"\#(text)"}"#).status == 201)
        #expect(site.send("PUT", "/db/a:new", "{}").status == 403)
        #expect(site.send("POST", "/db/_purge", #"{"a:1":["\#(second)"]}"#).status == 201)
        #expect(site.send("PUT", "/db/a:new", "{}").status == 201)
    }

    @Test func `the limit is the one that is set now, and none without the key`() throws {
        #expect(try fill("a") == 5)
        let key = "/_node/_local/_config/couchdb/max_partition_size"
        site.send("PUT", key, #""500000""#)
        #expect(site.send("PUT", "/db/a:1000", #"{"text":"\#(text)"}"#).status == 201)
        site.send("PUT", key, #""100""#)
        #expect(site.send("PUT", "/db/a:1001", "{}").status == 403)
        site.send("DELETE", key)
        #expect(site.send("PUT", "/db/a:1001", "{}").status == 201)
    }

    @Test func `a partition is read once, not for each edit, and anew when others have changed it`()
        throws
    {
        let reads = Atomic(0)
        let sizes = PartitionSizes { partition in
            reads.add(1, ordering: .relaxed)
            return try partition.info()
        }
        let partition = database.partition("a")
        let start = ContinuousClock.now
        func take(_ growth: Int, _ limit: Int, after seconds: Int = 0) throws -> Bool {
            try sizes.take(
                growth, into: partition, limit: limit, now: start + .seconds(seconds))
        }
        for _ in 0..<500 { #expect(try take(10, 1_000_000)) }
        #expect(reads.load(ordering: .relaxed) == 1)

        // It is full by what was counted, so it is read, and is not full: nothing was saved.
        #expect(try take(10, 5_000))
        #expect(reads.load(ordering: .relaxed) == 2)

        // Changes that came by another way, as many as make a look worth it.
        try database.inBatch {
            for n in 0..<1_100 {
                try database.save(MutableDocument(["text": "0123456789"], id: partition.id("\(n)")))
            }
        }
        #expect(try !take(10, 5_000))
        #expect(reads.load(ordering: .relaxed) == 3)

        // One that is full is looked at no more than once a second.
        try database.save(MutableDocument([:], id: partition.id("more")))
        for _ in 0..<100 { #expect(try !take(10, 5_000)) }
        #expect(reads.load(ordering: .relaxed) <= 4)
        #expect(try !take(10, 5_000, after: 2))
        #expect(reads.load(ordering: .relaxed) <= 5)
        #expect(try take(-10, 5_000))
    }
}
