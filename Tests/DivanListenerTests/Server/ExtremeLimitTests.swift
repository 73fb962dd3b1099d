// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanListener

/// Limits of a listener with the largest, the smallest and no numbers.
@Suite(.timeLimit(.minutes(5))) struct ExtremeLimitTests {
    private static let longest = Duration.seconds(Int64.max)

    /// Asks for something that a listener with these limits answers.
    private func expectAnswers(_ edit: (inout ListenerLimits) -> Void) throws {
        let served = try ServedSite { edit(&$0.limits) }
        #expect(try served.status("PUT", "/db/a", [], Array(#"{"n":1}"#.utf8)) == 201)
        #expect(try served.status("GET", "/db/_all_docs", []) == 200)
        served.listener.stop(finishing: Self.longest)
    }

    private typealias Setting<Value> = @Sendable (inout ListenerLimits, Value) -> Void

    /// Those that must be 1 at least, and then all others.
    private static let numbers: [Setting<Int>] = [
        { $0.slowestBody = $1 }, { $0.slowestAnswer = $1 }, { $0.workers = $1 },
        { $0.requestBody = $1 }, { $0.jsonBody = $1 }, { $0.queryBody = $1 },
        { $0.queryValues = $1 }, { $0.memory = $1 }, { $0.attachment = $1 }, { $0.head = $1 },
        { $0.connections = $1 }, { $0.connectionsPerAddress = $1 }, { $0.passwordAttempts = $1 },
    ]

    private static let times: [Setting<Duration>] = [
        { $0.firstRequest = $1 }, { $0.idle = $1 }, { $0.bodyGrace = $1 },
        { $0.passwordLockout = $1 },
    ]

    @Test(arguments: numbers.indices)
    func `the largest number works`(limit: Int) throws {
        try expectAnswers { Self.numbers[limit](&$0, .max) }
    }

    @Test(arguments: 0..<3, [0, -1, Int.min])
    func `none and less than none work where there must be some`(limit: Int, number: Int) throws {
        try expectAnswers { Self.numbers[limit](&$0, number) }
    }

    @Test(arguments: numbers.indices.dropFirst(3), [0, -1, Int.min])
    func `a listener that allows nothing starts and stops`(limit: Int, number: Int) throws {
        let served = try ServedSite { Self.numbers[limit](&$0.limits, number) }
        #expect(served.listener.isRunning)
    }

    @Test(arguments: times.indices)
    func `the longest time works`(limit: Int) throws {
        try expectAnswers { Self.times[limit](&$0, Self.longest) }
    }

    @Test func `workers and heads have bounds`() {
        var limits = ListenerLimits()
        #expect(limits.workerCount == 8 && limits.headLength == 12 << 10)
        (limits.workers, limits.head) = (.max, .max)
        #expect(limits.workerCount == 1_024 && limits.headLength == 16 << 20)
        (limits.workers, limits.head) = (.min, .min)
        #expect(limits.workerCount == 1 && limits.headLength == 0)
    }

    @Test(arguments: [0, -1, Int.min])
    func `a listener whose databases would keep no revision does not start`(limit: Int) throws {
        let site = try TestSite()
        let error = #expect(throws: DatabaseError.self) {
            _ = try site.listen { $0.revisionLimit = limit }
        }
        #expect(error?.code == .invalidQuery)
    }

    @Test(arguments: [1, Int.max])
    func `a client's database keeps as many revisions as it may`(limit: Int) throws {
        let served = try ServedSite { $0.revisionLimit = limit }
        #expect(try served.status("PUT", "/made", []) == 201)
        #expect(try served.status("PUT", "/made/x", [], Array("{}".utf8)) == 201)
        #expect(try served.status("GET", "/made/x", []) == 200)
        #expect(try served.status("GET", "/made/_revs_limit", []) == 200)
    }
}
