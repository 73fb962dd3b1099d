// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Databases whose validation does not return, beside one that is well.
@Suite(.timeLimit(.minutes(5))) struct StuckDatabaseTests {
    /// A listener with databases that are stuck, named `stuck0` and so on, and `db`, which is not.
    private final class Stuck {
        let served: ServedSite
        let gate = Gate()
        /// How many writes have come to a validation.
        let arrived = Counter()
        private var waiting: [RawClient] = []

        init() throws { served = try ServedSite() }

        deinit {
            gate.open()
            served.listener.stop()
        }

        /// Sends so many writes to each of so many databases, and waits until each database is stuck.
        func write(_ count: Int, to databases: Int, _ body: String) throws {
            for number in 0..<databases {
                let database = try served.site.manager.database(named: "stuck\(number)")
                database.setValidation(named: "waits") { [gate, arrived] _, _ in
                    arrived.add()
                    gate.wait()
                }
                for place in 0..<count {
                    let client = try served.client()
                    client.request("PUT", "/stuck\(number)/d\(place)", [], Array(body.utf8))
                    waiting.append(client)
                }
            }
            #expect(eventually { arrived.value == databases })
        }

        /// The statuses of the writes that were stuck, once they are not.
        func statuses() -> [Int?] {
            gate.open()
            return waiting.map { $0.answer()?.status }
        }
    }

    @Test func `seven databases whose writes never end hold up those of no other one`() throws {
        let stuck = try Stuck()
        try stuck.write(4, to: 7, "{}")
        for (method, target) in [("PUT", "/db/a"), ("PUT", "/db/_local/a"), ("POST", "/db")] {
            #expect(try stuck.served.status(method, target, [Self.json], Array("{}".utf8)) == 201)
        }
        // Nothing was refused, and all that waited is done.
        #expect(stuck.statuses() == Array(repeating: 201, count: 28))
    }

    @Test func `three databases whose long writes never end hold up those of no other one`() throws
    {
        let stuck = try Stuck()
        let body = #"{"text":"\#(String(repeating: "x", count: MemoryBudget.free + 1))"}"#
        try stuck.write(3, to: 3, body)
        #expect(try stuck.served.status("PUT", "/db/a", [Self.json], Array(body.utf8)) == 201)
        #expect(stuck.statuses() == Array(repeating: 201, count: 9))
    }

    private static let json = "Content-Type: application/json"
}
