// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Continuous pulls by each kind of feed: from a listener, and from a server with a WebSocket.
@Suite(.timeLimit(.minutes(10))) struct FeedReplicationTests {
    /// A listener, and before it a server that notes requests for feeds and may take them itself.
    private final class Served: Sendable {
        typealias Fate = @Sendable (LoopbackRequest, LoopbackConnection) -> Bool

        let site: TestSite
        let there: Database
        let here: Database
        let feeds = Mutex<[String]>([])
        private let fate: Fate
        private let server = Mutex<LoopbackServer?>(nil)

        init(_ fate: @escaping Fate = { _, _ in false }) throws {
            site = try TestSite()
            there = try site.manager.database(named: "db")
            here = try Database.inMemory(named: "here")
            self.fate = fate
            let made = try LoopbackServer { [weak self] in self?.serve($0, $1) }
            server.withLock { $0 = made }
        }

        func stop() { server.withLock { $0 }?.stop() }

        var url: String { "http://127.0.0.1:\(server.withLock { $0 }?.port ?? 0)/db" }

        private func serve(_ request: LoopbackRequest, _ connection: LoopbackConnection) {
            if let range = request.target.range(of: "feed=") {
                let kind = String(request.target[range.upperBound...].prefix { $0 != "&" })
                feeds.withLock { $0.append(kind) }
            }
            if fate(request, connection) { return }
            var head = RequestHead(method: request.method, target: request.target)
            for (name, value) in request.headers { head.headers[name] = value }
            head.headers["Host"] = "localhost"
            let answer = site.router.respond(ListenerRequest(head, body: .bytes(request.body)))
            var fields = "HTTP/1.1 \(answer.status) Status\nTransfer-Encoding: chunked\n"
            for field in answer.headers { fields += "\(field.name): \(field.value)\n" }
            guard connection.write(lines: fields + "\n") else { return }
            switch answer.body {
            case .bytes(let bytes): if !bytes.isEmpty { connection.write(chunk: bytes) }
            case .stream(let producer, _): Self.send(producer, to: connection)
            }
            connection.write(chunk: [])
        }

        private static func send(
            _ producer: any ResponseProducer, to connection: LoopbackConnection
        ) {
            let woken = DispatchSemaphore(value: 0)
            producer.whenReady { woken.signal() }
            defer { producer.cancel() }
            while let production = try? producer.next() {
                switch production {
                case .bytes(let bytes): guard connection.write(chunk: bytes) else { return }
                case .wait: _ = woken.wait(timeout: .now() + .milliseconds(200))
                case .end: return
                }
            }
        }

        func pull(
            _ mode: ChangesFeedMode, _ more: (inout ReplicationConfiguration) -> Void = { _ in }
        ) -> Replication {
            here.makePullReplication(from: url) {
                $0.isContinuous = true
                $0.changesFeed = mode
                $0.proxy = .none
                $0.retry.firstDelay = .milliseconds(20)
                more(&$0)
            }
        }

        func save(_ ids: String...) throws {
            for id in ids { try there.save(MutableDocument(["n": 1], id: DocumentID(id))) }
        }

        func hasFeed(_ kind: String) -> Bool { feeds.withLock { $0.contains(kind) } }
    }

    @Test(arguments: [
        (ChangesFeedMode.longpoll, "longpoll"), (.continuous, "continuous"),
        (.eventSource, "eventsource"), (.automatic, "longpoll"),
    ])
    func `a continuous pull follows by the kind of feed that is set`(
        mode: ChangesFeedMode, kind: String
    ) async throws {
        let served = try Served()
        defer { served.stop() }
        try served.save("a", "b")
        let pull = served.pull(mode)
        pull.start()
        try await eventually { try served.here.documentCount == 2 && served.hasFeed(kind) }
        for number in 0..<20 {
            try served.save("c\(number)")
            try await eventually { try served.here.contains("c\(number)") }
        }
        try served.there.delete("a")
        try await eventually { try !served.here.contains("a") }
        let opened = served.feeds.withLock { $0.filter { $0 == kind }.count }
        if kind != "longpoll" { #expect(opened == 1) }
        #expect(pull.lastError == nil)
        await pull.stopAndWait()
    }

    @Test func `a feed that breaks is opened again where it was`() async throws {
        let breaks = Mutex(3)
        let served = try Served { request, connection in
            guard request.target.contains("feed=continuous"),
                breaks.withLock({
                    $0 -= 1; return $0 >= 0
                })
            else { return false }
            connection.write(lines: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")
            connection.write(chunk: Array("{\"seq\":99,\"id\":\"ha".utf8))
            connection.interrupt()
            return true
        }
        defer { served.stop() }
        try served.save("a")
        let pull = served.pull(.continuous)
        pull.start()
        try await eventually { try served.here.contains("a") && breaks.withLock { $0 < 0 } }
        try served.save("b")
        try await eventually { try served.here.contains("b") }
        await pull.stopAndWait()
    }

    @Test(arguments: [
        (ChangesFeedMode.continuous, "continuous"), (.eventSource, "eventsource"),
        (.webSocket, "websocket"),
    ])
    func `a server without that kind of feed is polled`(mode: ChangesFeedMode, kind: String)
        async throws
    {
        let served = try Served { request, connection in
            guard request.target.contains("feed=\(kind)") else { return false }
            // As a server does that takes an unknown feed for the normal one, or knows no upgrade.
            connection.respond(
                status: 200, headers: [("Content-Type", "application/json")],
                body: Array("{\"results\":[\n\n],\n\"last_seq\":1}\n".utf8))
            return true
        }
        defer { served.stop() }
        try served.save("a")
        let pull = served.pull(mode)
        pull.start()
        await eventually { served.hasFeed("longpoll") }
        try served.save("b")
        try await eventually { try served.here.documentCount == 2 }
        #expect(served.feeds.withLock { $0.filter { $0 == kind }.count } == 1)
        #expect(pull.lastError == nil)
        await pull.stopAndWait()
    }

    @Test(arguments: [ChangesFeedMode.automatic, .webSocket])
    func `a Sync Gateway is followed by its WebSocket`(mode: ChangesFeedMode) async throws {
        let asked = Mutex<[JSONValue]>([])
        let later = DispatchSemaphore(value: 0)
        let served = try Served { request, connection in
            if request.target.contains("feed=normal") {
                connection.respond(
                    status: 200, headers: [("Server", "Couchbase Sync Gateway/3.1 EE")],
                    body: Array(#"{"results":[],"last_seq":"1"}"#.utf8))
                return true
            }
            guard request.target.contains("feed=websocket") else { return false }
            connection.acceptWebSocket(
                WebSocketHandshake.accept(request.headers["sec-websocket-key"] ?? ""))
            if let frame = connection.readFrame(),
                let options = try? JSONParser.parse(frame.payload)
            {
                asked.withLock { $0.append(options) }
            }
            connection.write(message: "[]")
            later.wait()
            connection.write(
                message: #"[{"seq":"2:3","id":"_user/ann","changes":[]}]"#)
            connection.write(
                message: #"[{"seq":"2","id":"b","changes":[{"rev":"NEW"}]}]"#
                    .replacingOccurrences(of: "NEW", with: request.headers["x-rev"] ?? ""))
            connection.waitForClose()
            return true
        }
        defer { served.stop() }
        let saved = try served.there.put("b", ["n": 1], parent: nil)
        let pull = served.pull(mode) {
            $0.headers = ["X-Rev": saved.revisionID.description]
            $0.channels = ["news", "sports"]
            $0.customProperties = ["heartbeat": 20_000]
        }
        pull.start()
        await eventually { asked.withLock { !$0.isEmpty } }
        #expect(
            asked.withLock { $0 } == [
                [
                    "since": "1", "style": "all_docs", "heartbeat": 20_000,
                    "filter": "sync_gateway/bychannel", "channels": "news,sports",
                ]
            ])
        #expect(try served.here.documentCount == 0)
        later.signal()
        try await eventually { try served.here.contains("b") }
        #expect(pull.lastError == nil)
        await pull.stopAndWait()
    }

    @Test(arguments: [false, true])
    func `requests go as gzip when that is set, unless the server does not take it`(isRefused: Bool)
        async throws
    {
        let coded = Mutex<[String]>([])
        let served = try Served { request, connection in
            guard request.headers["content-encoding"] == "gzip" else { return false }
            coded.withLock { $0.append(String(request.target.prefix { $0 != "?" })) }
            guard isRefused else { return false }
            connection.respond(status: 415, body: Array(#"{"error":"bad_content_type"}"#.utf8))
            return true
        }
        defer { served.stop() }
        for number in 0..<300 {
            try served.here.save(
                MutableDocument(
                    ["text": .string(String(repeating: "a", count: 50))], id: "d\(number)"))
        }
        let push = served.here.makePushReplication(to: served.url) {
            $0.proxy = .none
            $0.compressesRequests = true
        }
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError == nil)
        #expect(try served.there.documentCount == 300)
        let targets = coded.withLock { $0 }
        if isRefused {
            #expect(targets == ["/db/_revs_diff"])
        } else {
            #expect(Set(targets) == ["/db/_revs_diff", "/db/_bulk_docs"])
        }
    }
}
