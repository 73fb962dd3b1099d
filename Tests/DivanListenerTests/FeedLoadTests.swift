// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Feeds that have much to tell, beside clients that want something else.
@Suite struct FeedLoadTests {
    /// Feeds whose filter waits at a gate, so that each has a worker for as long as the test wants.
    private final class Gate: Sendable {
        let entered = DispatchSemaphore(value: 0)
        private let isOpen = Mutex(false)
        private let opened = DispatchSemaphore(value: 0)

        func pass() -> Bool {
            entered.signal()
            if !isOpen.withLock({ $0 }) { opened.wait() }
            opened.signal()
            return true
        }

        func open() {
            isOpen.withLock { $0 = true }
            opened.signal()
        }
    }

    /// A listener of a database with a document, and with a filter that waits until its gate is open.
    private struct Served {
        let site: TestSite
        let gate = Gate()
        let listener: Listener
        let port: UInt16

        init() throws {
            site = try TestSite()
            let database = try site.manager.database(named: "db")
            _ = try database.put("first", ["a": 1], parent: nil)
            database.setFilter(named: "waits") { [gate] _, _ in gate.pass() }
            database.setFilter(named: "passes") { _, _ in true }
            var options = ListenerOptions()
            options.access = .everybodyOnLoopback
            listener = Listener(site.manager, options)
            try listener.start()
            port = try #require(listener.port)
        }

        func stop() {
            gate.open()
            listener.stop()
        }
    }

    @Test func `documents are read, listed and saved while every worker of feeds is busy`() throws {
        let served = try Served()
        defer { served.stop() }
        let port = served.port
        // More feeds than there are workers of any kind.
        let count = ListenerLimits().workers + max(2, ProcessInfo.processInfo.activeProcessorCount)
        let feeds = try (0..<count).map { _ in
            let feed = try RawClient(port: port)
            feed.request("GET", "/db/_changes?feed=continuous&filter=waits&heartbeat=60000")
            return feed
        }
        #expect(served.gate.entered.wait(timeout: .now() + 60) == .success)
        for feed in feeds { #expect(feed.read(until: "\r\n\r\n") != nil) }

        let client = try RawClient(port: port)
        client.request("PUT", "/db/second", [], Array("{}".utf8))
        #expect(client.answer()?.status == 201)
        client.request("GET", "/db/_all_docs")
        let list = try #require(client.answer())
        #expect(String(decoding: list.body, as: UTF8.self).contains("second"))
        served.gate.open()
        for feed in feeds { #expect(feed.read(until: "\"id\":\"second\"") != nil) }
    }

    @Test(arguments: ["continuous", "normal"])
    func `a filter that blocks holds up neither feeds without it nor other requests`(mode: String)
        throws
    {
        let served = try Served()
        defer { served.stop() }
        let port = served.port
        let blocked = try (0..<20).map { _ in
            let feed = try RawClient(port: port)
            feed.request("GET", "/db/_changes?feed=\(mode)&filter=waits&heartbeat=60000")
            return feed
        }
        for _ in 0..<2 { #expect(served.gate.entered.wait(timeout: .now() + 60) == .success) }
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
        served.gate.open()
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
