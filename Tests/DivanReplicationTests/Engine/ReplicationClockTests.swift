// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanReplication

/// A clock that goes on with the real one, and jumps when it is told to, back as well as ahead.
private final class JumpingClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let start = ContinuousClock.now
    private let jumped = Mutex(Duration.zero)
    private let sleeps = Mutex(0)

    var now: Instant {
        Instant(offset: start.duration(to: .now) + jumped.withLock { $0 })
    }
    var minimumResolution: Duration { .milliseconds(1) }
    /// How often a task began to sleep by it.
    var sleepCount: Int { sleeps.withLock { $0 } }

    func jump(by duration: Duration) { jumped.withLock { $0 += duration } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        sleeps.withLock { $0 += 1 }
        while now < deadline { try await Task.sleep(for: .milliseconds(2)) }
    }
}

/// What time does to replications: nothing.
@Suite(.timeLimit(.minutes(10))) struct ReplicationClockTests {
    @Test(arguments: [8, -8])
    func `a clock that jumps by hours delays nothing and loses nothing`(hours: Int) async throws {
        let here = try Database.inMemory(named: "here")
        let there = try Database.inMemory(named: "there")
        let (source, target) = (LocalPeer(there), LocalPeer(here))
        let id = ReplicationID(
            .init(localUUID: here.privateUUID, remoteURL: "there", isPush: false))
        let keeper = CheckpointKeeper(
            id, local: target, remote: source, isPush: false, incarnation: here.incarnation)
        let worker = ReplicationWorker(source: source, target: target, keeper: keeper)
        let clock = JumpingClock()
        var run = ReplicationRun(worker: worker, isContinuous: true)
        run.clock = clock
        run.checkpointInterval = .milliseconds(30)
        let stop = StopSignal()
        let started = run
        let progress = Mutex(ReplicationRun.Progress())
        async let ended: Void = started.run(until: stop) { new, _ in
            progress.withLock { $0 = new }
        }
        for round in 0..<6 {
            try there.put("d\(round)", ["n": 1], parent: nil)
            try await eventually { try here.documentCount == round + 1 }
            clock.jump(by: .seconds(hours * 3_600))
        }
        if hours > 0 {
            // Ahead, every sleep ends at once, and another one begins.
            let before = clock.sleepCount
            await eventually { clock.sleepCount > before }
        }
        await eventually { progress.withLock { $0.isIdle } }
        stop.give()
        try await ended
        // The last checkpoint does not wait for the clock.
        let saved = try await source.checkpoint(id)?.checkpoint.history.first?.sequence.number
        #expect(saved == (try there.lastSequence))
    }
}
