// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanSystem
import DivanTestSupport
import Testing

@testable import DivanListener

/// `HEAD`, byte for byte: whatever stands behind a head would stand before the next answer.
@Suite struct HeadAnswerTests {
    @Test(arguments: [
        "/db/_all_docs", "/db/_design_docs", "/db/_changes", "/db/_changes?feed=continuous",
        "/db/a?open_revs=all", "/db/_design/app/_view/all", "/_db_updates?feed=continuous",
    ])
    func `HEAD of an answer whose length is not known is a head, and the end of its connection`(
        target: String
    ) throws {
        let served = try ServedSite()
        try served.database.put("a", ["n": 1], parent: nil)
        served.database.view(named: "app/all").setMap(version: "1") { _, emit in emit(1, nil) }
        let client = try served.client()
        client.request("HEAD", target)
        let header = try #require(client.read(until: "\r\n\r\n")).lowercased()
        #expect(header.hasPrefix("http/1.1 200"))
        #expect(header.contains("content-type: ") && header.contains("connection: close"))
        #expect(!header.contains("content-length") && !header.contains("transfer-encoding"))
        #expect(client.isClosed() && !client.isSilent)
        // GET has its chunks, and keeps the connection.
        guard !target.contains("continuous") else { return }
        let other = try served.client()
        for _ in 0..<2 {
            other.request("GET", target)
            let answer = try #require(other.answer())
            #expect(answer.status == 200 && !answer.body.isEmpty)
        }
    }

    @Test func `HEAD of an answer whose length is known keeps the connection for the next request`()
        throws
    {
        let text = String(repeating: "export const a = 1;\n", count: 5_000)
        let served = try ServedSite {
            $0.console = ListenerConsole { $0 == "index.html" ? Array(text.utf8) : nil }
        }
        try served.database.put("a", ["n": .string(text)], parent: nil)
        let put = try served.client()
        put.request(
            "PUT", "/db/b/long", ["Content-Type: text/plain"], Array(text.utf8))
        #expect(put.answer()?.status == 201)
        let client = try served.client()
        for target in ["/_utils/", "/db/b/long", "/db/a", "/db/missing", "/db/a/missing"] {
            client.request("HEAD", target)
            let header = try #require(client.read(until: "\r\n\r\n")).lowercased()
            client.request("GET", target)
            let answer = try #require(client.answer())
            #expect(header.contains("content-length: \(answer.body.count)\r\n"), "\(target)")
            #expect(header.hasPrefix("http/1.1 \(answer.status)"), "\(target)")
        }
    }

    @Test func `what would have made the body of an answer to HEAD is let go unasked`() throws {
        let handler = StreamingHandler()
        let server = try MicroHTTPServer(
            try ListeningSocket(host: "127.0.0.1", port: 0), handler, ListenerLimits(), tls: nil)
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        client.request("HEAD", "/")
        #expect(client.read(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 200") == true)
        #expect(client.isClosed())
        eventually { handler.producer.cancelled.value == 1 }
        #expect(handler.producer.asked.value == 0)
    }
}

/// A body without an end.
private final class EndlessBody: ResponseProducer {
    let (asked, cancelled) = (Counter(), Counter())
    let lane = ProductionLane.answers
    let beginsBeforeHead = false

    func next() throws -> Production {
        asked.add()
        return .bytes([0x20])
    }
    func whenReady(_ wake: @escaping @Sendable () -> Void) {}
    func conclude() {}
    func cancel() { cancelled.add() }
}

/// Answers each request with a body without an end.
private final class StreamingHandler: HTTPRequestHandler {
    let producer = EndlessBody()
    let receivedBodies = MemoryBudget(capacity: 1 << 20)

    func identity(of head: RequestHead, mayTakeLong: Bool) -> Identity? { .known(ListenerUser()) }
    func largestBody(of identity: Identity) -> Int { 1 << 10 }
    func answerAtOnce(_ request: ListenerRequest) -> ListenerResponse? { nil }
    func lane(_ request: ListenerRequest) -> Router.Lane { .reading("") }
    func respond(_ request: ListenerRequest) -> ListenerResponse {
        ListenerResponse(status: 200, body: .stream(producer, length: nil))
    }
    func fail(_ error: any Error, _ head: RequestHead) -> ListenerResponse {
        ListenerResponse(status: 500)
    }
    func refuse(_ failure: HTTPFailure, _ head: RequestHead) -> ListenerResponse {
        ListenerResponse(status: failure.status)
    }
}
