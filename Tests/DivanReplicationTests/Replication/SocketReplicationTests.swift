// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// Replications to a URL, over real sockets, against a stand-in for CouchDB.
@Suite(.timeLimit(.minutes(10))) struct SocketReplicationTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    private func serve(
        port: Int = 0,
        _ fate: @escaping @Sendable (LoopbackRequest, LoopbackConnection) -> Bool = { _, _ in false
        }
    ) throws -> LoopbackServer {
        try stand.serve(port: port, fate)
    }

    private func url(_ server: LoopbackServer) -> String { "http://127.0.0.1:\(server.port)/db" }

    private func run(_ replication: Replication) async {
        replication.start()
        await replication.waitUntilEnded()
    }

    @Test func `a push and a pull to a URL bring documents and attachments over`() async throws {
        let server = try serve()
        defer { server.stop() }
        let big = [UInt8](repeating: 5, count: 400_000)
        for n in 0..<150 { try here.put("here\(n)", ["n": .integer(Int64(n))], parent: nil) }
        try here.put("a", [:], parent: nil, attachments: ["big": .bytes(big)])
        try there.put("b", [:], parent: nil, attachments: ["big": .bytes(big)])
        let push = here.makePushReplication(to: url(server))
        await run(push)
        #expect(push.lastError == nil)
        let pull = here.makePullReplication(from: url(server))
        await run(pull)
        #expect(pull.lastError == nil)
        #expect(try there.documentCount == 152)
        #expect(try here.documentCount == 152)
        #expect(try there.document(withID: "a")?.attachment(named: "big")?.content() == big)
        #expect(try here.document(withID: "b")?.attachment(named: "big")?.content() == big)
    }

    @Test func `header fields and credentials go with each request`() async throws {
        let seen = Mutex<[[String: String]]>([])
        let server = try serve { request, _ in
            seen.withLock { $0.append(request.headers) }
            return false
        }
        defer { server.stop() }
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(
            to: "http://ann:secret@127.0.0.1:\(server.port)/db"
        ) { $0.headers = ["X-App": "notes"] }
        await run(push)
        #expect(push.lastError == nil)
        let headers = seen.withLock { $0 }
        #expect(!headers.isEmpty)
        #expect(headers.allSatisfy { $0["x-app"] == "notes" })
        #expect(headers.allSatisfy { $0["authorization"] == "Basic YW5uOnNlY3JldA==" })
    }

    @Test func `a server that wants other credentials is an error that says so`() async throws {
        let server = try serve { _, connection in
            connection.respond(
                status: 401, headers: [("Content-Type", "application/json")],
                body: Array(
                    #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#.utf8))
        }
        defer { server.stop() }
        let push = here.makePushReplication(to: url(server))
        await run(push)
        #expect(push.lastError?.code == .unauthorized)
        #expect(push.lastError?.status == 401)
    }

    @Test func `a missing target is an error, or is made when asked`() async throws {
        let server = try serve()
        defer { server.stop() }
        stand.exists.withLock { $0 = false }
        let push = here.makePushReplication(to: url(server))
        await run(push)
        #expect(push.lastError?.code == .notFound)
        try await here.makePushReplication(to: url(server)) { $0.createTarget = true }.run()
        #expect(stand.exists.withLock { $0 })
    }

    @Test func `a continuous replication is offline while the server is gone, and then goes on`()
        async throws
    {
        let server = try serve()
        let port = server.port
        try here.put("early", [:], parent: nil)
        let push = here.makePushReplication(to: url(server)) {
            $0.isContinuous = true
            $0.retry.firstDelay = .milliseconds(20)
            $0.retry.longestDelay = .milliseconds(100)
        }
        push.start()
        try await eventually { try there.documentCount == 1 }
        server.stop()
        try here.put("late", [:], parent: nil)
        await eventually { push.activity == .offline }
        #expect(push.lastError?.isTransient == true)
        #expect(try await push.isDocumentPending("late"))
        let again = try serve(port: port)
        defer { again.stop() }
        try await eventually { try there.documentCount == 2 }
        await push.stopAndWait()
    }

    @Test func `a replication that is stopped has as long as it is told for its last checkpoint`()
        async throws
    {
        let isSaving = Mutex(false)
        let server = try serve { request, _ in
            guard request.method == "PUT", request.target.contains("/_local/") else { return false }
            isSaving.withLock { $0 = true }
            // A server that is slow; longer than a replication waits that is told nothing.
            usleep(3_000_000)
            return false
        }
        defer { server.stop() }
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(to: url(server)) {
            $0.isContinuous = true
            $0.timeToStop = .seconds(300)
        }
        push.start()
        await eventually { push.activity == .idle }
        #expect(!isSaving.withLock { $0 })
        await push.stopAndWait()
        #expect(isSaving.withLock { $0 })
        #expect(push.report.checkpointed != nil)
        let next = here.makePushReplication(to: url(server))
        #expect(try await next.run().examined == 0)
        // One that has no time is broken off, whatever the server does.
        try here.put("b", [:], parent: nil)
        let hasty = here.makePushReplication(to: url(server)) {
            $0.isContinuous = true
            $0.timeToStop = .zero
        }
        hasty.start()
        await eventually { hasty.activity == .idle }
        let saved = hasty.report.checkpointed
        await hasty.stopAndWait()
        #expect(hasty.report.checkpointed == saved)
        #expect(hasty.failure == nil)
    }

    @Test func `connections that die at random delay a replication and no more`() async throws {
        let random = Mutex(SeededRandom(seed: Soak.seed))
        let isWild = Mutex(true)
        let server = try serve { _, connection in
            guard isWild.withLock({ $0 }) else { return false }
            switch random.withLock({ $0.below(8) }) {
            case 0: connection.reset()
            case 1:
                connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: 500\n\n{\"half\":")
                connection.reset()
            case 2: connection.respond(status: 503, headers: [("Retry-After", "0")])
            case 3: connection.respond(status: 200, body: Array("<html></html>".utf8))
            default: return false
            }
            return true
        }
        defer { server.stop() }
        for n in 0..<60 {
            try here.put(
                "h\(n)", [:], parent: nil,
                attachments: n % 10 == 0 ? ["a": .bytes([UInt8](repeating: 1, count: 9_000))] : [:])
            try there.put("t\(n)", [:], parent: nil)
        }
        let (push, pull) = here.sync(with: url(server)) {
            $0.retry.firstDelay = .milliseconds(1)
            $0.retry.longestDelay = .milliseconds(5)
        }
        try await Task.sleep(for: .seconds(1))
        isWild.withLock { $0 = false }
        try await eventually { try here.documentCount == 120 && there.documentCount == 120 }
        await push.stopAndWait()
        await pull.stopAndWait()
    }

    @Test func `a change of the network ends the wait for the next try, and forgets failures`()
        async throws
    {
        let gone = try serve()
        let port = gone.port
        gone.stop()
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(to: "http://127.0.0.1:\(port)/db") {
            $0.isContinuous = true
            $0.retry.firstDelay = .seconds(3_600)
            $0.retry.longestDelay = .seconds(3_600)
        }
        push.start()
        await eventually { push.activity == .offline }
        // It may be told before it waits; so it is told until it hears.
        let server = try serve(port: port)
        defer { server.stop() }
        try await eventually {
            Replication.networkDidChange()
            return try there.documentCount == 1
        }
        await eventually { push.activity == .idle }
        await push.stopAndWait()
    }

    @Test func `cookies of the server and of the app go along, to that server alone`() async throws
    {
        let seen = Record<String?>()
        let server = try serve { request, connection in
            seen.append(request.headers["cookie"])
            guard request.target == "/db" else { return false }
            connection.respond(
                status: 200,
                headers: [
                    ("Content-Type", "application/json"), ("Set-Cookie", "SGSession=s1; Path=/"),
                ],
                body: Array(#"{"update_seq":0}"#.utf8))
            return true
        }
        defer { server.stop() }
        let jar = HTTPCookieJar()
        jar.set("App", "a1", for: try HTTPURL("http://127.0.0.1:\(server.port)/"))
        jar.set("Other", "o1", for: try HTTPURL("http://elsewhere.example/"))
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(to: url(server)) { $0.cookies = jar }
        await run(push)
        #expect(push.lastError == nil)
        #expect(seen.all.first == "App=a1")
        #expect(seen.all.count > 2)
        #expect(seen.all.dropFirst().filter { $0 != "App=a1; SGSession=s1" } == [])
        #expect(Set(jar.all.map(\.name)) == ["App", "Other", "SGSession"])
    }

    @Test func `a login by OpenID Connect serves every request, and its refresh token is kept`()
        async throws
    {
        let pages = Record<String>()
        let kept = Record<String>()
        let server = try serve { request, connection in
            if request.target.hasPrefix("/db/_oidc_challenge") {
                connection.respond(
                    status: 401,
                    headers: [("WWW-Authenticate", #"OIDC login="http://login.example/page""#)])
                return true
            }
            if request.target.hasPrefix("/db/_oidc_callback?code=42") {
                connection.respond(
                    status: 200, headers: [("Content-Type", "application/json")],
                    body: Array(#"{"id_token":"t1","refresh_token":"r1"}"#.utf8))
                return true
            }
            guard request.headers["authorization"] != "Bearer t1" else { return false }
            connection.respond(status: 401)
            return true
        }
        defer { server.stop() }
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(to: url(server)) {
            $0.authenticator = .openIDConnect { page in
                pages.append(page)
                return "http://127.0.0.1/db/_oidc_callback?code=42"
            } keepRefreshToken: {
                kept.append($0)
            }
        }
        await run(push)
        #expect(push.lastError == nil)
        #expect(try there.documentCount == 1)
        // Another run, and another replication with the same setting, need no page.
        await run(push)
        let pull = here.makePullReplication(from: url(server)) {
            $0.authenticator = push.authenticator
        }
        await run(pull)
        #expect(pull.lastError == nil)
        #expect(pages.all == ["http://login.example/page"])
        #expect(kept.all == ["r1"])
    }

    @Test(arguments: [false, true])
    func `a long answer is read in pieces, and the rest asked for again`(inParts: Bool)
        async throws
    {
        let server = try serve()
        defer { server.stop() }
        stand.manner.withLock { $0.answersBulkGetInParts = inParts }
        let text = String(repeating: "x", count: 500_000)
        for n in 0..<60 {
            try there.put(
                "d\(n)", ["n": .integer(Int64(n)), "t": .string(text)], parent: nil)
        }
        let pull = here.makePullReplication(from: url(server))
        await run(pull)
        #expect(pull.lastError == nil)
        #expect(try here.documentCount == 60)
        // 30 MB in pieces of four, each of which is followed by a question for what was left.
        #expect(stand.count("POST _bulk_get") >= 5)
        #expect(stand.count("GET d") == 0)
    }
}
