// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanSystem
import DivanTestSupport
import Testing

@testable import DivanListener

/// `stop(finishing:)`: what clients have begun is answered.
@Suite struct FinishingTests {
    private let served: ServedSite

    init() throws {
        served = try ServedSite { options in
            // Hundreds of tests take turns, and a client may wait for long between two pieces.
            options.limits.bodyGrace = .seconds(600)
            options.limits.firstRequest = .seconds(600)
            options.limits.idle = .seconds(600)
        }
    }

    /// Stops the listener on another thread; the group is left when it has stopped.
    private func stop(within limit: Duration) -> DispatchGroup {
        let group = DispatchGroup()
        // A queue of its own, since the tests themselves wait in the one that all share.
        DispatchQueue(label: "divan.test.stop").async(group: group) {
            [listener = served.listener] in
            listener.stop(finishing: limit)
        }
        return group
    }

    @Test func `a request whose body is still coming is answered before the listener stops`()
        async throws
    {
        let client = try served.client()
        client.write("PUT /db/late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n{\"a\"")
        // A second request says that the first one's head was seen.
        #expect(try served.status("GET", "/db", []) == 200)
        let port = served.port
        // From now on an answer says that it is the last one of its connection.
        served.listener.stopAccepting()
        let stopped = stop(within: .seconds(600))
        await eventually { !served.listener.isRunning }
        client.write(":1}")
        let answer = try #require(client.answer())
        #expect(answer.status == 201)
        #expect(answer.header.lowercased().contains("connection: close"))
        await eventually { stopped.wait(timeout: .now()) == .success }
        #expect(try served.database.contains("late"))
        // Another test's server may have got the port meanwhile.
        await eventually { (try? RawClient(port: port)) == nil }
    }

    @Test(arguments: ["continuous", "longpoll", "eventsource"])
    func `a feed that waits comes to its proper end`(_ mode: String) async throws {
        try served.database.save(MutableDocument([:], id: "a"))
        let client = try served.client()
        client.request("GET", "/db/_changes?feed=\(mode)&since=now&heartbeat=100000")
        #expect(client.read(until: "\r\n\r\n") != nil)
        let updates = try served.client()
        updates.request("GET", "/_db_updates?feed=\(mode)&since=now&heartbeat=100000")
        #expect(updates.read(until: "\r\n\r\n") != nil)
        let stopped = stop(within: .seconds(600))
        for client in [client, updates] {
            // The last chunk of the body is an empty one.
            let rest = try #require(client.read(until: "0\r\n\r\n"))
            #expect(rest.contains("\"last_seq\":\"") == (mode != "eventsource"))
        }
        await eventually { stopped.wait(timeout: .now()) == .success }
    }

    @Test func `a key of another certificate is refused before the socket is given away`() throws {
        let one = try ListenerTLS.make([])
        let other = try ListenerTLS.make([])
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.tls = try ListenerTLS(key: one.key, certificate: other.certificate)
        let listener = Listener(served.site.manager, options)
        let socket = try listener.boundSocket()
        #expect(throws: DatabaseError.self) { try listener.start(on: try socket.duplicated()) }
        options.tls = try ListenerTLS(key: one.key, certificate: one.certificate)
        let right = Listener(served.site.manager, options)
        try right.start(on: socket)
        #expect(right.isRunning)
        right.stop()
    }

    @Test func `connections that wait for a next request do not hold it up`() async throws {
        let clients = try (0..<20).map { _ in try served.client() }
        for client in clients {
            client.request("GET", "/")
            #expect(client.answer()?.status == 200)
        }
        let start = ContinuousClock.now
        served.listener.stop(finishing: .seconds(Int64.max))
        #expect(start.duration(to: .now) < .seconds(300))
        for client in clients { #expect(client.answer() == nil) }
    }

    @Test func `what is not done in time is broken off`() async throws {
        let client = try served.client()
        client.write("PUT /db/never HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n{")
        #expect(try served.status("GET", "/db", []) == 200)
        served.listener.stop(finishing: .milliseconds(100))
        #expect(client.answer() == nil)
        #expect(!served.listener.isRunning)
        #expect(try !served.database.contains("never"))
    }

    @Test func `a listener that stops accepting answers no connection that is made later`() throws {
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.responseHeaders = ["X-Listener": "0"]
        var former = Listener(served.site.manager, options)
        let socket = try former.boundSocket()
        defer { socket.close() }
        try former.start(on: try socket.duplicated())
        for number in 1...20 {
            options.responseHeaders = ["X-Listener": "\(number)"]
            let next = Listener(served.site.manager, options)
            try next.start(on: try socket.duplicated(), succeeding: former)
            former.stopAccepting()
            for _ in 0..<10 {
                let client = try RawClient(port: socket.port)
                client.request("GET", "/")
                #expect(client.answer()?.header.contains("X-Listener: \(number)\r\n") == true)
            }
            former.stop(finishing: .seconds(60))
            former = next
        }
        former.stop()
    }

    @Test func `a listener takes the socket of another, and no client is refused`() async throws {
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        let first = Listener(served.site.manager, options)
        let socket = try first.boundSocket()
        defer { socket.close() }
        try first.start(on: try socket.duplicated())
        let port = try #require(first.port)
        for _ in 0..<5 {
            let next = Listener(served.site.manager, options)
            try next.start(on: try socket.duplicated(), succeeding: first)
            #expect(next.port == port && next.urls == first.urls)
            first.stop(finishing: .seconds(60))
            let client = try RawClient(port: port)
            client.request("GET", "/db")
            #expect(client.answer()?.status == 200)
            next.stop(finishing: .seconds(60))
            // None listens now, and the connection waits.
            let early = try RawClient(port: port)
            early.request("GET", "/db")
            try first.start(on: try socket.duplicated())
            #expect(early.answer()?.status == 200)
        }
        first.stop()
    }
}
