// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// Paths of local documents that name none, and revisions that a database does not tell of.
@Suite struct LocalPathTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        _ = try site.manager.database(named: "db")
    }

    @Test(arguments: ["_local", "_local/", "_local%2F"])
    func `a local document without an ID is refused`(path: String) {
        for method in ["GET", "PUT", "DELETE", "COPY"] {
            let answer = site.send(method, "/db/\(path)", "{}", ["Destination": "_local/b"])
            #expect(answer.status == 400, "\(method)")
            #expect(answer.json["error"] == "bad_request")
            #expect(answer.json["reason"] == "Invalid _local document id.")
        }
    }

    @Test(arguments: ["GET", "PUT", "DELETE"])
    func `a local document has no attachments`(method: String) {
        site.send("PUT", "/db/_local/a", "{}")
        for path in ["_local/a/b", "_local%2Fa/b", "_local/a/b/c"] {
            let answer = site.send(method, "/db/\(path)", "{}")
            #expect(answer.status == 400, "\(path)")
            #expect(answer.json["reason"] == "_local documents do not accept attachments.")
        }
        // An escaped slash is a part of the ID.
        #expect(site.send("PUT", "/db/_local/a%2Fb", "{}").status == 201)
        #expect(site.send("GET", "/db/_local/a%2Fb").json["_id"] == "_local/a/b")
    }

    @Test func `no more revisions are told of than the database keeps`() throws {
        var revision = ""
        for _ in 0..<6 {
            let query = revision.isEmpty ? "" : "?rev=\(revision)"
            revision = site.send("PUT", "/db/a\(query)", "{}").json["rev"]?.string ?? ""
        }
        func count() -> Int? {
            site.send("GET", "/db/a?revs=true").json["_revisions"]?["ids"]?.array?.count
        }
        #expect(count() == 6)
        site.send("PUT", "/db/_revs_limit", "5")
        #expect(count() == 5)
    }
}
