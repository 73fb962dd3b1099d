// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// The kinds of documents that Divan keeps and another server may refuse, each with what a push makes of it.
///
/// The server here answers as CouchDB 3.4.3 was seen to: what it does not take spoils a whole `_bulk_docs`. The limits
/// are lower, so that documents are shorter.
@Suite(.timeLimit(.minutes(10))) struct UnwelcomeDocumentTests {
    let here: Database
    let there: Database
    let server: PickyServer

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        server = PickyServer(CouchStandIn(there)) { path, body in Self.verdict(path, body) }
    }

    private static func verdict(_ path: String, _ body: String) -> (status: Int, body: String)? {
        let length = body.utf8.count
        let bad = #"{"error":"bad_request","reason":"invalid UTF-8 JSON"}"#
        if body.contains(String(repeating: "[", count: 100)) || body.contains("1e+400")
            || body.contains("1e400")
        {
            return (400, bad)
        }
        if body.contains(#""_x":{"#) {
            return (
                400,
                #"{"error":"bad_request","reason":"Attachment name '_x' starts with prohibited "#
                    + #"character '_'"}"#
            )
        }
        if body.contains("_removed") {
            return (
                400, #"{"error":"doc_validation","reason":"Bad special document member: _removed"}"#
            )
        }
        if body.contains(String(repeating: "i", count: 300)) || path.utf8.count > 300 {
            return (400, #"{"error":"illegal_docid","reason":"Document id is too long"}"#)
        }
        return path == "_bulk_docs" || path == "large"
            ? (length > 50_000 ? (413, #"{"error":"document_too_large","reason":"large"}"#) : nil)
            : nil
    }

    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case nesting, documentID, number, largeBody, attachmentName, accessMark

        var testDescription: String { rawValue }
    }

    /// Saves a document of a kind; its ID.
    private func save(_ kind: Kind) throws -> String {
        switch kind {
        case .nesting:
            var value = JSONValue.null
            for _ in 0..<200 { value = .array([value]) }
            return try here.put("deep", ["v": value], parent: nil).id.text
        case .documentID:
            return try here.put(
                DocumentID(String(repeating: "i", count: 400)), ["v": 1], parent: nil
            ).id.text
        case .number:
            return try here.put("number", ["v": try JSONParser.parse("1e400")], parent: nil).id.text
        case .largeBody:
            let text = String(repeating: "x", count: 60_000)
            return try here.put("large", ["v": .string(text)], parent: nil).id.text
        case .attachmentName:
            try here.putExistingRevision(
                "name", [:], history: ["1-a"], attachments: ["_x": .bytes([1, 2])])
            return "name"
        case .accessMark:
            try here.putExistingRevision("mark", ["_removed": true], history: ["1-a"])
            return "mark"
        }
    }

    @Test(arguments: Kind.allCases)
    func `it is left out, named and told, and the others go`(kind: Kind) async throws {
        try here.inBatch {
            for n in 0..<100 { try here.put("a\(n)", ["n": 1], parent: nil) }
        }
        let id = try save(kind)
        try here.inBatch {
            for n in 0..<100 { try here.put("z\(n)", ["n": 1], parent: nil) }
        }
        let reports = try await push()
        let errors = reports.compactMap { report in report.error.map { (report.id.text, $0) } }
        #expect(errors.map(\.0) == [id])
        let error = try #require(errors.first?.1)
        #expect(error.documentID?.text == id)
        #expect(!error.isTransient)
        #expect(error.status == (kind == .largeBody ? 413 : 400))
        #expect(error.message.contains("answers '\(id)' with"))
        #expect(try there.documentCount == 200)
        #expect(server.requests.withLock { $0.count } < 60)
        // The checkpoint has passed it; once it has changed it is offered again.
        let before = server.count("P")
        #expect(try await push().isEmpty)
        #expect(server.count("P") == before)
        try here.delete(DocumentID(id))
        let second = try await push()
        #expect(second.map(\.id.text) == [id])
        // Only an ID does not change with its document.
        #expect((second.first?.error == nil) == (kind != .documentID))
    }

    /// Runs one push to its end.
    private func push() async throws -> [ReplicationEngine.Report] {
        try await server.push(from: here)
    }

    // MARK: - What is never here to be sent

    @Test func `half a surrogate pair is in no document`() {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(#"{"v":"x\ud800y"}"#) }
    }

    @Test func `a revision ID of 300 characters is of no document`() throws {
        let error = #expect(throws: DatabaseError.self) {
            try here.putExistingRevision(
                "a", [:], history: ["1-\(String(repeating: "c", count: 300))"])
        }
        #expect(error?.code == .invalidID)
        #expect(try !here.contains("a"))
    }

    @Test func `the longest revision ID goes`() async throws {
        let longest: RevisionID = "1-\(String(repeating: "c", count: 255))"
        try here.putExistingRevision("a", [:], history: [longest])
        #expect(try await push().compactMap(\.error).isEmpty)
        #expect(try there.document(withID: "a")?.revisionID == longest)
    }

    @Test func `numbers at the edge of what a double holds go as they are`() async throws {
        let texts = ["1e308", "1.7976931348623157e308", "123456789012345678901234567890", "5e-324"]
        for (n, text) in texts.enumerated() {
            try here.put("n\(n)", ["v": try JSONParser.parse(text)], parent: nil)
        }
        #expect(try await push().compactMap(\.error).isEmpty)
        for n in texts.indices {
            #expect(
                try there.document(withID: "n\(n)")?.properties
                    == here.document(withID: "n\(n)")?.properties)
        }
    }

    @Test func `names are compared by their bytes, whatever else they look like`() async throws {
        for id: DocumentID in ["\u{e9}", "e\u{301}", "_design/\u{338}x"] {
            try here.put(id, [:], parent: nil)
        }
        // Only administrators may store design documents, and the stroke belongs to the one after it.
        let push = here.makePushReplication(to: there) {
            $0.remoteAccess = PeerAccess(user: "joe") { step in
                guard step == .storingDesign else { return }
                throw ReplicationError(.forbidden, "Only administrators may store it.")
            }
            $0.documentIDs = ["e\u{301}", "_design/\u{338}x"]
        }
        let summary = try await push.run()
        #expect(summary.transferred == 1 && summary.refused == 1)
        #expect(try there.contains("e\u{301}") && !there.contains("\u{e9}"))
        #expect(try !there.contains("_design/\u{338}x"))
    }

    @Test func `a document whose record is damaged here stays back, and no other`() async throws {
        for n in 0..<5 { try here.put("d\(n)", ["n": 1], parent: nil) }
        try here.spoilRecord(of: "d2")
        let reports = try await push()
        let refused = reports.filter { $0.error != nil }
        #expect(refused.map(\.id.text) == ["d2"])
        #expect(refused.first?.error?.code == .database)
        #expect(try there.documentCount == 4)
    }
}
