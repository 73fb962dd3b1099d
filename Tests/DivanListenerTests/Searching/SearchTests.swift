// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDesign
import DivanHTTP
import DivanJSON
import DivanJavaScript
import DivanTestSupport
import Testing

@testable import DivanListener

/// What transcripts of searches cannot show.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct SearchTests {
    private static let design: JSONValue = [
        "indexes": [
            "i": [
                "index":
                    "function(doc) { index('default', doc.name); index('n', doc.n, {facet: true}); }"
            ],
            "loops": ["index": "function(doc) { for (;;) {} }"],
            "millions": [
                "index":
                    "function(doc) { for (var i = 0; i < 1e7; i++) { index('f' + i, 'some text ' + i); } }"
            ],
            "broken": ["index": "function(doc) {"],
        ],
        "nouveau": ["i": ["index": "function(doc) { index('double', 'n', doc.n); }"]],
        "views": [
            "v": [
                "map":
                    "function(doc) { for (index in doc) { if (index == 'n') { emit(doc[index]); } } }"
            ]
        ],
    ]

    private func site(_ limits: JavaScriptLimits = JavaScriptLimits()) throws -> ScriptSite {
        let site = try ScriptSite(Self.design, limits: limits)
        try site.fill(30)
        return site
    }

    @Test func `a function that does not end, or emits without end, fails its own searches alone`()
        throws
    {
        var limits = JavaScriptLimits()
        limits.time = .milliseconds(500)
        let site = try site(limits)
        for name in ["loops", "millions"] {
            let answer = site.get("_search/\(name)?q=*:*")
            #expect(answer.status == 500, "\(name)")
            #expect(answer.json["error"] == "os_process_error", "\(name)")
        }
        // On a busy machine a function that does end may run out of its time, too, and is asked again.
        eventually { site.get("_search/broken?q=*:*").json["error"] == "compilation_error" }
        eventually { site.get("_search/i?q=*:*").json["total_rows"] == 30 }
        eventually { site.get("_view/v").json["total_rows"] == 30 }
    }

    @Test func `index is a name like any other in functions of views`() throws {
        let site = try site()
        #expect(site.get("_view/v?key=7").json["rows"]?[0]?["id"] == "d7")
    }

    @Test func `information says how an index stands, without bringing it up to date`() throws {
        let site = try site()
        let before = site.get("_search_info/i").json["search_index"]
        #expect(before?["doc_count"] == 0)
        #expect(before?["committed_seq"] == 0)
        #expect(site.get("_search/i?q=*:*&limit=0").status == 200)
        let after = site.get("_search_info/i").json
        #expect(after["name"] == "_design/d/i")
        #expect(after["search_index"]?["doc_count"] == 30)
        #expect(after["search_index"]?["committed_seq"] == after["search_index"]?["pending_seq"])
        let size = site.get("_search_disk_size/i").json["search_index"]?["disk_size"]
        #expect(size?.int64 ?? 0 > 0)
        #expect(site.get("_nouveau/i?q=*:*&limit=1").status == 200)
        let nouveau = site.get("_nouveau_info/i").json["search_index"]
        #expect(nouveau?["num_docs"] == 30)
        #expect(nouveau?["update_seq"] == 31)
        #expect(nouveau?["signature"]?.string?.count == 16)
        try site.database.purge("d1")
        #expect(site.get("_nouveau/i?q=*:*&limit=1").json["total_hits"] == 29)
        #expect(site.get("_nouveau_info/i").json["search_index"]?["purge_seq"] == 1)
    }

    @Test func `information of an index that is made for partitions counts those of all`() throws {
        let site = try TestSite { options in
            options.scripts = [JavaScriptRuntime(program: ScriptEngine.program)]
        }
        let database = try site.manager.database(named: "db", partitioned: true)
        _ = try database.put("_design/d", Self.design.object ?? [:], parent: nil)
        for n in 0..<5 {
            _ = try database.put("p\(n % 2):\(n)", ["n": 1, "name": "x"], parent: nil)
        }
        let path = "/db/_design/d/_search_info/i"
        #expect(site.send("GET", path, "").json["search_index"]?["doc_count"] == 0)
        let search = "/db/_partition/p0/_design/d/_search/i?q=*:*"
        #expect(site.send("GET", search, "").json["total_rows"] == 3)
        #expect(site.send("GET", path, "").json["search_index"]?["doc_count"] == 5)
    }

    @Test func `an index that no design document has any longer is cleaned up`() throws {
        let site = try site()
        #expect(site.get("_search/i?q=*:*&limit=0").status == 200)
        #expect(site.get("_nouveau/i?q=*:*&limit=1").status == 200)
        #expect(try site.database.viewNames() == ["%_nouveau d/i", "%_search d/i"])
        #expect(site.site.send("POST", "/db/_search_cleanup", "{}").status == 202)
        #expect(try site.database.viewNames().count == 2)
        try site.add(["nouveau": ["i": ["index": "function(doc) {}"]]])
        #expect(site.get("_search/i?q=*:*").status == 404)
        #expect(site.site.send("POST", "/db/_view_cleanup", "{}").status == 202)
        #expect(try site.database.viewNames() == ["%_nouveau d/i"])
        #expect(site.get("_nouveau/i?q=*:*").json["total_hits"] == 0)
    }

    @Test func `fields that are counted or drilled down to are bounded, and each is one`() throws {
        let site = try site()
        func asked(_ name: String, _ value: String) -> TestAnswer {
            site.send("POST", "_search/i", "{\"q\":\"*:*\",\"\(name)\":\(value)}")
        }
        let names = { (count: Int) in (0..<count).map { "\"f\($0)\"" } }
        for (name, open, close) in [
            ("counts", "[", "]"), ("ranges", "{", ":{}}"), ("drilldown", "[[", ",\"a\"]]"),
        ] {
            let separator = name == "counts" ? "," : name == "ranges" ? ":{}," : ",\"a\"],["
            let many = open + names(33).joined(separator: separator) + close
            #expect(asked(name, many).status == 400, "\(name)")
            let few = open + names(32).joined(separator: separator) + close
            #expect(asked(name, few).status == 200, "\(name)")
        }
        let twice = Array(repeating: "\"f\"", count: 40).joined(separator: ",")
        #expect(asked("counts", "[" + twice + "]").json["counts"] == ["f": [:]])
        #expect(asked("drilldown", #"[["n","1"],["n","2"]]"#).json["total_rows"] == 2)
    }

    @Test func `ranges are bounded over all fields`() throws {
        let site = try site()
        for (index, open, close) in [("_search/i", "{", "}"), ("_nouveau/i", "[", "]")] {
            func asked(_ count: Int) -> TestAnswer {
                let labels = (0..<count / 2).map {
                    open == "{" ? #""\#($0)":"[1 TO 2]""# : #"{"label":"\#($0)","min":1,"max":2}"#
                }
                let list = open + labels.joined(separator: ",") + close
                return site.send(
                    "POST", index, "{\"q\":\"*:*\",\"ranges\":{\"n\":\(list),\"m\":\(list)}}")
            }
            #expect(asked(1_024).status == 200, "\(index)")
            #expect(asked(1_026).status == 400, "\(index)")
        }
    }

    @Test func `hits of Nouveau are sorted by their IDs`() throws {
        let site = try site()
        for (sort, id) in [("_id", "d0"), ("-_id", "d9")] {
            let body = "{\"q\":\"*:*\",\"limit\":1,\"sort\":[\"\(sort)\"]}"
            let hit = site.send("POST", "_nouveau/i", body).json["hits"]?[0]
            #expect(hit?["order"] == [["@type": "string", "value": .string(id)]])
        }
    }

    @Test func `what analyzers make of a text is for administrators of the server`() throws {
        let site = try TestSite { $0.access = .users(["root": "r"]) }
        let body = #"{"analyzer":"simple","text":"a"}"#
        for path in ["/_search_analyze", "/_nouveau_analyze"] {
            #expect(site.send("POST", path, body).status == 401, "\(path)")
            let root = site.send("POST", path, body, ["Authorization": "Basic cm9vdDpy"])
            #expect(root.status == 200, "\(path)")
        }
        #expect(site.send("GET", "/_search_analyze?analyzer=simple&text=a").status == 401)
    }

    @Test func `where nothing runs functions a search is answered as a view is`() throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        _ = try database.put("_design/d", Self.design.object ?? [:], parent: nil)
        let view = site.send("GET", "/db/_design/d/_view/v")
        for path in ["_search/i?q=*:*", "_nouveau/i?q=*:*", "_search_info/i", "_nouveau_info/i"] {
            let answer = site.send("GET", "/db/_design/d/" + path)
            #expect(answer.status == 501, "\(path)")
            #expect(answer.text == view.text, "\(path)")
        }
        #expect(site.send("GET", "/db/_design/d/_search/none?q=*:*").status == 404)
        #expect(site.send("GET", "/_search_analyze?analyzer=simple&text=a").status == 200)
    }
}
