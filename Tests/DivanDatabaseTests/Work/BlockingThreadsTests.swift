// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanDatabase

@Suite(.timeLimit(.minutes(5))) struct BlockingThreadsTests {
    @Test func `only a thread of these counts as one that waits`() async throws {
        // A thread of a listener has a flag, too.
        #expect(try CancellationFlag().carried { BlockingThreads.beginWait() == nil })
        let isOwn = try await BlockingWork.run {
            let wait = BlockingThreads.beginWait()
            wait?.end()
            return wait != nil
        }
        #expect(isOwn)
    }

    @Test func `all work is done, however it comes, blocks and waits`() {
        for round in Soak.rounds(test: 20, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0xB10)
            let threads = BlockingThreads()
            let group = DispatchGroup()
            let done = Atomic(0)
            let count = 1 + random.below(60)
            for _ in 0..<count {
                let pause = random.oneIn(4) ? random.below(3) : 0
                group.enter()
                threads.start {
                    threads.checkInvariants()
                    if pause > 0 {
                        _ = DispatchSemaphore(value: 0)
                            .wait(timeout: .now() + .milliseconds(pause))
                    }
                    done.add(1, ordering: .relaxed)
                    group.leave()
                }
                threads.checkInvariants()
            }
            group.wait()
            #expect(done.load(ordering: .relaxed) == count, "round \(round)")
            threads.checkInvariants()
        }
    }
}
