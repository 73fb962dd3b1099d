// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanReplication
import Foundation
import Testing

@testable import DivanListener

/// What a client of a feed with a selector is told of a document for which the regular expression takes too many steps.
@Suite(.timeLimit(.minutes(5))) struct UndecidedFeedTests {
    private static let selector: JSONValue = ["t": ["$not": ["$regex": "(a+)+$"]]]
    private static let text = String(repeating: "a", count: 40) + "!"

    private func served(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> ServedSite {
        let served = try ServedSite(edit)
        try served.database.put("calm", ["t": "b"], parent: nil)
        try served.database.put("stuck", ["t": .string(Self.text)], parent: nil)
        return served
    }

    private func answer(_ served: ServedSite, _ query: String) throws -> (
        status: Int, body: [UInt8]
    )? {
        let client = try served.client()
        client.request(
            "POST", "/db/_changes?filter=_selector&\(query)", ["Content-Type: application/json"],
            Array(#"{"selector":\#(Self.selector)}"#.utf8))
        return client.answer().map { ($0.status, $0.body) }
    }

    @Test(arguments: ["normal", "longpoll", "continuous", "eventsource"])
    func `it answers 400 and names the document`(mode: String) throws {
        let served = try served()
        let answer = try #require(try answer(served, "feed=\(mode)&timeout=50"))
        #expect(answer.status == 400)
        let body = try PackedValue(parsing: answer.body)
        #expect(body["error"]?.string == "query_parse_error")
        #expect(body["reason"]?.string?.contains("'stuck'") == true)
        #expect(body["reason"]?.string?.contains("aaaa") == false)
    }

    @Test func `it does not name a document that the user may not read`() throws {
        let served = try served {
            $0.authorization.reading = { _, _, document in document.id != "stuck" }
        }
        let answer = try #require(try answer(served, "feed=normal"))
        #expect(answer.status == 200)
        let rows = try PackedValue(parsing: answer.body)["results"]?.jsonValue().array ?? []
        #expect(rows.map { $0["id"] } == ["calm"])
    }

    @Test func `a pull by it fails once and names the document`() async throws {
        let served = try served()
        let target = try Database.inMemory(named: "target")
        let pull = target.makePullReplication(
            from: try #require(URL(string: "http://127.0.0.1:\(served.port)/db"))
        ) { $0.selector = Self.selector.object }
        let error = await #expect(throws: ReplicationError.self) { try await pull.run() }
        #expect(error?.code == .invalidSetting)
        #expect(error?.isTransient == false)
        #expect(error?.message.contains("'stuck'") == true)
    }
}
