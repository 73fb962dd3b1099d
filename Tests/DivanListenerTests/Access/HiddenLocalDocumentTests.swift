// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Local documents that Divan keeps for itself, such as the rules of `_security`.
@Suite struct HiddenLocalDocumentTests {
    let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
    }

    @Test(arguments: ["_local/", "_local/_local%2F", "_local%2F_local%2F", "_local/_local/"])
    func `what Divan keeps for itself is out of reach under every prefix`(prefix: String) {
        site.send("PUT", "/db/_security", #"{"members":{"names":["ann"],"roles":[]}}"#)
        let hidden = "\(prefix)_divan%2Fsecurity"
        let path = "/db/\(hidden)"
        site.send("PUT", "/db/_local/l", #"{"members":{}}"#)
        for (method, path, headers) in [
            ("GET", path, [:]), ("PUT", path, [:]), ("DELETE", path + "?rev=0-1", [:]),
            ("COPY", path, ["Destination": "_local/m"]),
            ("COPY", "/db/_local/l", ["Destination": "\(hidden)?rev=0-1"]),
        ] as [(String, String, HTTPHeaders)] {
            let answer = site.send(method, path, #"{"_rev":"0-1"}"#, headers)
            #expect(answer.status >= 400, "\(method) \(path): \(answer.text)")
        }
        let id = hidden.replacing("%2F", with: "/")
        for text in [
            #"{"docs":[{"_id":"\#(id)","_rev":"0-1","members":{}}]}"#,
            #"{"docs":[{"_id":"\#(id)","_rev":"0-1","_deleted":true}]}"#,
        ] {
            let answer = site.send("POST", "/db/_bulk_docs", text)
            #expect(answer.json[0]?["error"] != nil, "\(answer.text)")
        }
        let rows = site.send("POST", "/db/_local_docs", #"{"keys":["\#(id)"]}"#)
        #expect(rows.json["rows"]?[0]?["error"] == "not_found", "\(rows.text)")
        #expect(site.send("GET", "/db/_security").json["members"]?["names"] == ["ann"])
    }
}
