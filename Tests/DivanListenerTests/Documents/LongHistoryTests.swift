// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// Documents whose histories are longer than what is kept whole, over HTTP.
@Suite(.timeLimit(.minutes(10))) struct LongHistoryTests {
    private let site: TestSite
    private let there: Database
    private let here: Database

    init() throws {
        site = try TestSite { $0.revisionLimit = 5_000 }
        there = try site.manager.database(named: "notes")
        here = try Database.inMemory(named: "here")
    }

    private func edit(_ database: Database, _ times: Int) throws {
        try database.inBatch {
            for n in 0..<times {
                try database.put(
                    "d", ["n": .integer(Int64(n))],
                    parent: database.document(withID: "d")?.revisionID)
            }
        }
    }

    @Test(arguments: [25, 100])
    func `a document edited many times offline meets a listener without a conflict`(
        _ edits: Int
    ) async throws {
        let listener = try site.listen()
        defer { listener.stop() }
        let url = try #require(listener.url(of: there))
        try edit(there, 3)
        let pull = here.makePullReplication(from: url)
        pull.start()
        await pull.waitUntilEnded()
        try edit(here, edits)
        let push = here.makePushReplication(to: url)
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError == nil)
        #expect(try there.leafRevisions(of: "d").count == 1)
        #expect(try there.revisionHistory(of: "d") == here.revisionHistory(of: "d"))
        // Another device gets the whole history by HTTP.
        let other = try Database.inMemory(named: "other")
        let second = other.makePullReplication(from: url)
        second.start()
        await second.waitUntilEnded()
        #expect(try other.revisionHistory(of: "d") == there.revisionHistory(of: "d"))
        // Deleted there, it stays deleted here.
        try there.delete("d")
        pull.start()
        await pull.waitUntilEnded()
        #expect(try here.documentCount == 0)
        #expect(try here.leafRevisions(of: "d").count == 1)
        #expect(try there.verify().isEmpty)
    }

    @Test func `old revisions are known, and told of`() throws {
        try edit(there, 200)
        let history = try there.revisionHistory(of: "d")
        let body = "{\"d\":[\"\(history[190])\",\"\(history[0])\",\"7-a\",\"300-b\"]}"
        let answer = site.send("POST", "/notes/_revs_diff", body).json["d"]
        #expect(answer?["missing"]?.array == ["7-a", "300-b"])
        #expect(answer?["possible_ancestors"]?.array == [.string(history[0].description)])
        let missing = site.send("POST", "/notes/_missing_revs", body).json["missing_revs"]
        #expect(missing?["d"]?.array == ["7-a", "300-b"])

        let document = site.send("GET", "/notes/d?revs=true&revs_info=true").json
        #expect(document["_revisions"]?["ids"]?.array?.count == 200)
        let info = try #require(document["_revs_info"]?.array)
        #expect(info.count == 200)
        #expect(info.filter { $0["status"] == "available" }.count == 20)
        #expect(info.last?["status"] == "missing")
        let bulk = site.send(
            "POST", "/notes/_bulk_get?revs=true", "{\"docs\":[{\"id\":\"d\"}]}")
        let got = bulk.json["results"]?.array?.first?["docs"]?.array?.first?["ok"]
        #expect(got?["_revisions"]?["ids"]?.array?.count == 200)
        #expect(site.send("GET", "/notes/d?rev=\(history[190])").status == 404)
    }

    @Test func `the limit is one of IDs, and new databases begin with the listener's`() throws {
        #expect(site.send("GET", "/notes/_revs_limit").text.hasPrefix("1000"))
        #expect(site.send("PUT", "/fresh").status == 201)
        #expect(site.send("GET", "/fresh/_revs_limit").text.hasPrefix("5000"))
        #expect(site.send("PUT", "/notes/_revs_limit", "30").status == 200)
        #expect(try there.revisionLimit == 30)
        #expect(try there.revisionBodyLimit == 20)
        try edit(there, 100)
        #expect(
            site.send("GET", "/notes/d?revs=true").json["_revisions"]?["ids"]?.array?.count == 30)
        #expect(site.send("PUT", "/notes/_revs_limit", "1000001").status == 400)
    }
}
