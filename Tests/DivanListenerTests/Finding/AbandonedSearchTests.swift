// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Searches that take long, and whose client is gone or whose listener stops.
@Suite struct AbandonedSearchTests {
    /// A listener of a database in which looking at all documents takes a minute.
    private final class Served {
        static let count = 2_000
        let site: TestSite
        let listener: Listener
        private let looks = Counter()
        var seen: Int { looks.value }

        init() throws {
            site = try TestSite()
            let database = try site.manager.database(named: "db")
            try database.inBatch {
                for number in 0..<Self.count {
                    try database.save(MutableDocument(["n": .init(number)], id: "d\(number)"))
                }
            }
            var options = ListenerOptions()
            options.access = .everybodyOnLoopback
            options.authorization.reading = { [looks] _, _, _ in
                looks.add()
                usleep(30_000)
                return true
            }
            listener = Listener(site.manager, options)
            try listener.start()
        }

        deinit { listener.stop() }

        /// A client that waits for the answer to a search, which is under way.
        func searcher(padding: Int = 0) throws -> RawClient {
            let client = try RawClient(port: listener.port ?? 0)
            let body = #"{"selector":{"n":{"$gte":0}},"limit":100000}"#
            client.request(
                "POST", "/db/_find", ["Content-Type: application/json"],
                Array((body + String(repeating: " ", count: padding)).utf8))
            eventually { seen > 0 }
            return client
        }
    }

    @Test(arguments: [0, 2 << 20])
    func `a search ends when the listener stops`(padding: Int) throws {
        let served = try Served()
        let client = try served.searcher(padding: padding)
        served.listener.stop()
        // The rest would have taken a minute.
        #expect(served.seen < Served.count / 2)
        withExtendedLifetime(client) {}
    }

    @Test func `a search ends when its client has reset the connection`() throws {
        let served = try Served()
        try served.searcher().reset()
        eventually { served.listener.connectionCount == 0 }
        #expect(served.seen < Served.count)
    }
}
