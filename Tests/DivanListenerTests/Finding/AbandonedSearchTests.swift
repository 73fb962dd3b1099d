// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Searches that take long, and whose client is gone or whose listener stops.
@Suite struct AbandonedSearchTests {
    /// A site in which looking at all documents takes a minute.
    private struct SlowSearch {
        static let count = 2_000
        let served: ServedSite
        private let looks = Counter()
        var seen: Int { looks.value }

        init() throws {
            served = try ServedSite { [looks] options in
                options.authorization.reading = { _, _, _ in
                    looks.add()
                    usleep(30_000)
                    return true
                }
            }
            let database = served.database
            try database.inBatch {
                for number in 0..<Self.count {
                    try database.save(MutableDocument(["n": .init(number)], id: "d\(number)"))
                }
            }
        }

        /// A client that waits for the answer to a search, which is under way.
        func searcher(padding: Int = 0) throws -> RawClient {
            let client = try served.client()
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
        let search = try SlowSearch()
        let client = try search.searcher(padding: padding)
        search.served.listener.stop()
        // The rest would have taken a minute.
        #expect(search.seen < SlowSearch.count / 2)
        withExtendedLifetime(client) {}
    }

    @Test func `a search ends when its client has reset the connection`() throws {
        let search = try SlowSearch()
        try search.searcher().reset()
        eventually { search.served.listener.connectionCount == 0 }
        #expect(search.seen < SlowSearch.count)
    }
}
