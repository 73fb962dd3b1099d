// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

@Suite struct PartitionRouteTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        let database = try site.manager.database(named: "db", partitioned: true)
        for n in 1...30 {
            try database.save(
                MutableDocument(
                    ["n": .integer(Int64(n)), "kind": .string(n < 16 ? "x" : "y")],
                    id: DocumentID(partition: n.isMultiple(of: 3) ? "three" : "other", "\(n)")))
        }
        let view = database.view(named: "app/byKind")
        view.isPartitioned = true
        view.setMap(version: "1", reduce: .sum) { document, emit in
            emit([document["kind"].value ?? .null, document["n"].value ?? .null], document["n"])
        }
        database.view(named: "app/whole").setMap(version: "1") { document, emit in
            emit(document["n"], nil)
        }
    }

    private func ask(_ path: String, _ body: String? = nil) -> TestAnswer {
        site.send(body == nil ? "GET" : "POST", "/db" + path, body ?? "")
    }

    private static let view = "/_partition/three/_design/app/_view/byKind"

    @Test func `a view of a partition has its rows, counts and reductions`() {
        let rows = ask(Self.view + "?reduce=false").json
        #expect(rows["total_rows"] == 10 && rows["offset"] == 0)
        #expect(
            rows["rows"]?.array?.allSatisfy { $0["id"]?.string?.hasPrefix("three:") ?? false }
                == true)
        let page = ask(Self.view + #"?reduce=false&startkey=["x",9]&skip=1&limit=2"#).json
        #expect(page["rows"]?.array?.map { $0["id"] } == ["three:12", "three:15"])
        #expect(page["offset"] == 3)
        #expect(ask(Self.view).json["rows"] == [["key": nil, "value": 165]])
        #expect(
            ask(Self.view + "?group_level=1").json["rows"]
                == [["key": ["x"], "value": 45], ["key": ["y"], "value": 120]])
        let keyed = ask(Self.view + "?reduce=false", #"{"keys":[["y",18],["x",4]]}"#).json
        #expect(keyed["rows"]?.array?.map { $0["id"] } == ["three:18"])
        let many = ask(Self.view + "/queries", #"{"queries":[{"limit":1,"reduce":false},{}]}"#)
        #expect(many.json["results"]?.array?.count == 2)
        #expect(
            ask(#"/_design/app/_view/byKind?partition=three"#).json
                == ask(Self.view).json)
    }

    @Test(arguments: [
        ("/_design/app/_view/byKind", "query_parse_error", "mandatory"),
        (
            "/_partition/three/_design/app/_view/whole", "query_parse_error",
            "not supported in this design doc"
        ),
        (
            "/_design/app/_view/whole?partition=three", "query_parse_error",
            "not supported in this design doc"
        ),
        (view + "?partition=other", "bad_request", "Conflicting value"),
        (
            view + "?reduce=false&reduce=true&group=true&include_docs=true", "query_parse_error",
            "include_docs"
        ),
        ("/_partition/_three/_design/app/_view/byKind", "illegal_partition", "underscore"),
        ("/_partition//_design/app/_view/byKind", "illegal_partition", "underscore"),
    ])
    func `a view that is asked in another way is refused`(
        path: String, error: String, reason: String
    ) {
        let answer = ask(path)
        #expect(answer.status == 400)
        #expect(answer.json["error"]?.string == error)
        #expect(answer.json["reason"]?.string?.contains(reason) == true)
    }

    @Test func `pages of a find in a partition go together`() {
        #expect(ask("/_index", #"{"index":{"fields":["n"]}}"#).status == 200)
        var (bookmark, found) = ("nil", [JSONValue]())
        for _ in 0..<4 {
            let answer = ask(
                "/_partition/three/_find",
                #"{"selector":{"n":{"$gt":3}},"sort":["n"],"fields":["n"],"limit":4,"bookmark":"\#(bookmark)"}"#
            ).json
            found += answer["docs"]?.array?.compactMap { $0["n"] } ?? []
            bookmark = answer["bookmark"]?.string ?? ""
        }
        #expect(found == [6, 9, 12, 15, 18, 21, 24, 27, 30])
        let stolen = ask(
            "/_partition/other/_find",
            #"{"selector":{"n":{"$gt":3}},"sort":["n"],"fields":["n"],"limit":4,"bookmark":"\#(bookmark)"}"#
        )
        #expect(stolen.json["error"] == "invalid_bookmark")
    }

    @Test func `a find in a partition reads its rows and no others`() {
        #expect(ask("/_index", #"{"index":{"fields":["kind"]}}"#).status == 200)
        let answer = ask(
            "/_partition/three/_find",
            #"{"selector":{"kind":"x"},"execution_stats":true}"#
        ).json
        #expect(answer["execution_stats"]?["total_docs_examined"] == 5)
        #expect(answer["docs"]?.array?.count == 5)
    }

    @Test func `the configuration bounds the rows of a partition, and those of all`() {
        let config = "/_node/_local/_config/query_server_config/"
        let all = "/_design/app/_view/whole"
        let rows = Self.view + "?reduce=false"
        for (key, paths, others) in [
            ("partition_query_limit", [rows, "/_partition/three/_all_docs?"], [all + "?"]),
            ("query_limit", [all + "?", "/_all_docs?"], [rows]),
        ] {
            #expect(site.send("PUT", config + key, "\"4\"").status == 200)
            for path in paths {
                #expect(ask(path).json["rows"]?.array?.count == 4, "\(path)")
                #expect(ask(path + "&limit=3").json["rows"]?.array?.count == 3)
                let refused = ask(path + "&limit=5")
                #expect(refused.status == 400 && refused.json["error"] == "query_parse_error")
                #expect(refused.json["reason"] == "Limit is too large, must not exceed 4")
            }
            for path in others { #expect(ask(path + "&limit=5").status == 200, "\(path)") }
            let many = ask(Self.view + "/queries", #"{"queries":[{"reduce":false,"limit":5}]}"#)
            #expect(many.status == (key == "query_limit" ? 200 : 400))
            site.send("DELETE", config + key)
        }
    }

    @Test func `a view of a partition whose functions run waits in the lane of scripts`() throws {
        let site = try TestSite { $0.scripts = [PathRuntime()] }
        for path in ["/db/_design/d/_view/v", "/db/_partition/p/_design/d/_view/v"] {
            let head = RequestHead(method: "GET", target: path, headers: ["Host": "localhost"])
            let lane = site.router.lane(ListenerRequest(head))
            guard case .scripted("db", design: "d", isWrite: false) = lane else {
                Issue.record("\(path)")
                continue
            }
        }
    }

    @Test func `views of design documents are made for partitions unless they say otherwise`()
        throws
    {
        let site = try TestSite { $0.scripts = [PathRuntime(["javascript"])] }
        let database = try site.manager.database(named: "db", partitioned: true)
        for (id, n) in [("a:1", 1), ("b:1", 2), ("b:2", 3)] as [(DocumentID, JSONValue)] {
            try database.save(MutableDocument(["n": n], id: id))
        }
        let views: JSONValue = ["v": ["map": "n", "reduce": "_count"]]
        try database.save(MutableDocument(["views": views], id: "_design/d"))
        func rows(_ path: String) -> JSONValue? { site.send("GET", "/db" + path).json["rows"] }
        let (part, whole) = ("/_partition/b/_design/d/_view/v", "/_design/d/_view/v")
        #expect(rows(part)?[0]?["value"] == 2)
        #expect(rows(part + "?reduce=false")?.array?.map { $0["key"] } == [2, 3])
        #expect(site.send("GET", "/db" + whole).status == 400)
        try database.update("_design/d") { $0["options"] = ["partitioned": false] }
        #expect(rows(whole)?[0]?["value"] == 3)
        #expect(site.send("GET", "/db" + part).status == 400)
        try database.update("_design/d") { $0["options"] = ["partitioned": true] }
        #expect(rows(part)?[0]?["value"] == 2)
    }

    /// Sends `_replicate` from a thread that may wait, since its work is done on those of tasks.
    private func replicate(_ body: String) async -> TestAnswer {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: site.send("POST", "/_replicate", body))
            }
        }
    }

    @Test func `replication makes a partitioned target, and counts what that refuses`() async throws
    {
        let source = try site.manager.database(named: "source")
        for id: DocumentID in ["a:1", "plain", "b:2", "c:"] {
            try source.save(MutableDocument(["n": 1], id: id))
        }
        let answer = await replicate(
            #"{"source":"source","target":"parts","create_target":true,"#
                + #""create_target_params":{"partitioned":true,"q":1}}"#)
        #expect(answer.status == 200)
        let history = answer.json["history"]?[0]
        #expect(history?["docs_written"] == 2 && history?["doc_write_failures"] == 2)
        let target = try #require(try site.manager.existingDatabase(named: "parts"))
        #expect(target.isPartitioned)
        #expect(try target.allDocuments().map(\.id) == ["a:1", "b:2"])
        let malformed = await replicate(
            #"{"source":"source","target":"x","create_target_params":{"partitioned":1}}"#)
        #expect(malformed.status == 400)
    }

    @Test func `the kind of a database is kept by its next listener`() throws {
        site.send("PUT", "/kept?partitioned=true")
        site.manager.close()
        let again = try TestSite(folder: site.folder)
        #expect(again.send("GET", "/kept").json["props"] == ["partitioned": true])
        let infos = again.send("POST", "/_dbs_info", #"{"keys":["kept"]}"#).json
        #expect(infos[0]?["info"]?["props"] == ["partitioned": true])
        #expect(again.send("PUT", "/kept/plain", "{}").status == 400)
    }
}
