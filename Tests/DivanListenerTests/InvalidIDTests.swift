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
