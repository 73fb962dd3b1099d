// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Feeds that have much to tell, beside clients that want something else.
@Suite struct FeedLoadTests {
    /// A site with a document, and with a filter that waits until its gate is open.
    private struct Gated {
        let served: ServedSite
        let gate = Gate()
        /// How many threads have come to the gate.
        let arrived = Counter()

        /// Starts it.
        ///
        /// - Parameter edit: Sets options, given what waits until the gate is open.
        init(
            _ edit: (_ options: inout ListenerOptions, _ wait: @escaping @Sendable () -> Bool) ->
                Void = { _, _ in }
        ) throws {
            let wait: @Sendable () -> Bool = { [gate, arrived] in
                arrived.add()
                return gate.wait()
            }
            served = try ServedSite { edit(&$0, wait) }
            let database = served.database
            _ = try database.put("first", ["a": 1], parent: nil)
            database.setFilter(named: "waits") { _, _ in wait() }
            database.setFilter(named: "passes") { _, _ in true }
        }

        func stop() {
            gate.open()
            served.listener.stop()
        }
    }

    @Test func `documents are read, listed and saved while every worker of feeds is busy`() throws {
        // A filter would have threads of its own; the app's reading function is asked by the feeds' own ones.
        let gated = try Gated { options, wait in
            options.authorization.reading = { _, _, document in document.id != "first" || wait() }
        }
        defer { gated.stop() }
        let port = gated.served.port
        // More feeds than there are workers of any kind.
        let count = ListenerLimits().workers + max(2, ProcessInfo.processInfo.activeProcessorCount)
        let feeds = try (0..<count).map { _ in
            let feed = try RawClient(port: port)
            feed.request("GET", "/db/_changes?feed=continuous&heartbeat=60000")
            return feed
        }
        for feed in feeds { #expect(feed.read(until: "\r\n\r\n") != nil) }
        eventually { gated.arrived.value >= 2 }

        let client = try RawClient(port: port)
        client.request("PUT", "/db/second", [], Array("{}".utf8))
        #expect(client.answer()?.status == 201)
        client.request("GET", "/db/second")
        #expect(client.answer()?.status == 200)
        client.request("GET", "/db/_all_docs?startkey=%22second%22")
        let list = try #require(client.answer())
        #expect(String(decoding: list.body, as: UTF8.self).contains("second"))
        // Most feeds have waited for a thread all the time.
        #expect(gated.arrived.value < count)
        gated.gate.open()
        for feed in feeds { #expect(feed.read(until: "\"id\":\"second\"") != nil) }
    }

    @Test func `little waits to be sent of a feed that nothing is read of`() throws {
        let told = Counter()
        let gated = try Gated { options, _ in
            options.authorization.reading = { _, _, _ in
                told.add()
                return true
            }
        }
        defer { gated.stop() }
        // A kilobyte each: more in all than the system would take.
        let text = JSONValue.string(String(repeating: "y", count: 1_000))
        try gated.served.database.write { transaction in
            for number in 0..<6_000 {
                _ = try transaction.put("d\(number)", ["text": text], parent: nil)
            }
        }
        let feed = try gated.served.client(room: 4_096)
        feed.request("GET", "/db/_changes?feed=continuous&include_docs=true&heartbeat=60000")
        #expect(feed.read(until: "\r\n\r\n") != nil)
        // Nothing more is told once so many looks have seen the same.
        var (seen, times) = (-1, 0)
        eventually {
            times = told.value == seen && seen > 0 ? times + 1 : 0
            seen = told.value
            return times == 60
        }
        #expect((20..<512).contains(told.value), "\(told.value) kilobytes")
        withExtendedLifetime(feed) {}
    }

    @Test func `an attachment arrives whole on a connection that was a feed's before`() throws {
        let gated = try Gated()
        defer { gated.stop() }
        let content = (0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 4) }
        let client = try gated.served.client(room: 64 << 10)
        client.request("PUT", "/db/second/file", ["Content-Type: text/plain"], content)
        #expect(client.answer()?.status == 201)
        client.request("GET", "/db/_changes?feed=longpoll&since=0")
        let told = try #require(client.answer())
        #expect(String(decoding: told.body, as: UTF8.self).contains("second"))
        client.request("GET", "/db/second/file")
        let answer = try #require(client.answer())
        #expect(answer.status == 200)
        #expect(answer.body == content)
    }

    @Test(arguments: ["continuous", "normal"])
    func `a filter that blocks holds up neither feeds without it nor other requests`(mode: String)
        throws
    {
        let gated = try Gated()
        defer { gated.stop() }
        let port = gated.served.port
        let blocked = try (0..<20).map { _ in
            let feed = try RawClient(port: port)
            feed.request("GET", "/db/_changes?feed=\(mode)&filter=waits&heartbeat=60000")
            return feed
        }
        eventually { gated.arrived.value >= 2 }
        for query in ["", "&filter=passes", "&filter=_design", "&filter=_doc_ids&doc_ids=[]"] {
            let feed = try RawClient(port: port)
            feed.request("GET", "/db/_changes?feed=continuous&timeout=100" + query)
            #expect(
                feed.answer().map { String(decoding: $0.body, as: UTF8.self) }?.contains("last_seq")
                    == true)
        }
        let client = try RawClient(port: port)
        client.request("GET", "/db/_all_docs")
        #expect(client.answer()?.status == 200)
        gated.gate.open()
        for feed in blocked { #expect(feed.read(until: "\"id\":\"first\"") != nil) }
    }

    @Test(arguments: ["normal", "continuous"], ["false", "true"])
    func `a piece of a feed is 64 kB and no more than the rest of its last row`(
        mode: String, descending: String
    ) throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        try database.write { transaction in
            for number in 0..<600 {
                let text = String(repeating: "y", count: 1_000)
                _ = try transaction.put("d\(number)", ["text": .string(text)], parent: nil)
            }
        }
        let target =
            "/db/_changes?include_docs=true&feed=\(mode)&descending=\(descending)&heartbeat=60000"
        let head = RequestHead(method: "GET", target: target, headers: ["Host": "localhost"])
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(let producer, _) = response.body else {
            Issue.record("It has no stream.")
            return
        }
        defer { producer.cancel() }
        #expect(producer.lane == (mode == "continuous" ? .feeds : .answers))
        var text: [UInt8] = []
        reading: while true {
            switch try producer.next() {
            case .bytes(let piece):
                #expect(piece.count < (64 << 10) + 2_000)
                text += piece
            case .wait(.zero): continue
            case .wait, .end: break reading
            }
        }
        let told = String(decoding: text, as: UTF8.self)
        #expect((0..<600).allSatisfy { told.contains("\"id\":\"d\($0)\"") })
    }
}
