// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Foundation
import Testing

@Suite struct CurlTimeoutTests {
    /// Answers like a server that goes silent at some point, and keeps the connection.
    private func silent() throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            switch request.target {
            case "/head": break
            case "/fields":
                // One field after the other, and never the last.
                connection.write(lines: "HTTP/1.1 200 OK\n")
                while connection.write(lines: "A: b\n") { usleep(20_000) }
            case "/half": connection.write(lines: "HTTP/1.1 200 OK\nContent-")
            default: connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: 100\n\nabc")
            }
            connection.waitForClose()
        }
    }

    @Test(arguments: ["/head", "/half", "/fields", "/body"])
    func `a server that goes silent is given up in time and the connection closed`(target: String)
        async throws
    {
        let server = try silent()
        defer { server.stop() }
        let transport = try CurlTransport.direct { options in
            options.timeouts.head = .milliseconds(300)
            options.timeouts.silence = .milliseconds(300)
        }
        let url = try server.url(target)
        let error = await failure {
            _ = try await transport.send(HTTPRequest(.get, url)).body.collect()
        }
        #expect(error?.code == .timedOut && error?.isTransient == true)
        await eventually { server.openConnections == 0 }
    }

    @Test func `a server that takes the connection and never speaks TLS is given up`() async throws
    {
        let server = try LoopbackServer(isDeaf: true)
        defer { server.stop() }
        let transport = try CurlTransport.direct { $0.timeouts.connect = .milliseconds(300) }
        let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
        let error = await failure { _ = try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.code == .timedOut && error?.isTransient == true)
    }

    @Test func `timeouts of a request go before those of the transport`() async throws {
        let server = try silent()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        var request = HTTPRequest(.get, try server.url("/head"))
        request.timeouts = HTTPTimeouts()
        request.timeouts?.head = .milliseconds(200)
        let sent = request
        #expect(await failure { _ = try await transport.send(sent) }?.code == .timedOut)
        #expect(HTTPTimeouts.feed(heartbeat: .seconds(30)).silence == .seconds(65))
    }

    @Test(arguments: ["/head", "/body"])
    func `cancelling the task ends the exchange at once`(target: String) async throws {
        let server = try silent()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        let url = try server.url(target)
        let task = Task { _ = try await transport.send(HTTPRequest(.get, url)).body.collect() }
        await eventually { server.openConnections == 1 }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await eventually { server.openConnections == 0 }
    }

    @Test func `a body that nobody reads to its end gives its connection back`() async throws {
        let server = try silent()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        do {
            let response = try await transport.send(HTTPRequest(.get, try server.url("/body")))
            #expect(response.status == 200)
        }
        await eventually { server.openConnections == 0 }
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        let server = try silent()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        let url = try server.url()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await transport.send(HTTPRequest(.get, url))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.acceptedConnections == 0)
    }
}
