// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Design documents of the language `query`, which declare indexes.
@Suite struct QueryDesignTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        for (id, age) in [("a", 30), ("b", 20), ("c", 40)] {
            site.send("PUT", "/db/\(id)", #"{"age":\#(age)}"#)
        }
    }

    private static let byAge = #"{"index":{"fields":["age"]},"ddoc":"people","name":"by_age"}"#

    private func indexes(_ database: String = "db") -> [String] {
        (site.send("GET", "/\(database)/_index").json["indexes"]?.array ?? []).compactMap {
            guard let design = $0["ddoc"]?.string else { return nil }
            return "\(design) \($0["name"]?.string ?? "") \($0["def"]?["fields"] ?? .null)"
        }
    }

    @Test func `an index that a client makes is a design document in the feed`() {
        let made = site.send("POST", "/db/_index", Self.byAge)
        #expect(made.json["result"]?.string == "created")
        #expect(site.send("POST", "/db/_index", Self.byAge).json["result"]?.string == "exists")
        let design = site.send("GET", "/db/_design/people").json
        #expect(design["language"]?.string == "query")
        #expect(design["views"]?["by_age"]?["map"]?["fields"]?["age"]?.string == "asc")
        #expect(design["views"]?["by_age"]?["options"]?["def"]?["fields"] == ["age"])
        let feed = site.send("GET", "/db/_changes").json["results"]?.array
        #expect(feed?.last?["id"]?.string == "_design/people")
        #expect(indexes() == [#"_design/people by_age [{"age":"asc"}]"#])
    }

    @Test func `two indexes may share a design document, which goes with the last one`() {
        site.send("POST", "/db/_index", Self.byAge)
        site.send(
            "POST", "/db/_index", #"{"index":{"fields":["n","age"]},"ddoc":"people","name":"two"}"#)
        #expect(indexes().count == 2)
        #expect(site.send("DELETE", "/db/_index/people/json/by_age").status == 200)
        #expect(indexes() == [#"_design/people two [{"n":"asc"},{"age":"asc"}]"#])
        #expect(site.send("GET", "/db/_design/people").status == 200)
        let deleted = site.send(
            "POST", "/db/_index/_bulk_delete", #"{"docids":["_design/people"]}"#)
        #expect(deleted.json["success"]?.array?.count == 1)
        #expect(site.send("GET", "/db/_design/people").status == 404)
        #expect(indexes().isEmpty)
    }

    @Test func `a design document of the language query makes an index, and its deletion ends it`()
    {
        let body =
            #"{"language":"query","views":{"by_age":{"map":{"fields":{"age":"asc"}},"options":{"def":{"fields":["age"]}}},"odd":{"map":{"fields":{"":"asc"}}},"none":{"map":{}}}}"#
        let saved = site.send("PUT", "/db/_design/own", body)
        #expect(saved.status == 201)
        #expect(indexes() == [#"_design/own by_age [{"age":"asc"}]"#])
        let plan = site.send(
            "POST", "/db/_explain",
            #"{"selector":{"age":{"$gt":25}},"sort":["age"],"use_index":"own"}"#)
        #expect(plan.json["index"]?["ddoc"]?.string == "_design/own")
        let revision = saved.json["rev"]?.string ?? ""
        #expect(site.send("DELETE", "/db/_design/own?rev=\(revision)").status == 200)
        #expect(indexes().isEmpty)
    }

    @Test func `a design document that a replication brings makes an index`() async throws {
        site.send("POST", "/db/_index", Self.byAge)
        site.send("PUT", "/copy")
        // From a thread that may wait, since the work of a replication is done on those of tasks.
        let answer: TestAnswer = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: site.send(
                        "POST", "/_replicate", #"{"source":"db","target":"copy"}"#))
            }
        }
        #expect(answer.json["ok"] == true)
        #expect(indexes("copy") == indexes("db"))
        let found = site.send("POST", "/copy/_find", #"{"selector":{"age":{"$gt":25}}}"#)
        #expect(found.json["docs"]?.array?.count == 2)
    }

    @Test func `an app that enables design documents gets their indexes by itself`() throws {
        let database = try site.manager.database(named: "own")
        database.designDocuments.enable()
        let views = #"{"i":{"map":{"fields":{"n":"asc"}}}}"#
        try database.save(
            MutableDocument(
                ["language": "query", "views": try JSONParser.parse(views)], id: "_design/d"))
        #expect(eventually { (try? database.indexes().map(\.name)) == ["d/i"] })
        try database.createIndex(PropertyIndex(named: "app/own", on: "x"))
        try database.delete(#require(try database.document(withID: "_design/d")))
        #expect(eventually { (try? database.indexes().map(\.name)) == ["app/own"] })
    }

    @Test func `an index goes into no design document that has functions`() {
        site.send("PUT", "/db/_design/people", #"{"filters":{}}"#)
        let answer = site.send("POST", "/db/_index", Self.byAge)
        #expect(answer.status == 400)
        #expect(answer.json["error"]?.string == "invalid_design_doc")
        #expect(indexes().isEmpty)
    }
}
