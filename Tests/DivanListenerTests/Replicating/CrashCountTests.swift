// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

@Suite struct CrashCountTests {
    @Test func `each crash counts, also while it runs again for a moment`() {
        var crashes = CrashCount(at: 0)
        #expect(crashes.count(at: 5) == 0)
        for number in 1...4 {
            let time = Int64(number) * 10
            crashes.crash(at: time, "away")
            #expect(crashes.reason == "away" && crashes.count(at: time) == number)
            crashes.start(at: time + 5)
            #expect(crashes.reason == nil && crashes.count(at: time + 6) == number)
        }
    }

    @Test func `what runs for two minutes is healthy, and begins to count anew`() {
        var crashes = CrashCount(at: 0)
        crashes.crash(at: 1, "away")
        crashes.start(at: 2)
        crashes.crash(at: 3, "away")
        // However long it waits for the next try.
        #expect(crashes.count(at: 4_000) == 2)
        crashes.start(at: 4_000)
        #expect(crashes.count(at: 4_119) == 2)
        #expect(crashes.count(at: 4_120) == 0)
        crashes.crash(at: 4_200, "away")
        #expect(crashes.count(at: 4_200) == 1)
    }

    @Test func `the scheduler counts the crashes of a replication that cannot reach its other end`()
        async throws
    {
        let site = try TestSite()
        let server = try LoopbackServer()
        server.stop()
        let target = "http://127.0.0.1:\(server.port)/db"
        site.send("PUT", "/db")
        site.send("PUT", "/_replicator")
        site.send(
            "PUT", "/_replicator/r", #"{"source":"db","target":"\#(target)","continuous":true}"#)
        func document() -> JSONValue { site.send("GET", "/_scheduler/docs/_replicator/r").json }
        await eventually { document()["error_count"]?.int64 ?? 0 >= 2 }
        let history = site.send("GET", "/_scheduler/jobs").json["jobs"]?[0]?["history"]?.array ?? []
        #expect(history.filter { $0["type"] == "crashed" }.count >= 2)
        site.router.site.end()
    }
}
