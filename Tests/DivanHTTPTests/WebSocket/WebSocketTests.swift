// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanHTTP

@Suite(.timeLimit(.minutes(10))) struct WebSocketTests {
    /// Serves one WebSocket after the other.
    private func serve(
        _ talk: @escaping @Sendable (LoopbackRequest, LoopbackConnection) -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            let key = request.headers["sec-websocket-key"] ?? ""
            connection.acceptWebSocket(WebSocketHandshake.accept(key))
            talk(request, connection)
        }
    }

    private func open(
        _ server: LoopbackServer, sending first: String = "",
        _ change: (inout CurlTransport.Options) -> Void = { _ in }
    ) async throws -> HTTPBodyStream {
        let transport = try CurlTransport.direct(change)
        let answer = try await transport.openWebSocket(
            HTTPRequest(.get, server.url("/db/_changes?feed=websocket"), headers: ["X-App": "a"]),
            sending: Array(first.utf8))
        guard case .open(let messages) = answer else {
            Issue.record("it was refused")
            return HTTPBodyStream([])
        }
        return messages
    }

    @Test func `the answer to a key is the one of the standard's example`() {
        #expect(
            WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func `the first message is masked, and messages of any length come back`() async throws {
        let heads = Record<LoopbackRequest>()
        let frames = Record<LoopbackFrame>()
        let texts = [1, 125, 126, 65_535, 65_536, 300_000].map {
            String(repeating: "x", count: $0)
        }
        let server = try serve { request, connection in
            heads.append(request)
            connection.readFrame().map(frames.append)
            for text in texts { connection.write(message: text) }
            connection.write(frame: 8, [0x03, 0xE8])
        }
        defer { server.stop() }
        let messages = try await open(server, sending: #"{"since":0}"#)
        var received: [String] = []
        for try await message in messages {
            received.append(String(decoding: message, as: UTF8.self))
        }
        #expect(received == texts)
        let head = try #require(heads.all.first)
        #expect(head.target == "/db/_changes?feed=websocket")
        #expect(head.headers["upgrade"] == "websocket" && head.headers["x-app"] == "a")
        #expect(head.headers["sec-websocket-version"] == "13")
        #expect(
            frames.all == [
                LoopbackFrame(opcode: 1, isMasked: true, payload: Array(#"{"since":0}"#.utf8))
            ])
    }

    @Test func `a ping is answered, also amid a message in parts`() async throws {
        let frames = Record<LoopbackFrame>()
        let server = try serve { _, connection in
            connection.write(frame: 1, Array("one ".utf8), isLast: false)
            connection.write(frame: 9, [7, 8])
            connection.readFrame().map(frames.append)
            connection.write(frame: 0, Array("two".utf8))
            connection.write(frame: 1, [])
            connection.write(message: "three")
            connection.waitForClose()
        }
        defer { server.stop() }
        var iterator = try await open(server).makeAsyncIterator()
        #expect(try await iterator.next() == Array("one two".utf8))
        #expect(try await iterator.next() == Array("three".utf8))
        #expect(frames.all == [LoopbackFrame(opcode: 10, isMasked: true, payload: [7, 8])])
    }

    @Test func `a server that does not speak it says so with its status`() async throws {
        let server = try LoopbackServer { _, connection in
            connection.respond(
                status: 404, headers: [("Server", "CouchDB/3")], body: Array("{}".utf8))
        }
        defer { server.stop() }
        let answer = try await CurlTransport.direct().openWebSocket(
            HTTPRequest(.get, server.url()), sending: [])
        guard case .refused(let head) = answer else {
            Issue.record("it was opened")
            return
        }
        #expect(head.status == 404)
        #expect(head.headers["Server"] == "CouchDB/3")
    }

    @Test(
        arguments: [
            [0x81, 0x83, 1, 2, 3, 4, 0, 0, 0],  // masked
            [0xC1, 0x01, 0x20],  // a reserved bit
            [0x83, 0x00],  // an unknown opcode
            [0x80, 0x01, 0x20],  // a continuation of nothing
            [0x09, 0x00],  // a ping in parts
            [0x81, 127, 1, 0, 0, 0, 0, 0, 0, 0],  // longer than memory
        ] as [[UInt8]])
    func `frames that break the rules end it with an error`(bytes: [UInt8]) async throws {
        let server = try serve { _, connection in
            connection.write(bytes)
            connection.waitForClose()
        }
        defer { server.stop() }
        let failure = await failure {
            for try await _ in try await open(server) { Issue.record("a message came") }
        }
        #expect([.malformedAnswer, .tooLarge].contains(failure?.code))
    }

    @Test func `a wrong answer to the key is no WebSocket`() async throws {
        let server = try LoopbackServer { _, connection in
            connection.acceptWebSocket("bm9uc2Vuc2U=")
            connection.waitForClose()
        }
        defer { server.stop() }
        let failure = await failure { _ = try await open(server) }
        #expect(failure?.code == .malformedAnswer)
    }

    @Test func `silence ends it, and pings keep it`() async throws {
        let server = try serve { _, connection in
            // Longer in all than the silence that is borne, and each time far shorter.
            for _ in 0..<9 {
                connection.write(frame: 9, [])
                _ = connection.readFrame()
                LoopbackPause.milliseconds(4_000)
            }
            connection.write(message: "late")
            connection.waitForClose()
        }
        defer { server.stop() }
        var iterator = try await open(server) { $0.timeouts.silence = .seconds(30) }
            .makeAsyncIterator()
        #expect(try await iterator.next() == Array("late".utf8))
        let failure = await failure { _ = try await iterator.next() }
        #expect(failure?.code == .timedOut)
    }

    @Test func `messages come before the error behind them, however late they are read`()
        async throws
    {
        let state = WebSocketState()
        state.received(Array("one".utf8))
        state.received(Array("two".utf8))
        state.finish(.failure(HTTPError.closed))
        #expect(try await state.next {} == Array("one".utf8))
        #expect(try await state.next {} == Array("two".utf8))
        #expect(await failure { _ = try await state.next {} }?.code == HTTPError.closed.code)
    }

    @Test func `a reader that cancels gets no more messages`() async throws {
        let state = WebSocketState()
        state.received(Array("one".utf8))
        state.finish(.failure(CancellationError()))
        await #expect(throws: CancellationError.self) { try await state.next {} }
    }

    @Test func `a connection that breaks is an error, not the end`() async throws {
        let server = try serve { _, connection in
            connection.write(frame: 1, Array("half".utf8), isLast: false)
            connection.interrupt()
        }
        defer { server.stop() }
        let failure = await failure {
            for try await _ in try await open(server) { Issue.record("a message came") }
        }
        #expect(failure?.code == .connectionLost)
        #expect(failure?.isTransient == true)
    }

    @Test func `dropping the messages closes the connection, whatever the server does`()
        async throws
    {
        let server = try serve { _, connection in
            while connection.write(message: String(repeating: "y", count: 50_000)) {}
        }
        defer { server.stop() }
        var iterator: HTTPBodyStream.Iterator? = try await open(server).makeAsyncIterator()
        #expect(try await iterator?.next()?.count == 50_000)
        // The server goes on until nothing more is taken; then the last reference goes.
        await eventually { server.openConnections == 1 }
        iterator = nil
        await eventually { server.openConnections == 0 }
    }
}
