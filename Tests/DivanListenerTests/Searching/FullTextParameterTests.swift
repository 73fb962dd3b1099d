// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// The parameter `full_text` of views, as clients of Couchbase Lite 1.x send it.
@Suite struct FullTextParameterTests {
    private func makeSite(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> TestSite {
        let site = try TestSite(edit)
        let database = try site.manager.database(named: "db")
        for (id, text) in [
            ("a", "The \u{1F600} couch in the corner"), ("b", "A couch, another couch, a potato"),
            ("c", "Nothing of that kind"), ("d", "The couch"),
        ] { try database.save(MutableDocument(["text": .string(text)], id: DocumentID(id))) }
        try database.fullTextIndex(named: "posts/words", on: ["text"]).updateIndex()
        return site
    }

    private static let path = "/db/_design/posts/_view/words"

    private func ids(_ answer: TestAnswer) -> [String]? {
        answer.json["rows"]?.array?.compactMap { $0["id"]?.string }
    }

    @Test func `a search finds the best documents first, with places and a passage`() throws {
        let site = try makeSite()
        let answer = site.send("GET", Self.path + "?full_text=couch&snippets=true")
        #expect(answer.status == 200 && answer.json["total_rows"] == 3)
        #expect(Set(ids(answer) ?? []) == ["a", "b", "d"])
        let row = answer.json["rows"]?.array?.first { $0["id"] == "a" }
        #expect(row?["snippet"] == "The \u{1F600} [couch] in the corner")
        // Places are counted in UTF-16, as those of Couchbase Lite.
        #expect(row?["matches"] == [["term": 0, "text": 0, "range": [7, 5]]])
        #expect(row?["value"] == .null && row?["doc"] == nil && row?["key"] == nil)

        let inOrder = site.send("GET", Self.path + "?full_text=couch&ranking=false&skip=1&limit=1")
        #expect(ids(inOrder) == ["b"] && inOrder.json["offset"] == 1)
        let posted = site.send(
            "POST", Self.path,
            #"{"full_text":"potato OR corner","include_docs":true,"ranking":false}"#)
        #expect(ids(posted) == ["a", "b"])
        #expect(posted.json["rows"]?[1]?["doc"]?["_id"] == "b")
        #expect(posted.json["rows"]?[1]?["snippet"] == nil)
    }

    @Test func `the index is brought up to date first, unless that is not wanted`() throws {
        let site = try makeSite()
        site.send("PUT", "/db/e", #"{"text":"one more potato"}"#)
        #expect(ids(site.send("GET", Self.path + "?full_text=potato&stale=ok")) == ["b"])
        #expect(ids(site.send("GET", Self.path + "?full_text=potato"))?.sorted() == ["b", "e"])
    }

    @Test func `documents that the app hides are not found, and nothing counts them`() throws {
        let site = try makeSite { options in
            options.authorization.reading = { _, _, document in document.id != "a" }
        }
        let answer = site.send("GET", Self.path + "?full_text=couch&ranking=false&skip=1")
        #expect(ids(answer) == ["d"])
        #expect(answer.json["total_rows"] == .null && answer.json["offset"] == .null)
    }

    @Test(arguments: [
        ("words?full_text=%22couch", 400), ("words?full_text=couch&limit=201", 400),
        ("words?full_text=couch&limit=x", 400), ("words?full_text=couch&skip=10001", 400),
        ("words?full_text=couch&ranking=maybe", 400),
        ("words?full_text=couch&partition=p", 400), ("none?full_text=couch", 404),
    ])
    func `what makes no sense is refused`(query: String, status: Int) throws {
        let site = try makeSite()
        let answer = site.send("GET", "/db/_design/posts/_view/" + query)
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer.json["reason"]?.string?.isEmpty == false)
    }
}
