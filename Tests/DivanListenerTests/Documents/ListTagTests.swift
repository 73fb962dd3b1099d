// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import Testing

@testable import DivanListener

/// ETags of lists, and what a client that has one is answered.
@Suite struct ListTagTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
        for id: DocumentID in ["a", "b"] { try database.save(MutableDocument(["n": 1], id: id)) }
        database.view(named: "d/v").setMap(version: "1") { document, emit in
            emit(document["n"], nil)
        }
    }

    private func tag(_ target: String) -> String? { site.send("GET", target).headers["ETag"] }

    private func status(_ target: String, _ tag: String) -> Int {
        site.send("GET", target, "", ["If-None-Match": tag]).status
    }

    @Test(arguments: [
        "/db/_all_docs", "/db/_all_docs?include_docs=true", "/db/_design_docs",
        "/db/_design/d/_view/v", "/db/_changes", "/db/_changes?filter=_design",
    ])
    func `a list that has not changed is not sent again`(target: String) throws {
        let held = try #require(tag(target))
        let unchanged = site.send("GET", target, "", ["If-None-Match": held])
        #expect(unchanged.status == 304)
        #expect(unchanged.bytes.isEmpty)
        #expect(unchanged.headers["ETag"] == held)
        #expect(site.send("HEAD", target).headers["ETag"] == held)
        #expect(status(target, "\"another\"") == 200)

        try database.save(MutableDocument(["n": 2], id: "c"))
        #expect(status(target, held) == 200)
        let next = try #require(tag(target))
        // A purge leaves the last sequence as it is.
        try database.purge("c")
        #expect(status(target, next) == 200)
    }

    @Test func `each request has a tag of its own`() throws {
        let tags = [
            tag("/db/_all_docs"), tag("/db/_all_docs?limit=1"), tag("/db/_design/d/_view/v"),
            tag("/db/_changes"), tag("/db/_changes?since=1"),
        ]
        #expect(Set(tags.compactMap { $0 }).count == tags.count)
    }

    @Test func `another map function, or another database of that name, has other tags`() throws {
        let held = try #require(tag("/db/_design/d/_view/v"))
        let all = try #require(tag("/db/_all_docs"))
        database.view(named: "d/v").setMap(version: "2") { _, emit in emit(0, nil) }
        #expect(status("/db/_design/d/_view/v", held) == 200)
        #expect(site.send("DELETE", "/db").status == 200)
        #expect(site.send("PUT", "/db").status == 201)
        for id in ["a", "b"] {
            #expect(site.send("PUT", "/db/\(id)", #"{"n":1}"#).status == 201)
        }
        #expect(status("/db/_all_docs", all) == 200)
    }

    @Test func `what may differ from answer to answer has no tag`() throws {
        database.setFilter(named: "some") { _, _ in true }
        for target in [
            "/db/_design/d/_view/v?update=false", "/db/_design/d/_view/v?stale=update_after",
            "/db/_changes?filter=some", "/db/_changes?feed=longpoll", "/db/_local_docs",
        ] {
            #expect(tag(target) == nil, "\(target)")
        }
        #expect(site.send("POST", "/db/_all_docs", "{}").headers["ETag"] == nil)
        let careful = try TestSite { $0.authorization.reading = { _, _, _ in true } }
        _ = try careful.manager.database(named: "db")
        #expect(careful.send("GET", "/db/_all_docs").headers["ETag"] == nil)
    }
}
