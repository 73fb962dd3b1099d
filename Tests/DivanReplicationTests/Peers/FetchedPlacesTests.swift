// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanModel
import Synchronization
import Testing

@testable import DivanReplication

/// Many revisions of one document in one answer.
@Suite struct FetchedPlacesTests {
    @Test func `each revision of a document is found wherever it stands, and once`() async throws {
        let here = try Database.inMemory(named: "here")
        defer { here.close() }
        let names = (0..<200).map { "1-a\($0)" }
        func document(_ name: String, _ n: Int) -> String {
            #"{"ok":{"_id":"a","_rev":"\#(name)","n":\#(n)}}"#
        }
        let server = RawStandIn()
        var item = RawStandIn.Item("a", names[0], "{}")
        // In the other order, and each once more with another content: the first one counts.
        let found = names.reversed().map { document($0, 1) } + names.map { document($0, 2) }
        item.entry = "{\"id\":\"a\",\"docs\":[\(found.joined(separator: ","))]}"
        server.add(item)
        let revisions = try names.map { try RevisionID(validating: $0) }
        let fetched = try await HTTPPeer(server, for: here).revisions([
            MissingRevisions(id: "a", revisions: revisions)
        ])
        #expect(fetched.map(\.revision) == revisions)
        for one in fetched {
            guard case .document(let document) = one.outcome else {
                Issue.record("\(one.revision) was not found.")
                continue
            }
            #expect(document.revision == one.revision)
            #expect(document.body["n"]?.int64 == 1)
        }
        #expect(server.asked.withLock { $0.count } == names.count)
    }
}
