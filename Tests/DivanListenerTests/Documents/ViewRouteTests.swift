// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

@Suite struct ViewRouteTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite { options in
            options.scripts = [PathRuntime(["javascript"])]
        }
        database = try site.manager.database(named: "db")
        for n in 0..<6 {
            try database.save(
                MutableDocument(
                    ["n": .integer(Int64(n)), "kind": .string(n < 4 ? "x" : "y")], id: "d\(n)"))
        }
        database.view(named: "app/byKind").setMap(version: "1", reduce: .sum) { document, emit in
            emit(document["kind"], document["n"])
        }
    }

    private func rows(_ query: String) -> [JSONValue] {
        site.send("GET", "/db/_design/app/_view/byKind" + query).json["rows"]?.array ?? []
    }

    @Test func `stale and update say whether the index is brought up to date first`() throws {
        #expect(rows("?reduce=false").count == 6)
        var count = 6
        for query in ["", "&stale=false", "&update=true"] {
            try database.save(MutableDocument(["kind": "x", "n": 1]))
            count += 1
            #expect(rows("?reduce=false&stale=ok").count == count - 1)
            #expect(rows("?reduce=false&update=false").count == count - 1)
            #expect(rows("?reduce=false" + query).count == count, "\(query)")
        }
        for query in ["&stale=update_after", "&update=lazy"] {
            try database.save(MutableDocument(["kind": "x", "n": 1]))
            count += 1
            #expect(rows("?reduce=false" + query).count == count - 1)
            // The index follows behind the answer.
            eventually { rows("?reduce=false&stale=ok").count == count }
        }
        for query in ["stale=maybe", "stale=true", "update=maybe", "update=ok", "stale="] {
            let answer = site.send("GET", "/db/_design/app/_view/byKind?\(query)")
            #expect(answer.status == 400, "\(query)")
            #expect(answer.json["error"] == "query_parse_error")
        }
    }

    @Test
    func `a row whose reduction fails has the error as its value, and the others have theirs`()
        throws
    {
        try database.save(MutableDocument(["kind": "y", "n": "secret"]))
        let reason: JSONValue = .string(
            "The built-in sum needs values that are numbers, or arrays or objects of them, not a "
                + "string; change what the map function emits.")
        let error: JSONValue = ["error": "builtin_reduce_error", "reason": reason]
        #expect(rows("") == [["key": .null, "value": error]])
        #expect(
            rows("?group=true") == [["key": "x", "value": 6], ["key": "y", "value": error]])
        #expect(rows("?startkey=%22y%22") == [["key": .null, "value": error]])
        #expect(rows("?endkey=%22x%22") == [["key": .null, "value": 6]])
        #expect(rows("?reduce=false").count == 7)
        // In Swift the query fails.
        #expect(throws: DatabaseError.self) { try database.view(named: "app/byKind").query().run() }
    }

    @Test func `statistics of texts are an error of their group`() throws {
        let design = #"{"views":{"v":{"map":"kind","reduce":"_stats"}}}"#
        #expect(site.send("PUT", "/db/_design/s", design).status == 201)
        let rows = site.send("GET", "/db/_design/s/_view/v").json["rows"]
        #expect(rows?[0]?["value"]?["error"] == "builtin_reduce_error")
        #expect(rows?[0]?["value"]?["reason"]?.string?.contains("not null") == true)
    }

    /// The pieces in which an answer comes.
    private func pieces(_ target: String) throws -> [[UInt8]] {
        let head = RequestHead(method: "GET", target: target, headers: ["Host": "localhost"])
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(let producer, nil) = response.body else { return [] }
        defer { producer.cancel() }
        var pieces: [[UInt8]] = []
        while case .bytes(let piece) = try producer.next() { pieces.append(piece) }
        return pieces
    }

    @Test func `a view of many rows is written a thousand rows at a time`() throws {
        try database.inBatch {
            for n in 0..<2_494 { try database.save(MutableDocument(["kind": "z"], id: "z\(n)")) }
        }
        let pieces = try pieces("/db/_design/app/_view/byKind?reduce=false")
        #expect(pieces.count == 3)
        let whole = try JSONParser.parse(String(decoding: pieces.joined(), as: UTF8.self))
        #expect(whole["total_rows"] == 2_500 && whole["rows"]?.array?.count == 2_500)
        let ids = Set(whole["rows"]?.array?.compactMap { $0["id"]?.string } ?? [])
        #expect(ids.count == 2_500)
    }

    @Test func `rows that nobody may read leave no empty pieces`() throws {
        let site = try TestSite {
            $0.authorization.reading = { _, _, document in document.id == "m" }
        }
        let database = try site.manager.database(named: "db")
        try database.inBatch {
            for n in 0..<2_200 { try database.save(MutableDocument(["n": 1], id: "a\(n)")) }
            try database.save(MutableDocument(["n": 2], id: "m"))
            for n in 0..<2_200 { try database.save(MutableDocument(["n": 3], id: "z\(n)")) }
        }
        database.view(named: "app/byN").setMap(version: "1") { document, emit in
            emit(document["n"])
        }
        let head = RequestHead(
            method: "GET", target: "/db/_design/app/_view/byN", headers: ["Host": "localhost"])
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(let producer, nil) = response.body else {
            Issue.record("The answer comes in one piece.")
            return
        }
        var bytes: [UInt8] = []
        while case .bytes(let piece) = try producer.next() {
            #expect(!piece.isEmpty)
            bytes += piece
        }
        let rows = try JSONParser.parse(String(decoding: bytes, as: UTF8.self))["rows"]?.array
        #expect(rows?.map { $0["id"] } == ["m"])
    }

    @Test func `documents of a view come as they are when their rows are written`() throws {
        let text = String(repeating: "x", count: 100_000)
        for n in 0..<9 {
            try database.save(MutableDocument(["kind": "w", "text": .string(text)], id: "w\(n)"))
        }
        let target = "/db/_design/app/_view/byKind?reduce=false&include_docs=true&key=%22w%22"
        let head = RequestHead(method: "GET", target: target, headers: ["Host": "localhost"])
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(let producer, nil) = response.body else {
            Issue.record("The answer comes in one piece.")
            return
        }
        var bytes: [UInt8] = []
        var longest = 0
        while case .bytes(let piece) = try producer.next() {
            if bytes.isEmpty {
                try database.update("w7") { $0["text"] = "newer" }
                try database.delete("w8")
            }
            bytes += piece
            longest = max(longest, piece.count)
        }
        // A piece ends with the document that makes it longer than a quarter of a megabyte.
        #expect(longest < 400_000)
        let rows = try JSONParser.parse(String(decoding: bytes, as: UTF8.self))["rows"]?.array ?? []
        #expect(rows.map { $0["id"]?.string } == (0..<9).map { "w\($0)" })
        #expect(rows[0]["doc"]?["text"]?.string == text)
        #expect(rows[7]["doc"]?["text"] == "newer" && rows[8]["doc"] == .null)
    }

    @Test func `several queries of a view come one after the other`() throws {
        let answer = site.send(
            "POST", "/db/_design/app/_view/byKind/queries",
            #"{"queries":[{"reduce":false,"key":"y"},{"group":true},{"reduce":false,"limit":0}]}"#)
        let results = answer.json["results"]?.array ?? []
        #expect(results.count == 3)
        #expect(results[0]["rows"]?.array?.map { $0["id"] } == ["d4", "d5"])
        #expect(results[1]["rows"]?.array?.map { $0["value"] } == [6, 9])
        #expect(results[2]["rows"]?.array == [])
    }

    @Test(arguments: [
        ("", #""update_seq":"x""#), ("", #""sorted":"x""#), ("", #""bbox":"1,2,3""#),
        ("", #""include_docs":"x""#), ("", #""include_docs":true,"conflicts":"x""#),
        ("", #""include_docs":true,"attachments":"x""#),
        ("", #""include_docs":true,"att_encoding_info":"x""#), ("", #""limit":"x""#),
        ("?update_seq=5-abc", #""limit":1"#),
    ])
    func `what is wrong with one of several queries is told before any is answered`(
        parameters: String, query: String
    ) {
        let answer = site.send(
            "POST", "/db/_design/app/_view/byKind/queries" + parameters,
            #"{"queries":[{"reduce":false},{"reduce":false,\#(query)}]}"#)
        #expect(answer.status == 400 && answer.json["error"] == "query_parse_error")
    }

    @Test func `skip and limit cut the groups of a reduced view`() {
        #expect(rows("?group=true").map { $0["value"] } == [6, 9])
        #expect(rows("?group=true&limit=1").map { $0["key"] } == ["x"])
        #expect(rows("?group=true&skip=1").map { $0["key"] } == ["y"])
        #expect(rows("?group=true&descending=true&limit=1").map { $0["key"] } == ["y"])
        #expect(rows("?limit=1").map { $0["value"] } == [15])
        #expect(rows("?skip=1").isEmpty)
        #expect(rows("?group=true&limit=0").isEmpty)
    }

    @Test func `a range whose end comes first is refused, in the order that the view has`() throws {
        let body =
            #"{"views":{"raw":{"map":"kind","options":{"collation":"raw"}},"v":{"map":"kind"}}}"#
        #expect(site.send("PUT", "/db/_design/order", body).status == 201)
        func status(_ view: String, _ query: String) -> Int {
            site.send("GET", "/db/_design/order/_view/\(view)?\(query)").status
        }
        #expect(status("v", #"startkey="B"&endkey="a""#) == 400)
        #expect(status("raw", #"startkey="B"&endkey="a""#) == 200)
        #expect(status("raw", #"startkey="a"&endkey="B""#) == 400)
        #expect(status("raw", #"startkey="a"&endkey="B"&descending=true"#) == 200)
        #expect(status("v", "startkey=1&endkey=1.0") == 200)
    }

    @Test func `another map function in a design document holds from the next query on`() throws {
        func keys() -> [JSONValue] {
            let rows = site.send("GET", "/db/_design/made/_view/v").json["rows"]
            return Set(rows?.array?.compactMap { $0["key"] } ?? []).sorted {
                $0.description < $1.description
            }
        }
        let first = site.send("PUT", "/db/_design/made", #"{"views":{"v":{"map":"kind"}}}"#)
        #expect(first.status == 201)
        #expect(keys() == ["x", "y"])
        let second = site.send(
            "PUT", "/db/_design/made?rev=\(first.json["rev"]?.string ?? "")",
            #"{"views":{"v":{"map":"n"}}}"#)
        #expect(second.status == 201)
        #expect(keys() == [0, 1, 2, 3, 4, 5])
        // A document that changes is seen by the new function alone.
        try database.update("d0") { $0["n"] = 7 }
        #expect(keys() == [1, 2, 3, 4, 5, 7])
        // The view goes with its design document.
        let revision = second.json["rev"]?.string ?? ""
        #expect(site.send("DELETE", "/db/_design/made?rev=\(revision)").status == 200)
        #expect(site.send("GET", "/db/_design/made/_view/v").status == 404)
    }

    @Test func `a design document does not take the place of a view of the app`() throws {
        #expect(
            site.send("PUT", "/db/_design/app", #"{"views":{"byKind":{"map":"n"}}}"#).status == 201)
        #expect(rows("?reduce=false").map { $0["key"] } == ["x", "x", "x", "x", "y", "y"])
    }

    @Test func `without a compiler a view of a design document alone is not implemented`() throws {
        let plain = try TestSite()
        _ = try plain.manager.database(named: "db")
        let design = #"{"views":{"v":{"map":"function(doc) { emit(1) }"}}}"#
        #expect(plain.send("PUT", "/db/_design/js", design).status == 201)
        let answer = plain.send("GET", "/db/_design/js/_view/v")
        #expect(answer.status == 501)
        #expect(answer.json["reason"]?.string?.contains("javascript") == true)
        #expect(plain.send("GET", "/db/_design/js/_view/other").status == 404)
        #expect(plain.send("GET", "/db/_design/none/_view/v").status == 404)
    }
}
