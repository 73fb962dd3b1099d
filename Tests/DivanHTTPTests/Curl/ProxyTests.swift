// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Foundation
import Testing

/// Requests and WebSockets through proxies.
@Suite(.timeLimit(.minutes(10))) struct ProxyTests {
    private func target() throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            guard request.headers["upgrade"] == nil else {
                connection.acceptWebSocket(
                    WebSocketHandshake.accept(request.headers["sec-websocket-key"] ?? ""))
                connection.write(message: "through")
                return connection.waitForClose()
            }
            connection.respond(status: 200, body: Array("\(request.method) \(request.target)".utf8))
        }
    }

    @Test func `a SOCKS proxy is gone through, with its user and password`() async throws {
        let server = try target()
        defer { server.stop() }
        let proxy = try SocksProxy()
        defer { proxy.stop() }
        let transport = try CurlTransport.direct {
            $0.proxy = .server(
                "socks5://127.0.0.1:\(proxy.port)", user: HTTPURL.User(name: "p", password: "q"))
        }
        let (status, text) = try await transport.text(HTTPRequest(.get, server.url("/db?x=1")))
        #expect(status == 200)
        #expect(text == "GET /db?x=1")
        #expect(proxy.users.all == ["p:q"])
        #expect(proxy.ports.all == [server.port])
    }

    @Test func `a WebSocket goes through a SOCKS proxy, too`() async throws {
        let server = try target()
        defer { server.stop() }
        let proxy = try SocksProxy()
        defer { proxy.stop() }
        let transport = try CurlTransport.direct {
            $0.proxy = .server(
                "socks5://127.0.0.1:\(proxy.port)", user: HTTPURL.User(name: "p", password: "q"))
        }
        let answer = try await transport.openWebSocket(HTTPRequest(.get, server.url()), sending: [])
        guard case .open(let messages) = answer else {
            Issue.record("it was refused")
            return
        }
        var iterator = messages.makeAsyncIterator()
        #expect(try await iterator.next() == Array("through".utf8))
        #expect(proxy.ports.all == [server.port])
    }

    @Test func `a proxy that refuses, or is not there, is told apart from the server`() async throws
    {
        let server = try target()
        defer { server.stop() }
        let proxy = try SocksProxy()
        let port = proxy.port
        defer { proxy.stop() }
        let wrong = try CurlTransport.direct {
            $0.proxy = .server(
                "socks5://127.0.0.1:\(port)", user: HTTPURL.User(name: "p", password: "no"))
        }
        let refused = await failure { _ = try await wrong.send(HTTPRequest(.get, server.url())) }
        #expect(refused?.code == .proxyFailed)
        proxy.stop()
        let gone = await failure { _ = try await wrong.send(HTTPRequest(.get, server.url())) }
        #expect([.proxyFailed, .cannotConnect].contains(gone?.code))
        #expect(server.acceptedConnections == 0)
    }

    @Test func `a WebSocket makes an HTTP proxy open a tunnel`() async throws {
        let asked = Record<String>()
        let proxy = try LoopbackServer { request, connection in
            asked.append("\(request.method) \(request.target)")
            guard request.method == "CONNECT" else {
                // What comes next comes through the tunnel, whose other end is this as well.
                connection.acceptWebSocket(
                    WebSocketHandshake.accept(request.headers["sec-websocket-key"] ?? ""))
                connection.write(message: "through")
                return connection.waitForClose()
            }
            connection.write(lines: "HTTP/1.1 200 Connection established\n\n")
        }
        defer { proxy.stop() }
        let transport = try CurlTransport.direct {
            $0.proxy = .server("http://127.0.0.1:\(proxy.port)")
        }
        let answer = try await transport.openWebSocket(
            HTTPRequest(.get, HTTPURL("http://elsewhere.example:4984/db/_changes")), sending: [])
        guard case .open(let messages) = answer else {
            Issue.record("it was refused")
            return
        }
        var iterator = messages.makeAsyncIterator()
        #expect(try await iterator.next() == Array("through".utf8))
        #expect(asked.all == ["CONNECT elsewhere.example:4984", "GET /db/_changes"])
    }
}

/// A SOCKS5 proxy that wants the user `p` with the password `q` and connects to 127.0.0.1 whatever it is asked for.
private final class SocksProxy: Sendable {
    let users = Record<String>()
    let ports = Record<Int>()
    private let server: LoopbackServer

    init() throws {
        let (users, ports) = (users, ports)
        server = try LoopbackServer(isRaw: true) { _, connection in
            // Greeting: version, methods; then name and password; then the request.
            guard let head = connection.readBytes(2),
                connection.readBytes(Int(head[1]))?.contains(2) == true
            else { return connection.interrupt() }
            connection.write([5, 2])
            guard connection.readBytes(1) == [1], let name = connection.readText(),
                let password = connection.readText()
            else { return connection.interrupt() }
            users.append("\(name):\(password)")
            connection.write([1, password == "q" ? 0 : 1])
            guard password == "q", let request = connection.readBytes(4) else {
                return connection.interrupt()
            }
            let length = request[3] == 3 ? Int(connection.readBytes(1)?[0] ?? 0) : 4
            guard connection.readBytes(length) != nil, let port = connection.readBytes(2) else {
                return connection.interrupt()
            }
            let number = Int(port[0]) << 8 | Int(port[1])
            ports.append(number)
            connection.write([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
            connection.tunnel(toPort: number)
        }
    }

    var port: Int { server.port }

    func stop() { server.stop() }
}

extension LoopbackConnection {
    /// A text with its length before it.
    fileprivate func readText() -> String? {
        readBytes(1).flatMap { readBytes(Int($0[0])) }.map { String(decoding: $0, as: UTF8.self) }
    }
}
