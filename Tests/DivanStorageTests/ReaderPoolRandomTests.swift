// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanStorage
import DivanTestSupport
import Synchronization
import Testing

/// Random use of a pool by several threads: step by step beside a model, and freely.
@Suite(.timeLimit(.minutes(10))) struct ReaderPoolRandomTests {
    @Test func `the pool does what a naive model does, step by step`() throws {
        for round in Soak.rounds(test: 40, soak: 5_000) {
            let run = PoolRun(Soak.random(round: round, salt: 0x9001))
            for step in 0..<60 {
                run.takeStep()
                try #require(run.difference() == nil, "round \(round), step \(step)")
            }
            run.finish()
            try #require(run.difference() == nil, "round \(round), end")
        }
    }

    @Test func `threads that run freely keep the invariants`() throws {
        for round in Soak.rounds(test: 20, soak: 1_000) {
            let limit = 1 + round % 3
            let pool = ReaderPool<TestReader>(limit: limit)
            let engines = (0..<3).map { _ in ObservedEngine(pool) }
            let odd = Atomic(0)
            let isPaused = Atomic(false)
            @Sendable func check(_ isTrue: Bool) {
                if !isTrue { odd.add(1, ordering: .relaxed) }
            }
            DispatchQueue.concurrentPerform(iterations: 6) { thread in
                var random = Soak.random(round: round * 6 + thread, salt: 0x9002)
                for _ in 0..<200 {
                    let engine = random.element(of: engines)
                    switch random.below(12) {
                    case 0 where pool.pause(patience: .microseconds(random.below(2_000))):
                        isPaused.store(true, ordering: .sequentiallyConsistent)
                        check(!pool.isUsed)
                        for reader in pool.removeIdle() { check(reader.users.isZero) }
                        isPaused.store(false, ordering: .sequentiallyConsistent)
                        pool.resume()
                    case 1 where engine.close():
                        check(engine.readers.isZero)
                        engine.open()
                    case 2: pool.checkInvariants()
                    default:
                        engine.read(failing: random.oneIn(3), keeping: !random.oneIn(8)) { reader in
                            check(!isPaused.load(ordering: .sequentiallyConsistent))
                            check(reader.users.add(1, ordering: .relaxed).newValue == 1)
                            engine.read(failing: true, keeping: true) { check($0 === reader) }
                            for _ in 0..<random.below(200) { _ = random.next() }
                            reader.users.subtract(1, ordering: .relaxed)
                        }
                    }
                }
            }
            pool.checkInvariants()
            #expect(odd.load(ordering: .relaxed) == 0, "round \(round)")
            #expect(!pool.isUsed && pool.waitingCount == 0, "round \(round)")
            // No place was lost.
            #expect(Self.nested(limit, engines[0]) == limit, "round \(round)")
        }
    }

    /// How many readers can be used at once, each by a thread of its own.
    private static func nested(_ depth: Int, _ engine: ObservedEngine) -> Int {
        guard depth > 0 else { return 0 }
        var count = 0
        engine.read(failing: false, keeping: true) { _ in
            count = 1 + ((try? Running { nested(depth - 1, engine) }.value() ?? 0) ?? 0)
        }
        return count
    }
}

extension Atomic<Int> {
    fileprivate var isZero: Bool { load(ordering: .sequentiallyConsistent) == 0 }
}

/// An engine that counts its readers, and that one thread at a time closes.
private final class ObservedEngine: Sendable {
    let borrower: TestBorrower
    let readers = Atomic(0)
    private let isClosing = Atomic(false)

    init(_ pool: ReaderPool<TestReader>) { borrower = TestBorrower(pool) }

    func read(failing: Bool, keeping isKept: Bool, _ body: (TestReader) -> Void) {
        try? borrower.read(
            keeping: isKept,
            making: { others in
                if failing { throw TestBorrower.Failure() }
                return TestReader(others)
            }
        ) { reader in
            readers.add(1, ordering: .sequentiallyConsistent)
            body(reader)
            readers.subtract(1, ordering: .sequentiallyConsistent)
        }
    }

    /// Whether this thread has closed it.
    func close() -> Bool {
        guard !isClosing.exchange(true, ordering: .sequentiallyConsistent) else { return false }
        borrower.refuse(true)
        borrower.pool.drain(borrower.id)
        return true
    }

    func open() {
        borrower.refuse(false)
        isClosing.store(false, ordering: .sequentiallyConsistent)
    }
}
