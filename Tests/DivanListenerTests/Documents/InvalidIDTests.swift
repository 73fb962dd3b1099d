// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// IDs that no document can have, wherever a client can write one.
@Suite struct InvalidIDTests {
    private static let long = String(repeating: "x", count: 4_097)
    /// As they stand in a path.
    static let invalid = ["_foo", "_design%2F", long, "a%00b", "%00"]

    let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        site.send("PUT", "/db/a", "{}")
    }

    @Test(arguments: invalid)
    func `a change of a document whose ID cannot be is answered 400`(id: String) {
        for (method, path, body) in [
            ("PUT", "", "{}"), ("DELETE", "", ""), ("DELETE", "?rev=1-a", ""),
            ("PUT", "/file", "x"),
            ("DELETE", "/file?rev=1-a", ""),
        ] {
            let answer = site.send(method, "/db/\(id)\(path)", body)
            #expect(answer.status == 400, "\(method) \(path) \(answer.text)")
            // A path with a zero byte is none.
            let isNamed = answer.json["error"] == "illegal_docid"
            #expect(isNamed || id.contains("%00"), "\(method) \(path) \(answer.text)")
        }
        let copy: HTTPHeaders = ["Destination": id]
        #expect(site.send("COPY", "/db/a", "", copy).status == 400)
    }

    /// Requests with an ID that no document can have.
    static let named: [(method: String, path: String, body: String, headers: HTTPHeaders)] = {
        var all: [(String, String, String, HTTPHeaders)] = []
        for id in ["_foo", "_design", "_design%2F", "_local", "_local%2F", "_all_docs/x", long] {
            // The path of a function is none of an ID, and one of a local document has words of its own.
            let isID = !["_all_docs/x", "_local", "_local%2F"].contains(id)
            if isID {
                all.append(("PUT", "/db/\(id)", "{}", [:]))
                all.append(("DELETE", "/db/\(id)", "", [:]))
                all.append(("COPY", "/db/\(id)", "", ["Destination": "b"]))
            }
            all.append(("COPY", "/db/a", "", ["Destination": id]))
            all.append(("COPY", "/db/a", "", ["Destination": "/db/\(id)"]))
            all.append(("COPY", "/db/a", "", ["Destination": "\(id)?rev=1-a"]))
        }
        for id in ["_foo", "_design/", "_local/", "_local", "_design", "", "a\\u0000b", long] {
            all.append(("POST", "/db", #"{"_id":"\#(id)"}"#, [:]))
            all.append(("POST", "/db/_purge", #"{"\#(id)":["1-a"]}"#, [:]))
            all.append(("POST", "/db/_purge", #"{"\#(id)":["*"]}"#, [:]))
        }
        all.append(("POST", "/db/_purge", #"{"_local/l":["1-a"]}"#, [:]))
        all.append(("GET", "/db/\(long)", "", [:]))
        all.append(("GET", "/db/\(long)?open_revs=all", "", [:]))
        all.append(("GET", "/db/\(long)/file", "", [:]))
        all.append(("GET", "/db/_local/\(long)", "", [:]))
        all.append(("COPY", "/db/_local/l", "", ["Destination": "_local%2F"]))
        all.append(("COPY", "/db/_local/l", "", ["Destination": "_local"]))
        all.append(("COPY", "/db/_local/l", "", ["Destination": "_x"]))
        all.append(("COPY", "/db/_local/l", "", ["Destination": "_local/\(long)"]))
        return all
    }()

    @Test(arguments: named.indices)
    func `an ID that no document can have is called so`(index: Int) {
        let (method, path, body, headers) = Self.named[index]
        site.send("PUT", "/db/_local/l", "{}")
        let answer = site.send(method, path, body, headers)
        let what = "\(method) \(path.prefix(40)) \(body.prefix(40)) \(headers) \(answer.text)"
        #expect(answer.status == 400, "\(what)")
        #expect(answer.json["error"] == "illegal_docid", "\(what)")
    }

    @Test func `a revision ID that is none is called so, and not an ID`() {
        for (method, path, body) in [
            ("PUT", "/db/a", #"{"_rev":"x"}"#), ("DELETE", "/db/a?rev=x", ""),
            ("GET", "/db/a?rev=x", ""), ("POST", "/db/_purge", #"{"a":["x"]}"#),
            ("POST", "/db/_purge", #"{"none":["x"]}"#), ("COPY", "/db/a?rev=x", ""),
        ] {
            let answer = site.send(method, path, body, ["Destination": "b"])
            #expect(answer.status == 400 && answer.json["error"] == "bad_request", "\(answer.text)")
        }
        let items = #"{"docs":[{"id":"a","rev":1},{"id":"a","rev":null}]}"#
        let rows = site.send("POST", "/db/_bulk_get", items).json["results"]
        #expect(rows?[0]?["docs"]?[0]?["error"]?["error"] == "bad_request")
        #expect(rows?[1]?["docs"]?[0]?["ok"]?["_id"] == "a")
    }

    @Test(arguments: [
        ("PUT", "/_foo"), ("DELETE", "/_foo/bar"), ("GET", "/_foo"), ("POST", "/_foo"),
        ("PUT", "/db/_design/d/_foo"), ("GET", "/db/_design/d/_foo/x"),
        ("COPY", "/db/_design/d/_view"), ("DELETE", "/db/_index/x"), ("PUT", "/db/_all_docs/x"),
        ("POST", "/db/_changes/x"), ("POST", "/db/_foo"), ("PUT", "/db/_compact/a/b"),
    ])
    func `a path that is no document's is not found, in words about paths`(
        method: String, path: String
    ) {
        let answer = site.send(method, path, "{}", ["Destination": "b"])
        #expect(answer.status == 404 && answer.json["error"] == "not_found", "\(answer.text)")
        #expect(answer.json["reason"] == "Nothing is served at this path; check its spelling.")
    }

    @Test(arguments: invalid)
    func `no route fails over an ID that cannot be`(id: String) {
        for route in Router.table where route.pattern.contains("{") {
            for name in ["doc", "id", "ddoc", "attachment", "name"]
            where route.pattern.contains("{\(name)}") {
                var path = route.pattern.replacing("{\(name)}", with: id)
                path = path.replacing("{db}", with: "db")
                for other in ["doc", "id", "ddoc", "attachment", "name"] {
                    path = path.replacing("{\(other)}", with: "a")
                }
                for query in ["", "?rev=1-a"] {
                    let answer = site.send(route.method, path + query, "{}", ["Destination": "b"])
                    let isFine = answer.status < 500 || answer.status == 501
                    #expect(isFine, "\(route.method) \(path.prefix(80)) \(answer.status)")
                }
            }
        }
    }

    @Test(arguments: ["_foo", "_design/", long, "a\\u0000b", ""])
    func `no list fails over an ID that cannot be`(id: String) {
        for (path, body) in [
            ("_bulk_docs", #"{"docs":[{"_id":"ID"}]}"#),
            ("_bulk_docs", #"{"docs":[{"_id":"ID","_rev":"1-a","_deleted":true}]}"#),
            ("_bulk_docs", #"{"new_edits":false,"docs":[{"_id":"ID","_rev":"1-a"}]}"#),
            ("_bulk_get", #"{"docs":[{"id":"ID"},{"id":"ID","rev":"1-a"}]}"#),
            ("_revs_diff", #"{"ID":["1-a"]}"#), ("_missing_revs", #"{"ID":["1-a"]}"#),
            ("_purge", #"{"ID":["1-a"]}"#), ("_purge", #"{"ID":["*"]}"#),
            ("_all_docs?include_docs=true", #"{"keys":["ID"]}"#),
            ("_local_docs", #"{"keys":["ID","_local/ID"]}"#),
            ("_changes?filter=_doc_ids", #"{"doc_ids":["ID"]}"#),
            ("_find", #"{"selector":{"_id":"ID"}}"#),
            ("_index/_bulk_delete", #"{"docids":["ID"]}"#),
        ] {
            let answer = site.send(
                "POST", "/db/\(path)", body.replacing("ID", with: id))
            #expect((200..<500).contains(answer.status), "\(path) \(answer.status) \(answer.text)")
        }
    }
}
