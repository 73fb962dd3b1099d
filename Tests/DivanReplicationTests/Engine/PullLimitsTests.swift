// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

@testable import DivanReplication

/// What one document can do to a pull: nothing to the others, and not without a word.
@Suite(.timeLimit(.minutes(10))) struct PullLimitsTests {
    let here: Database
    let server = RawStandIn()

    init() throws { here = try Database.inMemory(named: "here") }

    private static func document(
        _ id: String, _ properties: String = "\"n\":1", rev: String = "1-a"
    )
        -> RawStandIn.Item
    {
        RawStandIn.Item(id, rev, #"{"_id":"\#(id)","_rev":"\#(rev)",\#(properties)}"#)
    }

    /// Pulls a document among others, then once more, then the document as it should be; returns the errors of the
    /// first pull.
    private func pull(_ bad: RawStandIn.Item, good: String = "a") async throws -> [ReplicationError]
    {
        for n in 0..<3 { server.add(Self.document("before \(n)")) }
        server.add(bad)
        for n in 0..<3 { server.add(Self.document("after \(n)")) }
        let reports = try await server.pull(into: here)
        #expect(try here.documentCount == 6)
        #expect(reports.filter { $0.error == nil }.count == 6)
        let errors = reports.compactMap(\.error)
        #expect(errors.allSatisfy { !$0.isTransient && $0.message.utf8.count < 2_000 })
        // The checkpoint is past it: nothing is read again, and nothing told again.
        let asked = server.asked.withLock { $0.count }
        #expect(try await server.pull(into: here).isEmpty)
        #expect(server.asked.withLock { $0.count } == asked)
        server.add(Self.document(good, rev: "2-b"))
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try here.documentCount == 7)
        return errors
    }

    @Test(arguments: [
        String(repeating: "[", count: 600) + String(repeating: "]", count: 600),
        #""\ud800""#, #""\udc00x""#, "1.", "tru", "\"\u{1}\"",
    ])
    func `a body that cannot be read is left out and named`(value: String) async throws {
        let errors = try await pull(Self.document("a", "\"deep\":\(value)"))
        #expect(errors.map(\.documentID) == ["a"])
        #expect(errors.first?.code == .invalidAnswer)
        #expect(errors.first?.message.contains("'a'") == true)
        #expect(errors.first?.message.contains("sign in") == false)
    }

    @Test func `a number beyond all doubles is kept as it is written`() async throws {
        server.add(Self.document("a", "\"n\":1e400"))
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(
            try here.document(withID: "a")?.properties["n"] == JSONValue.number(.init("1e400")!))
    }

    @Test func `a body at the limit of nesting comes`() async throws {
        // The document is one level itself.
        let deep = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
        server.add(Self.document("a", "\"deep\":\(deep)"))
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try here.document(withID: "a")?.properties["deep"]?.array?.count == 1)
    }

    @Test func `an attachment whose name begins with an underscore comes`() async throws {
        server.add(Self.document("a", #""_attachments":{"_x":{"data":"aGVsbG8=","revpos":1}}"#))
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        let attachment = try here.document(withID: "a")?.attachment(named: "_x")
        #expect(try attachment?.content() == Array("hello".utf8))
    }

    @Test func `the app is told of a document that is left out`() async throws {
        let there = try Database.inMemory(named: "there")
        try there.put("good", [:], parent: nil)
        let revision = try there.put("deep", [:], parent: nil).revisionID
        let deep = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
        let text = #"{"_id":"deep","_rev":"\#(revision)","x":\#(deep)}"#
        let server = try CouchStandIn(there).serve { request, connection in
            let answer =
                request.target.hasPrefix("/db/_bulk_get")
                ? #"{"results":[]}"# : request.target.hasPrefix("/db/deep?") ? text : nil
            guard let answer else { return false }
            return connection.respond(
                status: 200, headers: [("Content-Type", "application/json")],
                body: Array(answer.utf8))
        }
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL)
        let told = Mutex<Set<String>>([])
        let token = pull.addDocumentListener { event in
            told.withLock {
                _ = $0.insert("\(event.id) \(event.error?.code.rawValue ?? "arrived")")
            }
        }
        let summary = try await pull.run()
        token.remove()
        #expect(summary.transferred == 1 && summary.refused == 1)
        #expect(summary.documentErrors.map(\.documentID) == ["deep"])
        #expect(told.withLock { $0 } == ["good arrived", "deep invalidAnswer"])
        #expect(pull.lastError?.documentID == "deep" && pull.failure == nil)
    }

    @Test func `each row that makes no sense is counted as refused`() async throws {
        for n in 1...3 {
            var item = Self.document("a\(n)")
            item.row = #"{"seq":\#(n),"id":"a\#(n)"}"#
            server.add(item)
        }
        for n in 4...5 {
            var item = Self.document("a\(n)")
            item.row = #"{"seq":\#(n)}"#
            server.add(item)
        }
        let reports = try await server.pull(into: here)
        var counts = ReplicationCounts()
        for report in reports where report.isRefusal { counts.refuse(report.id) }
        #expect(counts.all.refused == 5)
    }

    @Test(arguments: LiveFeed.Form.allCases)
    func `a row of a feed that is followed leaves the others`(form: LiveFeed.Form) async throws {
        let rows = [
            #"{"seq":1,"id":"a","changes":[{"rev":"1-a"}]}"#, #"{"seq":2,"id":"b","x":[tru]}"#,
            #"{"seq":3,"id":"c","changes":[{"rev":"1-c"}]}"#,
        ]
        let text =
            switch form {
            case .continuous: rows.map { $0 + "\n" }.joined()
            case .eventSource: rows.map { "data: \($0)\n\n" }.joined()
            case .messages: "[\(rows.joined(separator: ","))]"
            }
        let feed = LiveFeed(BytesPieces(Array(text.utf8)), form, at: RemoteSequence(0))
        let taken = try await feed.take()
        #expect(taken.rows.map(\.documentID) == ["a", "b", "c"])
        #expect(taken.sequence == 3)
        var page = ChangesPage(changes: [], lastSequence: RemoteSequence(0), isAtEnd: true)
        let peer = HTTPPeer(server, for: here)
        for row in taken.rows { peer.take(row, &page) }
        #expect(page.changes.map(\.id.text) == ["a", "c"])
        #expect(page.failures.map(\.documentID) == ["b"])
    }

    @Test func `a filter that is not there is told from a database that is not there`() async throws
    {
        let there = try Database.inMemory(named: "there")
        let couch = CouchStandIn(there)
        couch.manner.withLock {
            $0.answers = [("_changes", 404, #"{"error":"not_found","reason":"missing"}"#)]
        }
        var feed = HTTPPeer.Feed()
        feed.filter = "app/mine"
        let peer = HTTPPeer(couch, for: here, feed: feed)
        func error() async throws -> ReplicationError {
            try #require(
                await #expect(throws: ReplicationError.self) {
                    try await peer.changes(ChangesRequest(since: nil))
                })
        }
        let missing = try await error()
        #expect(missing.code == .invalidSetting && missing.message.contains("'app/mine'"))
        couch.manner.withLock { $0.answers = [("_changes", 400, #"{"error":"bad_request"}"#)] }
        #expect(try await error().code == .invalidSetting)
        couch.manner.withLock { $0.answers[0].status = 404 }
        couch.exists.withLock { $0 = false }
        #expect(try await error().code == .notFound)
    }

    @Test func `JSON that cannot be read is not taken for a page to sign in`() async throws {
        let there = try Database.inMemory(named: "there")
        let couch = CouchStandIn(there)
        let peer = HTTPPeer(couch, for: here)
        for (body, isPage) in [(#"{"a":tru}"#, false), ("<html>", true), ("[]", true)] {
            couch.manner.withLock { $0.answers = [("_revs_diff", 200, body)] }
            let offer = PeerChange(id: "a", revisions: [RevisionID("1-a")])
            let error = await #expect(throws: ReplicationError.self) {
                try await peer.missingRevisions(of: [offer])
            }
            #expect(error?.message.contains("sign in") == isPage, "\(body)")
        }
    }

    @Test func `an ID that is too long is left out, and named by its beginning and end`()
        async throws
    {
        let id = String(repeating: "i", count: 5_000)
        let errors = try await pull(Self.document(id))
        #expect(errors.count == 1)
        #expect(errors.first?.documentID?.text.hasPrefix("iiii") == true)
        #expect((errors.first?.documentID?.text.utf8.count ?? .max) <= 200)
        #expect(errors.first?.message.contains("4096") == true)
    }

    @Test func `a revision ID that is too long is left out and named`() async throws {
        let rev = "1-" + String(repeating: "a", count: 300)
        let errors = try await pull(Self.document("a", rev: rev))
        #expect(errors.map(\.documentID) == ["a"])
        #expect(errors.first?.message.contains("255") == true)
    }

    @Test func `of a document with a revision ID that is too long the other leaves come`()
        async throws
    {
        var item = Self.document("a")
        let long = "1-" + String(repeating: "a", count: 300)
        item.row = #"{"seq":1,"id":"a","changes":[{"rev":"1-a"},{"rev":"\#(long)"}]}"#
        server.add(item)
        let reports = try await server.pull(into: here)
        #expect(reports.compactMap(\.error).map(\.documentID) == ["a"])
        #expect(try here.document(withID: "a") != nil)
    }

    @Test func `an ancestor whose ID is too long is told of`() async throws {
        let long = String(repeating: "a", count: 300)
        let errors = try await pull(
            Self.document(
                "a", #""_revisions":{"start":2,"ids":["b","\#(long)"]}"#, rev: "2-b"), good: "c")
        #expect(errors.map(\.documentID) == ["a"])
    }

    @Test func `a body over the limit is left out and named`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-limits-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = DatabaseOptions()
        options.maximumDocumentSize = 1_000
        options.create = true
        let small = try Database.open(at: folder, options: options)
        defer { small.close() }
        server.add(Self.document("a", "\"x\":\"\(String(repeating: "y", count: 2_000))\""))
        server.add(Self.document("b"))
        let reports = try await server.pull(into: small)
        #expect(reports.compactMap(\.error).map(\.documentID) == ["a"])
        #expect(try small.document(withID: "b") != nil)
    }

    @Test(arguments: [
        #"{"seq":4,"id":"a","changes":"none"}"#, #"{"seq":4,"id":"a","changes":[{"rev":7}]}"#,
        #"{"seq":4,"id":"a"}"#, #"{"seq":4,"id":"a","changes":[]}"#,
        #"{"seq":4,"id":"a","changes":[{"rev":"0-x"}]}"#,
        #"{"seq":4,"id":"a","changes":[{"rev":"1-\ud800"}]}"#, #"{"seq":4,"id":"a","x":tru}"#,
    ])
    func `a row of the feed that makes no sense is told of by its ID`(row: String) async throws {
        var item = Self.document("a")
        item.row = row
        #expect(try await pull(item).map(\.documentID) == ["a"])
    }

    @Test(arguments: [
        #"{"seq":4,"id":"\ud800","changes":[{"rev":"1-a"}]}"#,
        #"{"seq":4,"changes":[{"rev":"1-a"}]}"#, #"{"seq":4,"id":"","changes":[{"rev":"1-a"}]}"#,
        #"{"seq":4,"id":7,"changes":[{"rev":"1-a"}]}"#,
    ])
    func `a row without an ID is told of by its place`(row: String) async throws {
        var item = Self.document("a")
        item.row = row
        #expect(try await pull(item).map(\.documentID) == ["? (sequence 4)"])
    }

    @Test(arguments: ["[1]", "7", "null"]) func `a row that is no object is told of`(row: String)
        async throws
    {
        var item = Self.document("a")
        item.row = row
        #expect(try await pull(item).map(\.documentID) == ["?"])
    }

    @Test(arguments: [
        #"{"id":"a","docs":[{"ok":{"_id":"a","_rev":"1-a","x":tru}}]}"#, #"{"id":"a"}"#, "7",
        #"{"id":"a","docs":[]}"#, #"{"id":"a","docs":[{}]}"#, #"{"docs":[{"ok":{}}]}"#, "",
        #"{"id":"a","docs":[{"error":{"id":"a","rev":"undefined","error":"not_found"}}]}"#,
        #"{"id":"a","docs":[{"ok":{"_id":"b","_rev":"1-a"}}]}"#,
    ])
    func `what an entry of _bulk_get does not tell is asked for alone`(entry: String) async throws {
        var item = Self.document("a")
        item.entry = entry
        server.add(item)
        server.add(Self.document("b"))
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try here.document(withID: "a") != nil)
        #expect(try here.document(withID: "b") != nil)
        #expect(server.count("GET a") == 1)
        #expect(server.count("GET b") == 0)
    }

    @Test(arguments: [
        (412, #"{"error":"missing_content","reason":"The content is not here."}"#),
        (404, #"{"error":"not_found","reason":"Document is missing attachment"}"#),
        (400, #"{"error":"bad_request","reason":"no"}"#),
        (401, #"{"error":"unauthorized","reason":"Not this one."}"#),
        (403, #"{"error":"forbidden","reason":"no"}"#),
    ])
    func `a document whose attachments the source cannot give is left out and named`(
        status: Int, body: String
    ) async throws {
        let stub =
            #""_attachments":{"x":{"stub":true,"digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","length":5,"revpos":1}}"#
        var item = Self.document("a", stub)
        item.alone = { _ in (status, body) }
        let errors = try await pull(item)
        #expect(errors.map(\.documentID) == ["a"])
        #expect(errors.first?.status == status)
    }

    @Test func `a document at which the server fails is tried again, and then postponed`()
        async throws
    {
        var item = Self.document("a")
        item.entry = ""
        item.alone = { _ in (500, #"{"error":"unknown_error","reason":"badmatch"}"#) }
        server.add(item)
        for n in 0..<3 { server.add(Self.document("after \(n)")) }
        let failed = FailedFetches()
        for _ in 1..<FailedFetches.attempts {
            let error = await #expect(throws: ReplicationError.self) {
                try await server.pull(into: here, failedFetches: failed)
            }
            #expect(error?.documentID == "a" && error?.isTransient == true)
            #expect(try here.documentCount == 3)
        }
        let errors = try await server.pull(into: here, failedFetches: failed).compactMap(\.error)
        #expect(errors.map(\.documentID) == ["a"] && errors.first?.isTransient == false)
        // The checkpoint is past it, and a change brings it.
        let later = try await server.pull(into: here, failedFetches: failed)
        #expect(later.map(\.id) == ["a"] && later.first?.error?.isTransient == false)
        server.add(Self.document("a", rev: "2-b"))
        #expect(try await server.pull(into: here).compactMap(\.error).isEmpty)
        #expect(try here.document(withID: "a") != nil)
    }

    @Test func `failures of long ago count no more`() throws {
        let failed = FailedFetches()
        func fetched(_ id: String) throws -> FetchedRevision {
            FetchedRevision(
                id: try DocumentID(validating: id), revision: RevisionID("1-a"),
                .failed(ReplicationError(.server, "down", isTransient: true)))
        }
        func isRefused(_ id: String) throws -> Bool {
            guard case .failed(let error)? = failed.settled([try fetched(id)]).first?.outcome else {
                return false
            }
            return !error.isTransient
        }
        // Each failed once, and never came again.
        for n in 0..<30 { #expect(try !isRefused("gone \(n)")) }
        for _ in 0...FailedFetches.attempts { failed.beginRun() }
        for _ in 1..<FailedFetches.attempts {
            failed.beginRun()
            #expect(try !isRefused("a"))
        }
        failed.beginRun()
        #expect(try isRefused("a"))
    }

    @Test func `a server that fails at everything refuses nothing`() async throws {
        for n in 0..<40 {
            var item = Self.document("d\(n)")
            item.entry = ""
            item.alone = { _ in (500, #"{"error":"unknown_error","reason":"eio"}"#) }
            server.add(item)
        }
        let failed = FailedFetches()
        for _ in 0..<(2 * FailedFetches.attempts) {
            await #expect(throws: ReplicationError.self) {
                try await server.pull(into: here, failedFetches: failed)
            }
        }
        for n in 0..<40 { server.change("d\(n)") { ($0.entry, $0.alone) = (nil, nil) } }
        #expect(try await server.pull(into: here, failedFetches: failed).count == 40)
        #expect(try here.documentCount == 40)
    }

    @Test func `a database that went meanwhile is no reason to pass over its documents`()
        async throws
    {
        var item = Self.document("a")
        item.entry = ""
        item.alone = { _ in (404, #"{"error":"not_found","reason":"Database does not exist."}"#) }
        server.add(item)
        let error = await #expect(throws: ReplicationError.self) {
            try await server.pull(into: here)
        }
        #expect(error?.code == .notFound)
        // Neither is a page of something in between.
        for status in [403, 404] {
            server.change("a") { $0.alone = { _ in (status, "<html>not here</html>") } }
            let other = await #expect(throws: ReplicationError.self) {
                try await server.pull(into: here)
            }
            #expect(other?.documentID == "a" && other?.isTransient == true)
        }
    }
}
