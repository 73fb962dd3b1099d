// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

@Suite struct RedirectTests {
    private func server() throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            let parts = request.target.split(separator: "/")
            if parts.count >= 2, let status = Int(parts[0]) {
                let place = request.target.dropFirst(parts[0].count + 1)
                connection.respond(
                    status: status,
                    headers: [
                        (
                            "Location",
                            place.hasPrefix("/http:") ? String(place.dropFirst()) : String(place)
                        )
                    ])
            } else {
                let secrets = ["authorization", "cookie", "x-secret", "accept"]
                    .compactMap { request.headers[$0] }.joined(separator: ",")
                let text = "\(request.method) \(request.target) \(secrets) "
                connection.respond(status: 200, body: Array(text.utf8) + request.body)
            }
        }
    }

    private func request(_ target: String, on server: LoopbackServer) throws -> HTTPRequest {
        HTTPRequest(
            .post, try server.url(target),
            headers: ["Authorization": "A", "Cookie": "C", "X-Secret": "X", "Accept": "T"],
            body: .bytes(Array("body".utf8)))
    }

    @Test(arguments: [301, 302, 307, 308])
    func `a redirect on the same server keeps method, body and credentials`(status: Int)
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let text = try await CurlTransport.direct().text(
            request("/\(status)/\(status)/there", on: server))
        #expect(text.text == "POST /there A,C,X,T body")
    }

    @Test func `see other becomes a GET without a body`() async throws {
        let server = try server()
        defer { server.stop() }
        let text = try await CurlTransport.direct().text(request("/303/there", on: server)).text
        #expect(text == "GET /there A,C,X,T ")
    }

    @Test func `no credentials and no field of the app's go to another host`() async throws {
        let server = try server()
        defer { server.stop() }
        let there = "/307/http://localhost:\(server.port)/there"
        let text = try await CurlTransport.direct().text(request(there, on: server)).text
        #expect(text == "POST /there T body")
    }

    @Test func `circles and redirects to nowhere are errors, and following can be switched off`()
        async throws
    {
        let circle = try LoopbackServer { _, connection in
            connection.respond(status: 302, headers: [("Location", "/again")])
        }
        defer { circle.stop() }
        let transport = try CurlTransport.direct()
        let url = try circle.url()
        #expect(
            await failure { _ = try await transport.send(HTTPRequest(.get, url)) }?.code
                == .badRedirect)
        let still = try CurlTransport.direct { $0.followsRedirects = false }
        #expect(try await still.send(HTTPRequest(.get, url)).status == 302)
    }

    @Test func `nothing goes from https to http`() throws {
        let request = HTTPRequest(.get, try HTTPURL("https://a/x"))
        for place in ["http://a/x", "ftp://a/", "http://"] {
            let head = HTTPResponseHead(status: 302, headers: ["Location": place])
            #expect(throws: HTTPError.self) { try Redirect.next(request, head) }
        }
        let head = HTTPResponseHead(status: 302, headers: ["Location": "/y"])
        #expect(try Redirect.next(request, head)?.url.description == "https://a/y")
        #expect(try Redirect.next(request, HTTPResponseHead(status: 304))?.url == nil)
    }

    @Test func `a password in a body goes to no other server`() throws {
        var request = HTTPRequest(.post, try HTTPURL("https://a/_session"), body: .bytes([1]))
        request.hasSecretBody = true
        func next(_ status: Int, _ place: String) throws -> HTTPRequest? {
            try Redirect.next(
                request, HTTPResponseHead(status: status, headers: ["Location": place]))
        }
        for place in ["https://b/_session", "https://a:444/_session", "//b/"] {
            for status in [301, 302, 307, 308] {
                #expect(throws: HTTPError.self) { try next(status, place) }
            }
            let moved = try #require(try next(303, place))
            #expect(moved.method == .get && !moved.hasSecretBody)
        }
        #expect(try next(307, "/couch/_session")?.hasSecretBody == true)
    }
}
