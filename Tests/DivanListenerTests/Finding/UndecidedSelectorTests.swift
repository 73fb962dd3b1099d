// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanListener

/// What a client is told of documents for which the regular expression of its selector takes too many steps.
@Suite(.timeLimit(.minutes(5))) struct UndecidedSelectorTests {
    private static let pattern = #"{"$regex":"(a+)+$"}"#
    private static let text = String(repeating: "a", count: 40) + "!"

    private func fill(_ site: TestSite) {
        site.send("PUT", "/db")
        site.send("PUT", "/db/calm", #"{"t":"b"}"#)
        site.send("PUT", "/db/stuck", "{\"t\":\"\(Self.text)\"}")
    }

    @Test(arguments: [pattern, "{\"$not\":\(pattern)}"])
    func `a search answers 400 and names the document`(condition: String) throws {
        let site = try TestSite()
        fill(site)
        let answer = site.send("POST", "/db/_find", "{\"selector\":{\"t\":\(condition)}}")
        #expect(answer.status == 400)
        #expect(answer.json["reason"]?.string?.contains("'stuck'") == true)
        #expect(answer.json["reason"]?.string?.contains("aaaa") == false)
    }

    @Test func `a search does not name a document that the user may not read`() throws {
        let site = try TestSite {
            $0.authorization.reading = { _, _, document in document.id != "stuck" }
        }
        fill(site)
        let answer = site.send(
            "POST", "/db/_find", "{\"selector\":{\"t\":{\"$not\":\(Self.pattern)}}}")
        #expect(answer.status == 200)
        #expect(answer.json["docs"]?.array?.map { $0["_id"] } == ["calm"])
    }

    @Test func `a text index has the document of which its filter cannot tell`() throws {
        let site = try TestSite()
        fill(site)
        site.send(
            "POST", "/db/_index",
            "{\"type\":\"text\",\"ddoc\":\"d\",\"name\":\"n\",\"index\":"
                + "{\"partial_filter_selector\":{\"t\":{\"$not\":\(Self.pattern)}}}}")
        let answer = site.send(
            "POST", "/db/_find", "{\"selector\":{\"t\":\"\(Self.text)\"},\"use_index\":\"d\"}")
        #expect(answer.json["warning"] == nil)
        #expect(answer.json["docs"]?.array?.map { $0["_id"] } == ["stuck"])
    }
}
