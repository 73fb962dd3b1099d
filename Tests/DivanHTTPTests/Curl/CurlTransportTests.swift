// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

@Suite struct CurlTransportTests {
    /// A server that answers with what it was asked.
    private func echo() throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            let fields = request.headers.sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
            let text = "\(request.method) \(request.target)\n\(fields)\n\n"
            connection.respond(status: 200, body: Array(text.utf8) + request.body)
        }
    }

    @Test func `a request goes out as it was written and the answer comes back`() async throws {
        let server = try echo()
        defer { server.stop() }
        var request = HTTPRequest(
            .put, try server.url("/db/a%2Fb/../%41?x=%31"), json: Array("{}".utf8))
        request.headers["X-Empty"] = ""
        request.headers["X-Evil"] = "a\r\nInjected: yes"
        let (status, text) = try await CurlTransport.direct().text(request)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(status == 200)
        #expect(lines.first == "PUT /db/a%2Fb/../%41?x=%31")
        #expect(lines.contains("content-length=2") && lines.contains("user-agent=Divan"))
        #expect(lines.contains("x-empty=") && lines.contains("x-evil=a  Injected: yes"))
        #expect(!text.contains("\ninjected") && !text.contains("expect="))
        #expect(lines.last == "{}")
    }

    @Test func `requests one after the other use one connection`() async throws {
        let server = try echo()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        for _ in 0..<20 { _ = try await transport.text(HTTPRequest(.get, try server.url())) }
        _ = try await transport.text(HTTPRequest(.post, try server.url(), json: [0x31]))
        #expect(server.acceptedConnections == 1)
    }

    @Test func `a kept connection that the server closed is replaced without an error`()
        async throws
    {
        let server = try LoopbackServer { _, connection in
            connection.respond(status: 200)
            connection.interrupt()
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        for round in 0..<10 {
            let body = HTTPRequest.Body.bytes([UInt8](repeating: 0x61, count: round * 10_000))
            let request = HTTPRequest(.post, try server.url(), body: body)
            #expect(try await transport.send(request).status == 200)
        }
    }

    @Test func `each method sends what it should and no answer's body is waited for in vain`()
        async throws
    {
        let methods = Record<String>()
        let server = try LoopbackServer { request, connection in
            methods.append("\(request.method) \(request.headers["content-length"] ?? "-")")
            switch request.method {
            case "HEAD": connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: 99\n\n")
            case "DELETE": connection.write(lines: "HTTP/1.1 204 No Content\n\n")
            default:
                connection.write(lines: "HTTP/1.1 100 Continue\n\n")
                connection.respond(status: 201)
            }
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        for method in [HTTPMethod.get, .head, .put, .post, .delete, .copy] {
            let response = try await transport.send(HTTPRequest(method, try server.url()))
            #expect(try await response.body.collect() == [])
            #expect(response.status == (method == .head ? 200 : method == .delete ? 204 : 201))
        }
        #expect(
            methods.all == ["GET -", "HEAD -", "PUT 0", "POST 0", "DELETE -", "COPY -"])
    }

    @Test(arguments: [nil, 1_000_000] as [Int?])
    func `a body that is made as it is sent arrives whole`(length: Int?) async throws {
        let server = try LoopbackServer { request, connection in
            let isRight = request.body.indices.allSatisfy { request.body[$0] == UInt8($0 / 10_000) }
            let declared = request.headers["content-length"] ?? "chunked"
            connection.respond(
                status: 200, body: Array("\(request.body.count) \(isRight) \(declared)".utf8))
        }
        defer { server.stop() }
        let body = HTTPRequest.Body.stream(length: length) {
            ClosureSource { index in
                if index % 7 == 0 { try await Task.sleep(for: .milliseconds(1)) }
                return index < 100 ? [UInt8](repeating: UInt8(index), count: 10_000) : nil
            }
        }
        let text = try await CurlTransport.direct().text(
            HTTPRequest(.put, try server.url(), body: body)
        ).text
        #expect(text == "1000000 true \(length.map { "\($0)" } ?? "chunked")")
    }

    @Test(arguments: [5, 15])
    func `a body of another length than announced is an error and not a wait`(length: Int)
        async throws
    {
        let server = try echo()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        let body = HTTPRequest.Body.stream(length: length) {
            BytesSource([[UInt8](repeating: 1, count: 10)])
        }
        let url = try server.url()
        let error = await failure {
            _ = try await transport.send(HTTPRequest(.put, url, body: body))
        }
        // A server that got what was announced may have answered already: then more than announced is no error.
        if length == 15 { #expect(error?.code == .invalidRequest) }
        if let error { #expect(error.code == .invalidRequest) }
    }

    @Test func `what a body throws is what sending throws`() async throws {
        struct Broken: Error {}
        let server = try echo()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        let body = HTTPRequest.Body.stream(length: 10) {
            ClosureSource { index in
                if index > 0 { throw Broken() }
                return [1]
            }
        }
        let url = try server.url()
        await #expect(throws: Broken.self) {
            try await transport.send(HTTPRequest(.put, url, body: body))
        }
    }

    @Test func `chunked answers and answers until the end of the connection are read whole`()
        async throws
    {
        let server = try LoopbackServer { request, connection in
            if request.target == "/chunked" {
                connection.write(lines: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")
                for piece in ["a", "bc", ""] { connection.write(chunk: Array(piece.utf8)) }
            } else {
                connection.write(lines: "HTTP/1.0 200 OK\n\nabc")
                connection.interrupt()
            }
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        for target in ["/chunked", "/closed"] {
            #expect(
                try await transport.text(HTTPRequest(.get, try server.url(target))).text == "abc")
        }
    }

    @Test func `an answer that breaks off is an error behind the bytes that came`() async throws {
        let server = try LoopbackServer { request, connection in
            switch request.target {
            case "/length": connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: 10\n\nabc")
            case "/chunked":
                connection.write(lines: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nabc")
            case "/head": connection.write(lines: "HTTP/1.1 200 OK\nContent-")
            case "/reset":
                connection.reset()
                return
            default: break
            }
            connection.interrupt()
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        for target in ["/length", "/chunked", "/head", "/reset", "/nothing"] {
            let url = try server.url(target)
            let error = await failure {
                _ = try await transport.send(HTTPRequest(.get, url)).body.collect()
            }
            #expect(error?.code == .connectionLost, "\(target)")
            #expect(error?.isTransient == true)
        }
    }

    @Test func `what is no HTTP, too long a head, and nobody there are told apart`() async throws {
        let server = try LoopbackServer { request, connection in
            if request.target == "/long" {
                connection.write(lines: "HTTP/1.1 200 OK\n")
                let line = "X: " + String(repeating: "x", count: 10_000) + "\n"
                for _ in 0..<100 where connection.write(lines: line) {}
            } else {
                connection.write(lines: "220 mail.example.com ESMTP\n")
            }
            connection.interrupt()
        }
        let transport = try CurlTransport.direct()
        for target in ["/long", "/mail"] {
            let url = try server.url(target)
            let error = await failure { _ = try await transport.send(HTTPRequest(.get, url)) }
            #expect(
                error?.code == .malformedAnswer || target == "/mail",
                "\(target) \(String(describing: error))")
            #expect(error != nil)
        }
        server.stop()
        let url = try server.url()
        #expect(
            await failure { _ = try await transport.send(HTTPRequest(.get, url)) }?.code
                == .cannotConnect)
        let nowhere = try HTTPURL("http://nowhere.invalid/")
        let error = await failure { _ = try await transport.send(HTTPRequest(.get, nowhere)) }
        #expect(error?.code == .cannotResolve && error?.isTransient == true)
    }

    @Test func `a name that is no header and a URL with NUL are refused before anything is sent`()
        async throws
    {
        let server = try echo()
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        var request = HTTPRequest(.get, try server.url())
        request.headers.add("X Y", "1")
        let sent = request
        #expect(await failure { _ = try await transport.send(sent) }?.code == .invalidRequest)
        #expect(server.acceptedConnections == 0)
    }

    @Test func `a proxy gets the whole URL`() async throws {
        let proxy = try echo()
        defer { proxy.stop() }
        let transport = try CurlTransport.direct { options in
            options.proxy = .server(
                "http://127.0.0.1:\(proxy.port)", user: HTTPURL.User(name: "p", password: "q"))
        }
        let (_, text) = try await transport.text(
            HTTPRequest(.get, try HTTPURL("http://db.invalid/x?y")))
        #expect(text.hasPrefix("GET http://db.invalid/x?y\n"))
        #expect(text.contains("proxy-authorization=Basic cDpx\n"))
    }

    @Test func `user and password of a URL become basic authentication and nothing else`()
        async throws
    {
        let server = try echo()
        defer { server.stop() }
        let url = try HTTPURL("http://ann:secret@127.0.0.1:\(server.port)/x")
        let response = try await CurlTransport.direct().send(HTTPRequest(.get, url))
        let text = String(decoding: try await response.body.collect(), as: UTF8.self)
        #expect(text.contains("authorization=Basic YW5uOnNlY3JldA==\n"))
        #expect(!"\(response.url)".contains("secret") && response.url.user == nil)
    }

    @Test func `cookies go back to the host that set them and at their paths only`() async throws {
        let server = try LoopbackServer { request, connection in
            connection.respond(
                status: 200,
                headers: request.target == "/set"
                    ? [
                        ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; Path=/db; HttpOnly"),
                        ("Set-Cookie", "c=3; Secure"), ("Set-Cookie", "d=4; Domain=example.com"),
                    ]
                    : request.target == "/remove" ? [("Set-Cookie", "a=; Max-Age=0; Path=/")] : [],
                body: Array((request.headers["cookie"] ?? "none").utf8))
        }
        defer { server.stop() }
        let jar = HTTPCookieJar()
        let transport = try CurlTransport.direct { $0.cookies = jar }
        var seen: [String] = []
        for target in ["/", "/set", "/", "/db", "/db/x", "/dbx", "/remove", "/"] {
            seen.append(try await transport.text(HTTPRequest(.get, try server.url(target))).text)
        }
        #expect(seen == ["none", "none", "a=1", "b=2; a=1", "b=2; a=1", "a=1", "a=1", "none"])
        let other = try HTTPURL("http://localhost:\(server.port)/db")
        #expect(try await transport.text(HTTPRequest(.get, other)).text == "none")
        #expect(!"\(jar.all)".contains("2"))
    }

    @Test
    func `an answer that nobody reads to its end needs the transport no longer than its body`()
        async throws
    {
        let server = try LoopbackServer { _, connection in
            connection.respond(status: 200, body: [UInt8](repeating: 1, count: 3_000_000))
        }
        defer { server.stop() }
        // Only the body holds the transport.
        let response = try await CurlTransport.direct().send(HTTPRequest(.get, try server.url()))
        #expect(try await response.body.collect().count == 3_000_000)
        let early = try await CurlTransport.direct().send(HTTPRequest(.get, try server.url()))
        #expect(early.status == 200)
    }

    @Test func `a body is made no further once the answer is whole`() async throws {
        let made = Counter()
        let server = try LoopbackServer(answersEarly: true) { _, connection in
            connection.respond(status: 413, headers: [("Connection", "close")])
            connection.interrupt()
        }
        defer { server.stop() }
        let body = HTTPRequest.Body.stream(length: nil) {
            ClosureSource { _ in
                made.add(1)
                return [UInt8](repeating: 1, count: 64 * 1_024)
            }
        }
        let transport = try CurlTransport.direct()
        do {
            let response = try await transport.send(HTTPRequest(.put, try server.url(), body: body))
            #expect(response.status == 413)
            await response.body.drain()
        } catch let error as HTTPError {
            // The system may tell of the closed connection before it hands over the answer.
            #expect(error.code == .connectionLost)
        }
        // The body has no end: it is not made any more once so many looks have seen the same.
        var (seen, times) = (-1, 0)
        await eventually {
            times = made.value == seen ? times + 1 : 0
            seen = made.value
            return times == 40
        }
    }

    @Test func `closing ends what is under way and releases the sockets`() async throws {
        let server = try LoopbackServer { _, connection in
            connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: 100\n\nabc")
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        let response = try await transport.send(HTTPRequest(.get, try server.url()))
        var bytes = response.body.makeAsyncIterator()
        #expect(try await bytes.next() == Array("abc".utf8))
        transport.close()
        do {
            _ = try await bytes.next()
            Issue.record("no error")
        } catch { #expect((error as? HTTPError)?.code == .closed) }
        await eventually { transport.isClosed && server.openConnections == 0 }
        let url = try server.url()
        #expect(
            await failure { _ = try await transport.send(HTTPRequest(.get, url)) }?.code == .closed)
    }
}
