// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

@Suite struct ListenerTests {
    @Test func `a connection serves one request after the other`() throws {
        let served = try ServedSite()
        let client = try served.client()
        for _ in 0..<3 {
            client.request("GET", "/")
            let answer = try #require(client.answer())
            #expect(answer.status == 200)
            #expect(
                String(decoding: answer.body, as: UTF8.self).contains("\"couchdb\":\"Welcome\""))
            #expect(answer.header.contains("Server: \(Site.serverName)\r\n"))
        }
        #expect(served.listener.connectionCount == 1)
    }

    @Test func `an encoded slash reaches the router as it was written`() throws {
        let served = try ServedSite()
        let client = try served.client()
        client.request("PUT", "/db/a%2Fb", [], Array("{\"n\":1}".utf8))
        #expect(client.answer()?.status == 201)
        #expect(try served.database.contains("a/b"))
    }

    @Test func `HEAD has the header of GET and no body`() throws {
        let served = try ServedSite()
        try served.database.save(MutableDocument(["n": 1], id: "d"))
        let client = try served.client()
        client.request("HEAD", "/db/d")
        let header = try #require(client.read(until: "\r\n\r\n"))
        #expect(header.hasPrefix("HTTP/1.1 200"))
        #expect(header.lowercased().contains("etag: "))
        client.request("GET", "/db/d")
        #expect(client.answer()?.status == 200)
    }

    @Test func `HEAD of a database says whether it is there, without a body`() throws {
        let served = try ServedSite()
        let client = try served.client()
        // The first step of CouchDB's replicator. Anything behind the head would spoil the next answer.
        for (path, status) in [("/db", 200), ("/missing", 404), ("/db", 200)] {
            client.request("HEAD", path)
            let header = try #require(client.read(until: "\r\n\r\n"))
            #expect(header.hasPrefix("HTTP/1.1 \(status)"))
            #expect(header.lowercased().contains("content-type: application/json"))
        }
        client.request("GET", "/db")
        #expect(client.answer()?.status == 200)
    }

    @Test func `a commit of the app wakes a waiting longpoll`() throws {
        let served = try ServedSite()
        let clients = try (0..<3).map { _ in try served.client() }
        for client in clients {
            client.request("GET", "/db/_changes?feed=longpoll&since=now")
            #expect(client.read(until: "{\"results\":[") != nil)
        }
        try served.database.save(MutableDocument([:], id: "news"))
        for client in clients {
            #expect(client.read(until: "\"last_seq\":\"1-") != nil)
        }
    }

    @Test func `a longpoll that nothing happens to ends at its timeout`() throws {
        let served = try ServedSite()
        let client = try served.client()
        client.request("GET", "/db/_changes?feed=longpoll&since=now&timeout=50")
        let answer = try #require(client.answer())
        #expect(
            String(decoding: answer.body, as: UTF8.self)
                .hasPrefix("{\"results\":[\n\n],\n\"last_seq\":\"0-"))
    }

    @Test func `a continuous feed beats while nothing happens`() throws {
        let served = try ServedSite()
        let client = try served.client()
        client.request("GET", "/db/_changes?feed=continuous&heartbeat=1000")
        #expect(client.read(until: "\r\n\r\n") != nil)
        // Two chunks of one line feed.
        #expect(client.read(until: "1\r\n\n\r\n") != nil)
        #expect(client.read(until: "1\r\n\n\r\n") != nil)
    }

    @Test func `a big attachment goes in and out in pieces`() throws {
        let served = try ServedSite()
        var content = [UInt8](repeating: 0, count: 9 << 20)
        for index in content.indices {
            content[index] = UInt8(truncatingIfNeeded: index &* 31 >> 3)
        }
        let client = try served.client()
        client.request("PUT", "/db/d/big", ["Content-Type: application/x-big"], content)
        #expect(client.answer()?.status == 201)
        client.request("GET", "/db/d/big")
        let answer = try #require(client.answer())
        #expect(answer.body == content)
        #expect(answer.header.contains("Content-Type: application/x-big"))
    }

    @Test func `a chunked body is taken like any other`() throws {
        let served = try ServedSite()
        let client = try served.client()
        client.write(
            "PUT /db/d HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n")
        #expect(client.answer()?.status == 201)
        #expect(try served.database.document(withID: "d")?["a"].int == 1)
    }

    @Test func `stopping ends connections, waiting feeds among them`() throws {
        let served = try ServedSite()
        let waiting = try served.client()
        waiting.request("GET", "/db/_changes?feed=continuous&since=now")
        #expect(waiting.read(until: "\r\n\r\n") != nil)
        let port = served.port
        served.listener.stop()
        #expect(!served.listener.isRunning)
        #expect(waiting.isClosed())
        // Another test's server may have got the port meanwhile.
        eventually { (try? RawClient(port: port)) == nil }
        try served.listener.start()
        let again = try served.client()
        again.request("GET", "/_up")
        #expect(again.answer()?.status == 200)
    }

    @Test func `a feed whose client is gone is noticed`() throws {
        let served = try ServedSite()
        var client: RawClient? = try served.client()
        client?.request("GET", "/db/_changes?feed=continuous&since=now&heartbeat=1000000")
        #expect(client?.read(until: "\r\n\r\n") != nil)
        #expect(served.listener.connectionCount == 1)
        client = nil
        eventually { served.listener.connectionCount == 0 }
        #expect(served.listener.connectionCount == 0)
    }

    @Test(arguments: [0, 3_000, 6_500, 7_500])
    func `a change with the longest ID is answered whatever else its head holds`(rest: Int) throws {
        let served = try ServedSite()
        let client = try served.client()
        let id = String(repeating: "k", count: 4_096)
        let fields = ["X-Long: " + String(repeating: "x", count: rest)]
        client.request("PUT", "/db/\(id)", fields, Array("{\"a\":1}".utf8))
        let answer = client.answer()
        #expect(answer?.status == 201)
        // Where both heads have room for it, the answer names the document.
        #expect(answer?.header.contains("Location: ") == (rest <= 3_000))
        client.request("GET", "/db/\(id)", fields)
        #expect(client.answer()?.status == 200)
    }

    @Test func `too long a head, body or path is refused and others are served`() throws {
        let served = try ServedSite { options in
            options.limits.requestBody = 1_000
            options.limits.jsonBody = 500
        }
        let long = try served.client()
        long.request("GET", "/", ["X-Long: " + String(repeating: "x", count: 40_000)])
        #expect([431, 413, 414].contains(long.answer()?.status))
        let declared = try served.client()
        declared.write("PUT /db/d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n")
        #expect(declared.answer()?.status == 413)
        let json = try served.client()
        json.request(
            "PUT", "/db/d", [], Array("{\"a\":\"\(String(repeating: "x", count: 600))\"}".utf8))
        #expect(json.answer()?.status == 413)
        let client = try served.client()
        client.request("GET", "/_up")
        #expect(client.answer()?.status == 200)
    }

    @Test func `clients that send nothing, or half a head, are closed, and others are served`()
        throws
    {
        let served = try ServedSite { $0.limits.idle = .seconds(1) }
        let silent = try (0..<20).map { _ in try served.client() }
        let slow = try (0..<20).map { _ in try served.client() }
        for client in slow { client.write("GET /db HTTP/1.1\r\nHost: loc") }
        let client = try served.client()
        client.request("GET", "/_up")
        #expect(client.answer()?.status == 200)
        eventually { served.listener.connectionCount == 0 }
        for client in silent + slow { #expect(client.isClosed()) }
        let late = try served.client()
        late.request("GET", "/_up")
        #expect(late.answer()?.status == 200)
    }

    @Test func `a body that comes too slowly is broken off, and a slow one that does not is taken`()
        throws
    {
        let served = try ServedSite { options in
            options.limits.bodyGrace = .seconds(1)
            options.limits.slowestBody = 1
        }
        let stopped = try served.client()
        stopped.write("PUT /db/stopped HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        // A hundred bytes are worth a hundred seconds, so this one has time.
        let slow = try served.client()
        let body = "{\"a\":\"\(String(repeating: "x", count: 92))\"}"
        slow.write(
            "PUT /db/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        )
        for byte in body.utf8.dropLast() { slow.write([byte]) }
        #expect(stopped.isClosed())
        slow.write("}")
        #expect(slow.answer()?.status == 201)
        let client = try served.client()
        client.request("GET", "/db/stopped")
        #expect(client.answer()?.status == 404)
    }

    @Test func `a client that stops reading is let go of, and others are served`() throws {
        let served = try ServedSite { $0.limits.idle = .seconds(1) }
        let database = try served.site.manager.database(named: "db")
        let big = AttachmentContent.bytes([UInt8](repeating: 1, count: 16 << 20))
        try database.put("big", [:], parent: nil, attachments: ["a": big])
        let stalled = try (0..<16).map { _ in try served.client() }
        for client in stalled { client.request("GET", "/db/big/a") }
        let client = try served.client()
        client.request("GET", "/_up")
        #expect(client.answer()?.status == 200)
        eventually { served.listener.connectionCount == 0 }
        #expect(served.listener.connectionCount == 0)
    }

    @Test func `a client that takes an answer too slowly is let go of, however alive it seems`()
        throws
    {
        let served = try ServedSite { options in
            options.limits.bodyGrace = .seconds(1)
            options.limits.slowestAnswer = 1 << 30
        }
        let database = try served.site.manager.database(named: "db")
        let text = String(repeating: "x", count: 16 << 20)
        try database.put("big", ["text": .string(text)], parent: nil)
        let big = AttachmentContent.bytes([UInt8](repeating: 1, count: 16 << 20))
        try database.put("attached", [:], parent: nil, attachments: ["a": big])
        let whole = try served.client()
        whole.request("GET", "/db/big")
        #expect(whole.answer()?.body.count ?? 0 > text.utf8.count)
        let slow = try (0..<4).map { _ in try served.client() }
        for (index, client) in slow.enumerated() {
            client.request("GET", index % 2 == 0 ? "/db/big" : "/db/attached/a")
        }
        eventually { served.listener.connectionCount <= 1 }
        #expect(served.listener.connectionCount <= 1)
        // A client of its own: on a busy machine the first one may have been idle for too long by now.
        let other = try served.client()
        other.request("GET", "/_up")
        #expect(other.answer()?.status == 200)
    }

    @Test func `a listener for everybody does not start where others reach it`() throws {
        let site = try TestSite()
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.host = "0.0.0.0"
        let listener = Listener(site.manager, options)
        #expect(throws: DatabaseError.self) { try listener.start() }
        #expect(!listener.isRunning)
    }

    @Test func `a port that is taken is an error`() throws {
        let served = try ServedSite()
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.port = served.port
        let second = Listener(served.site.manager, options)
        #expect(throws: DatabaseError.self) { try second.start() }
    }

    @Test func `fifty listeners have fifty ports`() throws {
        let site = try TestSite()
        let listeners = (0..<50).map { _ in
            Listener(site.manager, site.router.site.options)
        }
        for listener in listeners { try listener.start() }
        #expect(Set(listeners.map(\.port)).count == 50)
        #expect(
            listeners[0].urls.first?.absoluteString == "http://127.0.0.1:\(listeners[0].port ?? 0)/"
        )
        for listener in listeners { listener.stop() }
    }

    @Test func `many clients write and read while the app writes`() async throws {
        let served = try ServedSite()
        let port = served.port
        let database = served.database
        let writing = Task.detached {
            for number in 0..<50 {
                try database.save(
                    MutableDocument(["n": .integer(Int64(number))], id: "app-\(number)"))
            }
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { try await Self.writeAndRead(port, number) }
            }
            for try await done in group { #expect(done == 40) }
        }
        try await writing.value
        #expect(try served.database.documentCount == 8 * 20 + 50)
    }

    /// Puts and gets twenty documents, on a thread that may block; how many requests succeeded.
    private static func writeAndRead(_ port: UInt16, _ number: Int) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result {
                    let client = try RawClient(port: port)
                    var done = 0
                    for item in 0..<20 {
                        let path = "/db/c\(number)-\(item)"
                        client.request("PUT", path, [], Array("{\"i\":\(item)}".utf8))
                        if client.answer()?.status == 201 { done += 1 }
                        client.request("GET", path)
                        if client.answer()?.status == 200 { done += 1 }
                    }
                    return done
                }
                continuation.resume(with: result)
            }
        }
    }

    @Test func `an identity of its own is kept and stays the same`() throws {
        let site = try TestSite()
        let file = site.folder.appending(path: "identity.pem")
        let first = try ListenerTLS.selfSigned(keptAt: file)
        let second = try ListenerTLS.selfSigned(keptAt: file)
        #expect(first.fingerprint == second.fingerprint)
        #expect(first.fingerprint.count == 64)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let listener = Listener(site.manager, Self.options(first))
        try listener.start()
        #expect(listener.urls.first?.scheme == "https")
        #expect(listener.fingerprint == first.fingerprint)
        listener.stop()
        #expect(throws: DatabaseError.self) { try ListenerTLS(key: "x", certificate: "y") }
    }

    private static func options(_ tls: ListenerTLS) -> ListenerOptions {
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.tls = tls
        return options
    }
}
