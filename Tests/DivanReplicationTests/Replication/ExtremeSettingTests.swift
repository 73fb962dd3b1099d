// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanReplication

/// Settings of a replication that are the longest time there is, none, or less than none.
@Suite(.timeLimit(.minutes(5))) struct ExtremeSettingTests {
    private static let times: [Duration] = [
        .seconds(Int64.max), .seconds(Int64.min), .zero, .seconds(-1),
    ]

    @Test(arguments: times)
    func `a replication saves checkpoints and stops whatever the times are`(time: Duration)
        async throws
    {
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        try there.put("a", [:], parent: nil)
        let pull = here.makePullReplication(from: there) {
            $0.isContinuous = true
            $0.checkpointInterval = time
            $0.timeToStop = time
        }
        pull.start()
        try await eventually { try here.contains("a") }
        await pull.stopAndWait()
        #expect(!pull.isRunning)
        let again = here.makePullReplication(from: there) { $0.checkpointInterval = time }
        #expect(try await again.run().transferred == 0)
    }

    @Test(arguments: times, times)
    func `any delays give one between none and a hundred years`(first: Duration, longest: Duration)
    {
        var policy = RetryPolicy()
        (policy.firstDelay, policy.longestDelay) = (first, longest)
        for failures in [0, 1, 2, 64, Int.max] {
            let delay = policy.delay(after: failures, random: 1)
            #expect(delay >= .zero && delay <= .seconds(3_155_760_000))
        }
    }

    @Test func `a replication that waits the longest time there is can be stopped`() async throws {
        let here = try Database.inMemory(named: "here")
        let pull = here.makePullReplication(from: "http://127.0.0.1:1/db") {
            $0.isContinuous = true
            $0.retry.firstDelay = .seconds(Int64.max)
            $0.retry.longestDelay = .seconds(Int64.max)
            $0.retry.patience = nil
            $0.timeouts.connect = .seconds(Int64.max)
            $0.timeouts.head = .seconds(Int64.max)
            $0.timeouts.silence = .seconds(Int64.max)
        }
        pull.start()
        await eventually { pull.status.error != nil }
        await pull.stopAndWait()
        #expect(!pull.isRunning)
    }
}
