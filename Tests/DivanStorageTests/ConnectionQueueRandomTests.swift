// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanStorage
import DivanTestSupport
import Synchronization
import Testing

/// Random use of a queue by several threads and tasks.
@Suite(.timeLimit(.minutes(10))) struct ConnectionQueueRandomTests {
    private struct Refusal: Error {}

    /// What notices two threads in it at once. Not guarded: the queue is its guard.
    private final class Resource {
        let users = Atomic(0)
        var turns = 0

        func use(_ queue: ConnectionQueue<Resource>, _ random: inout SeededRandom) throws {
            queue.checkInvariants()
            #expect(queue.isOwnedByCurrentThread && queue.isInUse)
            try queue.sync { inner in
                #expect(inner === self)
                queue.checkInvariants()
                turns += 1
                for _ in 0..<random.below(100) { _ = random.next() }
                if random.oneIn(5) { throw Refusal() }
            }
        }

        /// The outermost use of a turn.
        func take(_ queue: ConnectionQueue<Resource>, _ random: inout SeededRandom) {
            #expect(users.add(1, ordering: .relaxed).newValue == 1)
            try? use(queue, &random)
            users.subtract(1, ordering: .relaxed)
        }
    }

    @Test func `threads and tasks take turns, and each sees whether it has one`() async throws {
        for round in Soak.rounds(test: 20, soak: 1_000) {
            let queue = ConnectionQueue(label: "random", Resource())
            let other = ConnectionQueue(label: "other", Resource())
            let taken = await withTaskGroup(of: Int.self) { group in
                for task in 0..<6 {
                    let seeded = Soak.random(round: round * 6 + task, salt: 0x9003)
                    group.addTask {
                        var random = seeded
                        for _ in 0..<50 {
                            queue.checkInvariants()
                            #expect(!queue.isOwnedByCurrentThread)
                            let inside = random
                            switch random.below(3) {
                            case 0:
                                try? await queue.async { resource in
                                    var random = inside
                                    resource.take(queue, &random)
                                }
                            case 1:
                                // A turn inside a turn of another queue.
                                other.sync { _ in
                                    queue.checkInvariants()
                                    queue.sync { $0.take(queue, &random) }
                                    other.checkInvariants()
                                }
                            default: queue.sync { $0.take(queue, &random) }
                            }
                        }
                        return 50
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(!queue.isInUse && !queue.isOwnedByCurrentThread)
            #expect(queue.sync { $0.turns } == taken, "round \(round)")
        }
    }
}
