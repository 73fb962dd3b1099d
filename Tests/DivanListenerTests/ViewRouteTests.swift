// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

@Suite struct ViewRouteTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite { options in
            options.viewCompiler = { source, _ in { document, emit in emit(document[source]) } }
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
            let end = ContinuousClock.now + .seconds(60)
            while rows("?reduce=false&stale=ok").count < count, ContinuousClock.now < end {}
            #expect(rows("?reduce=false&stale=ok").count == count)
        }
        for query in ["stale=maybe", "stale=true", "update=maybe", "update=ok", "stale="] {
            let answer = site.send("GET", "/db/_design/app/_view/byKind?\(query)")
            #expect(answer.status == 400, "\(query)")
            #expect(answer.json["error"] == "query_parse_error")
        }
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
