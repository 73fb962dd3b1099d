// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// A document that a server does not take is left out of a push and named, at little cost, and keeps no other.
@Suite(.timeLimit(.minutes(10))) struct OneDocumentPushTests {
    let here: Database
    let there: Database
    let server: PickyServer

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        server = PickyServer(CouchStandIn(there))
    }

    private static let bad = #"{"error":"bad_request","reason":"invalid UTF-8 JSON"}"#

    /// Answers with a status whatever has a word in its body, or in its path.
    private func refuse(_ word: String, _ status: Int, at path: String? = nil) {
        server.judge.withLock {
            $0 = { asked, body in
                guard path == nil || path == asked, body.contains(word) || asked.contains(word)
                else { return nil }
                return (status, Self.bad)
            }
        }
    }

    private func fill(_ count: Int) throws {
        try here.inBatch {
            for n in 0..<count { try here.put("d\(n)", ["n": .integer(Int64(n))], parent: nil) }
        }
    }

    /// Runs one push to its end, all reports of it.
    private func push() async throws -> [ReplicationEngine.Report] {
        try await server.push(from: here)
    }

    private func errors(_ outcomes: [PutOutcome]) -> [String: ReplicationError] {
        var errors: [String: ReplicationError] = [:]
        for case .failed(let error) in outcomes { errors[error.documentID?.text ?? "?"] = error }
        return errors
    }

    // MARK: - Comparing

    @Test(arguments: [400, 413, 500])
    func `a document that spoils _revs_diff is found by halving, and compared by storing it`(
        status: Int
    ) async throws {
        try fill(1_000)
        refuse("d700\"", status, at: "_revs_diff")
        let reports = try await push()
        #expect(reports.allSatisfy { $0.error == nil })
        #expect(try there.documentCount == 1_000)
        #expect(server.count("POST _revs_diff") <= 23)
        #expect(server.count("PUT d") == 0)
        // The checkpoint is past it.
        let before = server.count("POST _revs_diff")
        _ = try await push()
        #expect(server.count("POST _revs_diff") == before)
    }

    @Test func `a server that cannot compare anything is not asked about every document`()
        async throws
    {
        try fill(1_000)
        refuse("", 500, at: "_revs_diff")
        let error = await #expect(throws: ReplicationError.self) { _ = try await push() }
        #expect(error?.code == .server && error?.isTransient == true)
        #expect(error?.documentID == nil)
        #expect(server.count("POST _revs_diff") == 2)
    }

    @Test func `an answer to _revs_diff that does not say which revisions are missing means all`()
        async throws
    {
        let offer = PeerChange(
            id: "a", revisions: [RevisionID("1-a"), RevisionID("1-b")])
        let peer = HTTPPeer(server, for: here)
        for entry in ["5", #"{"missing":"1-a"}"#, #"{"missing":["7-z"]}"#, #"{"missing":[3]}"#] {
            server.judge.withLock {
                $0 = { _, _ in (200, #"{"x":{"missing":["1-a"]},"a":\#(entry)}"#) }
            }
            #expect(
                try await peer.missingRevisions(of: [offer]).map(\.revisions) == [offer.revisions])
        }
        server.judge.withLock { $0 = { _, _ in (200, #"{"a":{"missing":[]}}"#) } }
        #expect(try await peer.missingRevisions(of: [offer]).isEmpty)
    }

    // MARK: - Storing

    @Test(arguments: [400, 413, 500])
    func `a document that spoils _bulk_docs is found by halving, named, and keeps no other`(
        status: Int
    ) async throws {
        try fill(1_000)
        refuse("\"n\":700}", status)
        let outcomes = try await outcomes(of: 1_000)
        let errors = errors(outcomes)
        #expect(errors.keys.sorted() == ["d700"])
        #expect(errors["d700"]?.status == status)
        // What is the server's fault may be gone the next time.
        #expect(errors["d700"]?.isTransient == (status == 500))
        #expect(try there.documentCount == 999)
        #expect(server.requests.withLock { $0.count } <= 24)
    }

    /// Puts the documents at once.
    private func outcomes(of count: Int) async throws -> [PutOutcome] {
        let wanted = try (0..<count).map { n in
            let id: DocumentID = "d\(n)"
            let revision = try #require(try here.document(withID: id)).revisionID
            return MissingRevisions(id: id, revisions: [revision])
        }
        let documents = try await LocalPeer(here).revisions(wanted).compactMap { fetched in
            if case .document(let document) = fetched.outcome { document } else { nil }
        }
        return try await HTTPPeer(server, for: here).put(documents)
    }

    @Test func `every culprit is named, and they cost two requests each at most`() async throws {
        try fill(200)
        refuse("7}", 400)
        let outcomes = try await outcomes(of: 200)
        #expect(errors(outcomes).count == 20)
        #expect(try there.documentCount == 180)
        refuse("\"n\":", 400)
        let before = server.requests.withLock { $0.count }
        #expect(errors(try await self.outcomes(of: 200)).count == 200)
        #expect(server.requests.withLock { $0.count } - before <= 400)
    }

    @Test(arguments: [(500, 2), (502, 2), (503, 1), (429, 1)])
    func `a server that fails over everything is left alone, and the run fails for now`(
        status: Int, requests: Int
    ) async throws {
        try fill(100)
        refuse("", status, at: "_bulk_docs")
        let error = await #expect(throws: ReplicationError.self) { _ = try await outcomes(of: 100) }
        #expect(error?.isTransient == true && error?.documentID == nil)
        #expect(server.requests.withLock { $0.count } == requests)
    }

    @Test func `a server that answers but cannot write is given up after twenty documents`()
        async throws
    {
        try fill(1_000)
        refuse("\"n\":", 500)
        let error = await #expect(throws: ReplicationError.self) {
            _ = try await outcomes(of: 1_000)
        }
        #expect(error?.isTransient == true && error?.documentID == nil)
        #expect(server.requests.withLock { $0.count } < 60)
    }

    @Test func `an ID that is too long for a URL goes in a body`() async throws {
        let id = String(repeating: "é", count: 2_048)
        try here.put(DocumentID(id), ["n": 1], parent: nil)
        server.judge.withLock { $0 = { path, _ in path.utf8.count > 8_000 ? (400, "") : nil } }
        #expect(try await push().allSatisfy { $0.error == nil })
        #expect(try there.contains(DocumentID(id)))
    }

    // MARK: - Answers that make no sense

    private func answer(_ text: String) {
        server.judge.withLock { $0 = { path, _ in path == "_bulk_docs" ? (201, text) : nil } }
    }

    @Test func `a refusal finds its document by the bytes of its ID`() async throws {
        let ids = ["\u{e9}", "e\u{301}", "o"]
        let documents = try ids.map { try wire(#"{"_id":"\#($0)","_rev":"1-a"}"#) }
        answer("[{\"id\":\"e\u{301}\",\"error\":\"forbidden\"}]")
        let outcomes = try await HTTPPeer(server, for: here).put(documents)
        let isRefused = outcomes.map { if case .failed = $0 { true } else { false } }
        #expect(isRefused == [false, true, false])
    }

    @Test func `a refusal in lower case is of the revision that was sent`() async throws {
        let ids = ["1-0123456789ABCDEF0123456789ABCDEF", "1-1123456789ABCDEF0123456789ABCDEF"]
        let documents = try ids.map { try wire(#"{"_id":"a","_rev":"\#($0)"}"#) }
        answer(#"[{"id":"a","rev":"\#(ids[1].lowercased())","error":"forbidden"}]"#)
        let outcomes = try await HTTPPeer(server, for: here).put(documents)
        let isRefused = outcomes.map { if case .failed = $0 { true } else { false } }
        #expect(isRefused == [false, true])
    }

    @Test(arguments: [
        #"[{"error":"forbidden","reason":"no"}]"#, #"[{"id":"other","error":"forbidden"}]"#,
        #"[{"id":7,"error":"forbidden"}]"#, #"[{"id":"a","rev":"9-z","error":"forbidden"}]"#,
    ])
    func `a refusal of nobody knows what makes the documents go one by one`(text: String)
        async throws
    {
        let documents = try ["1-a", "1-b"].map { try wire(#"{"_id":"a","_rev":"\#($0)"}"#) }
        server.judge.withLock {
            $0 = { path, body in
                guard path == "_bulk_docs" else {
                    return body.contains("1-b") ? (403, #"{"error":"forbidden"}"#) : nil
                }
                return (201, body.contains("_id") ? text : "[]")
            }
        }
        let outcomes = try await HTTPPeer(server, for: here).put(documents)
        #expect(errors(outcomes).values.map(\.code) == [.forbidden])
        #expect(try there.leafRevisions(of: "a").map(\.revisionID) == ["1-a"])
    }

    @Test func `entries about what was stored, and about nothing at all, are no refusals`()
        async throws
    {
        let documents = try ["a", "b"].map { try wire(#"{"_id":"\#($0)","_rev":"1-a"}"#) }
        answer(#"[{"ok":true,"id":"b","rev":"1-a"},{},5,null,{"id":"z"}]"#)
        let outcomes = try await HTTPPeer(server, for: here).put(documents)
        #expect(outcomes.count == 2 && errors(outcomes).isEmpty)
    }
}
