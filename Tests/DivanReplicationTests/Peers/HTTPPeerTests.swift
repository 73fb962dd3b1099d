// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// The client's side of CouchDB's protocol, against a stand-in.
@Suite(.timeLimit(.minutes(10))) struct HTTPPeerTests {
    let here: Database
    let there: Database
    let server: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        server = CouchStandIn(there)
    }

    /// Runs one replication over a connection, one action after the other.
    private func replicate(
        isPush: Bool, feed: HTTPPeer.Feed = HTTPPeer.Feed(), seed: UInt64 = 1
    ) async throws -> [ReplicationEngine.Report] {
        let peer = HTTPPeer(server, for: here, feed: feed)
        let local = LocalPeer(here, reception: Reception(source: server.name))
        let keeper = CheckpointKeeper(
            ReplicationID(
                .init(localUUID: here.privateUUID, remoteURL: server.name, isPush: isPush)),
            local: local, remote: peer, isPush: isPush, incarnation: here.testIncarnation)
        let worker = ReplicationWorker(
            source: isPush ? local : peer, target: isPush ? peer : local, keeper: keeper)
        var limits = ReplicationEngine.Limits()
        limits.page = 7
        limits.revisionsPerFetch = 5
        var engine = ReplicationEngine(
            since: try await keeper.load(), isContinuous: false, limits: limits)
        var random = SeededRandom(seed: seed)
        var open = engine.start()
        while !open.isEmpty {
            let action = open.remove(at: random.below(open.count))
            if case .finish(let failure) = action {
                if let failure { throw failure }
                break
            }
            guard let event = try await worker.perform(action) else { continue }
            open += engine.handle(event)
        }
        return engine.takeReports()
    }

    private func fill(_ database: Database) throws {
        for n in 0..<20 { try database.put("doc \(n)/é", ["n": .integer(Int64(n))], parent: nil) }
        try database.put("_design/d", ["views": [:]], parent: nil)
        let first = try database.put("conflict", ["n": 0], parent: nil)
        try database.put("conflict", ["n": 1], parent: first.revisionID)
        try database.put("conflict", ["n": 2], parent: first.revisionID, options: .allowConflict)
        let dead = try database.put("dead", [:], parent: nil)
        try database.put("dead", ["why": "x"], parent: dead.revisionID, options: .tombstone)
        let coded: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0,
            0, 0,
        ]
        try database.put(
            "attached", [:], parent: nil,
            attachments: [
                "big": .bytes([UInt8](repeating: 9, count: 300_000)), "small": .bytes([1, 2]),
                "empty": .bytes([]), "coded": AttachmentContent.bytes(coded).gzipped(),
                "n\"a/me \u{e9}": .bytes([3]),
            ])
    }

    private func contents(_ database: Database) throws -> [String: String] {
        var contents: [String: String] = [:]
        for change in try database.changes().changes {
            for leaf in try database.leafRevisions(of: change.id) {
                let attachments = try leaf.attachments.map {
                    "\($0.name) \(try $0.content().hashValue)"
                }
                contents["\(change.id) \(leaf.revisionID)"] =
                    "\(leaf.isDeleted) \(leaf.properties) \(attachments)"
            }
        }
        return contents
    }

    private func expectEqual() throws {
        let (mine, theirs) = (try contents(here), try contents(there))
        #expect(mine == theirs)
    }

    @Test func `a push brings documents, conflicts, tombstones and attachments over`() async throws
    {
        try fill(here)
        let reports = try await replicate(isPush: true)
        #expect(reports.allSatisfy { $0.error == nil })
        try expectEqual()
        #expect(server.count("PUT attached") == 1)
        let before = server.count("")
        _ = try await replicate(isPush: true)
        #expect(server.count("") - before <= 3)
    }

    @Test(arguments: [
        (false, false, false), (true, false, false), (true, true, false), (false, false, true),
    ])
    func `a pull brings the same, whatever the server can do`(
        lacksBulkGet: Bool, lacksMultipart: Bool, inParts: Bool
    ) async throws {
        server.manner.withLock {
            $0.lacksBulkGet = lacksBulkGet
            $0.lacksMultipart = lacksMultipart
            $0.answersBulkGetInParts = inParts
        }
        try fill(there)
        let reports = try await replicate(isPush: false)
        #expect(reports.allSatisfy { $0.error == nil })
        try expectEqual()
        if lacksBulkGet { #expect(server.count("POST _bulk_get") == 1) }
    }

    @Test(arguments: [false, true])
    func `a server that has no content in a _bulk_get is asked for each document by itself`(
        callsItselfDivan: Bool
    ) async throws {
        server.manner.withLock { $0.callsItselfDivan = callsItselfDivan }
        try there.put("short", [:], parent: nil, attachments: ["a": .bytes([1, 2, 3])])
        let reports = try await replicate(isPush: false)
        #expect(reports.allSatisfy { $0.error == nil })
        try expectEqual()
        #expect(server.count("GET short") == 1)
        // Another server is not even asked.
        let together = server.count("POST _bulk_get?revs=true&attachments=true")
        #expect(together == (callsItselfDivan ? 1 : 0))
    }

    @Test func `of a document that changed only the changed attachments travel again`() async throws
    {
        try fill(there)
        _ = try await replicate(isPush: false)
        let document = try #require(try there.document(withID: "attached")).toMutable()
        document.setAttachment(named: "small", contentType: nil, .bytes([7]))
        try there.save(document)
        _ = try await replicate(isPush: false)
        try expectEqual()
        let asked = server.requests.withLock { $0.filter { $0.contains("atts_since") } }
        #expect(asked.count == 1)
    }

    @Test func `a document that the server refuses is told of, and the rest goes on`() async throws
    {
        try fill(here)
        try here.put("forbidden", [:], parent: nil)
        let reports = try await replicate(isPush: true)
        #expect(reports.compactMap(\.error).map(\.code) == [.forbidden])
        #expect(try there.document(withID: "doc 7/é") != nil)
        #expect(try there.document(withID: "forbidden") == nil)
    }

    @Test func `filters and their parameters stand in the query, IDs in the body too`() async throws
    {
        try fill(there)
        var feed = HTTPPeer.Feed()
        feed.filter = "app/byOwner"
        feed.parameters = ["name": "Waldo", "n": 1]
        _ = try await replicate(isPush: false, feed: feed)
        let asked = server.requests.withLock { $0.first { $0.contains("_changes") } } ?? ""
        #expect(asked.hasPrefix("GET _changes"))
        #expect(asked.contains("filter=app/byOwner&name=Waldo&n=1"))
        #expect(asked.contains("style=all_docs"))
        let other = try Database.inMemory(named: "other")
        let peer = HTTPPeer(
            server, for: other,
            feed: {
                var feed = HTTPPeer.Feed()
                feed.documentIDs = ["dead"]
                return feed
            }())
        let page = try await peer.changes(ChangesRequest(since: nil))
        #expect(page.changes.map(\.id.text) == ["dead"])
        #expect(server.count("POST _changes") == 1)
    }

    @Test func `a feed that does not move on is not read for ever`() async throws {
        func answer(_ rows: String, pending: Int) {
            let body = #"{"results":[\#(rows)],"last_seq":"2-x","pending":\#(pending)}"#
            server.manner.withLock { $0.answers = [("_changes", 200, body)] }
        }
        let rows =
            #"{"seq":"1-x","id":"a","changes":[{"rev":"1-a"}]},"#
            + #"{"seq":"2-x","id":"b","changes":[{"rev":"1-b"}]}"#
        let peer = HTTPPeer(server, for: here)
        var request = ChangesRequest(since: nil)
        request.limit = 2
        answer(rows, pending: 7)
        let page = try await peer.changes(request)
        #expect(!page.isAtEnd && page.changes.count == 2)
        // The server takes no notice of where to go on.
        request.since = page.lastSequence
        let error = await #expect(throws: ReplicationError.self) { try await peer.changes(request) }
        #expect(error?.code == .invalidAnswer && error?.isTransient == true)
        // Nothing more comes, although there is said to be more.
        answer("", pending: 7)
        #expect(try await peer.changes(request).isAtEnd)
        // And where it is waited for, not at once again.
        answer(rows, pending: 0)
        request.waits = true
        let began = ContinuousClock.now
        #expect(try await peer.changes(request).changes.count == 2)
        #expect(began.duration(to: .now) >= .seconds(1))
    }

    @Test(arguments: ["CouchDB", "Sync Gateway", "no POST", "no filter"])
    func `single documents come from every kind of server, page by page`(kind: String) async throws
    {
        try fill(there)
        server.manner.withLock {
            $0.isSyncGateway = kind == "Sync Gateway"
            $0.refusesPostedChanges = kind == "no POST"
            $0.ignoresFilters = kind == "no filter"
        }
        var feed = HTTPPeer.Feed()
        feed.documentIDs = ["doc 3/é", "dead", "conflict"]
        let reports = try await replicate(isPush: false, feed: feed)
        #expect(reports.allSatisfy { $0.error == nil })
        #expect(Set(reports.map(\.id.text)) == ["doc 3/é", "dead", "conflict"])
        #expect(try here.changes().changes.count == 3)
    }

    @Test func `a server that cannot wait for single documents is asked again`() async throws {
        server.manner.withLock { $0.isSyncGateway = true }
        try there.put("other", [:], parent: nil)
        var feed = HTTPPeer.Feed()
        feed.documentIDs = ["a"]
        feed.heartbeat = .milliseconds(10)
        let peer = HTTPPeer(server, for: here, feed: feed)
        var request = ChangesRequest(
            since: try await peer.changes(ChangesRequest(since: nil)).lastSequence)
        request.waits = true
        try there.put("a", [:], parent: nil)
        #expect(try await peer.changes(request).changes.map(\.id.text) == ["a"])
        #expect(server.requests.withLock { $0.filter { $0.contains("feed=longpoll") } }.count == 1)
        #expect(try await peer.changes(request).changes.map(\.id.text) == ["a"])
        #expect(server.requests.withLock { $0.filter { $0.contains("feed=longpoll") } }.count == 1)
    }

    @Test(arguments: [
        (401, "", ReplicationError.Code.unauthorized, false), (403, "", .forbidden, true),
        (404, "", .notFound, false), (429, "", .server, true), (500, "", .server, true),
        (503, "{\"reason\":\"later\"}", .server, true), (200, "<html>", .invalidAnswer, true),
    ])
    func `an answer that is no success is an error by its status`(
        status: Int, body: String, code: ReplicationError.Code, isTransient: Bool
    ) async throws {
        server.manner.withLock {
            $0.answers = [("_revs_diff", status, body)]
            $0.headers = ["Retry-After": "7"]
        }
        let peer = HTTPPeer(server, for: here)
        let offer = PeerChange(id: "a", revisions: [RevisionID("1-a")])
        let error = await #expect(throws: ReplicationError.self) {
            try await peer.missingRevisions(of: [offer])
        }
        #expect(error?.code == code)
        #expect(error?.isTransient == isTransient)
        if status != 200 { #expect(error?.retryAfter == 7) }
    }

    @Test func `a 403 that does not say when it ends is final`() async throws {
        server.manner.withLock { $0.answers = [("_revs_diff", 403, "")] }
        let peer = HTTPPeer(server, for: here)
        let error = await #expect(throws: ReplicationError.self) {
            try await peer.missingRevisions(of: [
                PeerChange(id: "a", revisions: [RevisionID("1-a")])
            ])
        }
        #expect(error?.code == .forbidden && error?.isTransient == false)
    }

    @Test func `a revision that CouchDB names in lower case is the one that was offered`()
        async throws
    {
        // As CouchDB does with 32 hexadecimal digits, which it keeps as a number.
        let answer = #"{"a":{"missing":["1-0123456789abcdef0123456789abcdef"]}}"#
        server.manner.withLock { $0.answers = [("_revs_diff", 200, answer)] }
        let offered = RevisionID("1-0123456789ABCDEF0123456789ABCDEF")
        let other = RevisionID("1-1123456789ABCDEF0123456789ABCDEF")
        let offer = PeerChange(id: "a", revisions: [other, offered])
        let missing = try await HTTPPeer(server, for: here).missingRevisions(of: [offer])
        #expect(missing.map(\.revisions) == [[offered]])
    }

    @Test func `a 401 to one document is about it while the server lets us in`() async throws {
        let refusal = #"{"error":"unauthorized","reason":"Sign in as an editor."}"#
        let document = try wire(#"{"_id":"_design/a","_rev":"1-a"}"#)
        let peer = HTTPPeer(server, for: here)
        server.manner.withLock { $0.answers = [("_design/a", 401, refusal)] }
        guard case .failed(let error)? = try await peer.put([document]).first else {
            Issue.record("It was not refused.")
            return
        }
        #expect(error.code == .unauthorized)
        #expect(error.documentID == "_design/a")
        // A server that refuses every request ends the whole.
        server.manner.withLock { $0.answers = [("", 401, refusal)] }
        let whole = await #expect(throws: ReplicationError.self) { try await peer.put([document]) }
        #expect(whole?.code == .unauthorized)
    }

    @Test func `a page to sign in to a network is no word of having stored anything`() async throws
    {
        server.manner.withLock { $0.answers = [("a", 200, "<html>"), ("_bulk_docs", 200, "{}")] }
        let peer = HTTPPeer(server, for: here)
        let one = try wire(#"{"_id":"a","_rev":"1-a"}"#)
        let two = try wire(#"{"_id":"b","_rev":"1-b"}"#)
        for documents in [[one], [one, two]] {
            let error = await #expect(throws: ReplicationError.self) {
                try await peer.put(documents)
            }
            #expect(error?.isTransient == true)
        }
    }

    @Test func `what another copy of the database has saved meanwhile stays beside a checkpoint`()
        async throws
    {
        let (keeper, id, peer) = try await savedCheckpoint()
        var theirs = try #require(try there.localDocument("_local/\(id.text)"))
        let entry: JSONValue = ["session_id": "theirs", "recorded_seq": 1, "run": "other"]
        theirs["history"] = .array([entry] + (theirs["history"]?.array ?? []))
        theirs["_rev"] = "0-9"
        try there.putLocalDocument("_local/\(id.text)", theirs)
        try await keeper.save(RemoteSequence(2))
        let history = try #require(try await peer.checkpoint(id)?.checkpoint.history)
        #expect(history.count == 3)
        #expect(history.contains { $0.sessionID == "theirs" })
    }

    @Test func `a run ends when the other end has lost what was saved there`() async throws {
        let (keeper, id, peer) = try await savedCheckpoint()
        try there.putLocalDocument("_local/\(id.text)", ["_rev": "0-9"])
        let error = await #expect(throws: ReplicationError.self) {
            try await keeper.save(RemoteSequence(2))
        }
        #expect(error?.isTransient == true)
        // The next run begins at the beginning, and does not vouch for what the first one had brought.
        let next = CheckpointKeeper(
            id, local: LocalPeer(here), remote: peer, isPush: true, incarnation: "L")
        #expect(try await next.load() == nil)
        try await next.save(RemoteSequence(1))
        #expect(try await peer.checkpoint(id)?.checkpoint.history.count == 1)
    }

    /// A run that has saved once.
    private func savedCheckpoint() async throws -> (CheckpointKeeper, ReplicationID, HTTPPeer) {
        try fill(here)
        _ = try await replicate(isPush: true)
        let peer = HTTPPeer(server, for: here)
        let id = ReplicationID(.init(localUUID: "x", remoteURL: "y", isPush: true))
        let keeper = CheckpointKeeper(
            id, local: LocalPeer(here), remote: peer, isPush: true, incarnation: "L")
        _ = try await keeper.load()
        try await keeper.save(RemoteSequence(1))
        return (keeper, id, peer)
    }

    @Test func `a database that is missing is found so, and made when asked`() async throws {
        server.exists.withLock { $0 = false }
        let peer = HTTPPeer(server, for: here)
        #expect(try await !peer.information().exists)
        try await peer.create(partitioned: false)
        #expect(try await peer.information().exists)
    }

    @Test func `whatever breaks, both ways end equal`() async throws {
        for round in Soak.rounds(test: 40, soak: 4_000) {
            let here = try Database.inMemory(named: "here")
            let there = try Database.inMemory(named: "there")
            var random = Soak.random(round: round, salt: 0xFA17)
            let test = try HTTPPeerTests(here, there, CouchStandIn(there, seed: random.next()))
            try test.fill(random.oneIn(2) ? here : there)
            try here.put("mine", [:], parent: nil)
            try there.put("theirs", [:], parent: nil)
            test.server.manner.withLock {
                $0.faults = 3 + random.below(10)
                $0.lacksBulkGet = random.oneIn(3)
                $0.lacksMultipart = random.oneIn(4)
                $0.answersBulkGetInParts = random.oneIn(3)
            }
            for isPush in [true, false] {
                for attempt in 0..<200 {
                    // At last the network is well again.
                    if attempt == 100 { test.server.manner.withLock { $0.faults = 0 } }
                    do {
                        _ = try await test.replicate(isPush: isPush, seed: random.next())
                        break
                    } catch let error as ReplicationError {
                        #expect(error.isTransient, "round \(round): \(error)")
                        #expect(attempt < 150, "round \(round)")
                    }
                }
            }
            try test.expectEqual()
            here.close()
            there.close()
        }
    }

    private init(_ here: Database, _ there: Database, _ server: CouchStandIn) throws {
        self.here = here
        self.there = there
        self.server = server
    }
}
