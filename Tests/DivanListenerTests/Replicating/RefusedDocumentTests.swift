// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// What `_replicate` tells of documents that the target does not take.
@Suite(.timeLimit(.minutes(5))) struct RefusedDocumentTests {
    private let site: TestSite
    private let target: Database

    init() throws {
        site = try TestSite()
        let source = try site.manager.database(named: "source")
        for id in ["a", "b", "c"] { _ = try source.put(DocumentID(id), ["n": 1], parent: nil) }
        target = try site.manager.database(named: "target")
        target.setValidation(named: "no b") { revision, context in
            if revision.id == "b" { throw context.rejection("No b.") }
        }
    }

    private func replicate(_ more: JSONObject = [:]) async -> JSONValue {
        var body: JSONObject = ["source": "source", "target": "target"]
        for (name, value) in more { body[name] = value }
        let text = JSONValue.object(body).description
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: site.send("POST", "/_replicate", text).json)
            }
        }
    }

    @Test func `documents that are refused are counted and named, with the reason`() async throws {
        for more in [["use_checkpoints": false], [:]] as [JSONObject] {
            let answer = await replicate(more)
            #expect(answer["ok"] == true, "\(answer)")
            #expect(answer["doc_write_failures"] == 1)
            let errors = answer["doc_write_errors"]?.array ?? []
            #expect(errors.map { $0["id"] } == ["b"], "\(answer)")
            #expect(errors.first?["error"] == "forbidden")
            #expect(errors.first?["reason"]?.string?.contains("No b.") == true, "\(answer)")
        }
    }

    @Test func `where none is refused none is named`() async throws {
        let answer = await replicate(["doc_ids": ["a"]])
        #expect(answer["doc_write_failures"] == 0)
        #expect(answer["doc_write_errors"] == nil)
    }
}
