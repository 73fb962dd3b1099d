// SPDX-License-Identifier: Apache-2.0

import Dispatch
@testable import DivanStorage
import DivanTestSupport
import Synchronization
import Testing

/// One pool, threads that each do one thing at a time with it, and the model of what they must get.
///
/// A step is one command to a thread that has nothing to do. The model says which threads are done then, and with what
/// outcome. The others must sleep in the pool, so before the next step it is known who waits for what.
final class PoolRun {
    private static let engines = 2
    private let pool: ReaderPool<TestReader>
    private let engines: [TestBorrower]
    private let threads: [CommandedThread]
    private var model: PoolModel
    private var random: SeededRandom
    private var made = 0
    private var differences: [String] = []

    init(_ random: SeededRandom) {
        var random = random
        let limit = 1 + random.below(3)
        let pool = ReaderPool<TestReader>(limit: limit)
        self.pool = pool
        engines = (0..<Self.engines).map { _ in TestBorrower(pool) }
        threads = (0..<6).map { _ in CommandedThread() }
        model = PoolModel(limit: limit)
        self.random = random
    }

    // MARK: - Steps

    func takeStep() {
        let engine = random.below(Self.engines)
        let free = threads.indices.filter { !model.isAsleep($0) }
        guard let thread = free.randomElement(using: &random), !random.oneIn(6) else {
            return takeStepOfOwn(engine)
        }
        if model.lent[thread] != nil {
            switch random.below(6) {
            case 0: nest(thread, engine)
            case 1: pause(thread, patience: .seconds(600))
            // Two readers that waited for each other's end would wait without end.
            case 2 where model.drainers.isEmpty: drain(thread, engine)
            default: giveBack(thread, isKept: !random.oneIn(4))
            }
        } else {
            switch random.below(10) {
            case 0: pause(thread, patience: .seconds(600))
            case 1: pause(thread, patience: .zero)
            case 2: drain(thread, engine)
            default: borrow(thread, engine, fails: random.oneIn(3))
            }
        }
    }

    /// What needs no thread of its own.
    private func takeStepOfOwn(_ engine: Int) {
        switch random.below(4) {
        case 0:
            expect("idle", pool.removeIdle().map(\.number).sorted(), model.idle.sorted())
            model.removeIdle()
        case 1:
            var found: [Int] = []
            pool.forEachLent(to: engines[engine].id) { found.append($0.number) }
            expect("lent", found.sorted(), model.readers(of: engine))
        case 2 where !model.isDrained(engine):
            engines[engine].refuse(false)
            model.refusing.remove(engine)
        default:
            if model.isPausedByNow { resume() }
        }
    }

    /// Ends everything that runs or waits.
    func finish() {
        for _ in 0..<1_000 where differences.isEmpty {
            if model.isPausedByNow { resume() }
            let awake = model.lent.keys.filter { !model.isAsleep($0) }
            guard let thread = awake.min() else { break }
            giveBack(thread, isKept: true)
        }
        expect("the end", model.isAtRest, true)
        for thread in threads { thread.end() }
    }

    private func borrow(_ thread: Int, _ engine: Int, fails: Bool) {
        let borrower = engines[engine]
        made += 1
        let number = made
        threads[thread].run {
            do {
                let (reader, isOutermost) = try borrower.borrow { _ in
                    if fails { throw TestBorrower.Failure() }
                    return TestReader(number)
                }
                return isOutermost ? .lent(reader.number) : .odd
            } catch { return error is TestBorrower.Refusal ? .refused : .failed }
        }
        settle(model.borrow(thread, engine, number: fails ? nil : number))
    }

    private func nest(_ thread: Int, _ engine: Int) {
        let borrower = engines[engine]
        threads[thread].run {
            guard let (reader, isOutermost) = try? borrower.borrow({ TestReader($0) }) else {
                return .odd
            }
            return isOutermost ? .odd : .lent(reader.number)
        }
        settle([thread: .lent(model.lent[thread]?.number ?? 0)])
    }

    private func giveBack(_ thread: Int, isKept: Bool) {
        let pool = pool
        threads[thread].run {
            pool.giveBack(keeping: isKept)
            return .done
        }
        settle(model.giveBack(thread, isKept: isKept))
    }

    private func pause(_ thread: Int, patience: Duration) {
        let pool = pool
        threads[thread].run { pool.pause(patience: patience) ? .done : .refused }
        settle(model.pause(thread, isPatient: patience > .zero))
    }

    private func drain(_ thread: Int, _ engine: Int) {
        let borrower = engines[engine]
        borrower.refuse(true)
        threads[thread].run {
            borrower.pool.drain(borrower.id)
            return .done
        }
        settle(model.drain(thread, engine))
    }

    private func resume() {
        pool.resume()
        settle(model.resume())
    }

    // MARK: - Comparing

    /// Waits for the threads that the model says are done, and until the others sleep in the pool.
    private func settle(_ expected: [Int: PoolModel.Outcome]) {
        for (thread, outcome) in expected {
            expect("thread \(thread)", threads[thread].outcome(), outcome)
        }
        eventually {
            pool.loans.withLock { loans in
                loans.waitingCount == model.waiting.count
                    && loans.drainingCount == model.drainers.count
            }
        }
        pool.checkInvariants()
        expect("used", pool.loans.withLock { $0.used }, model.lent.count)
        expect("count", pool.count, model.lent.count + model.idle.count)
    }

    private func expect<T: Equatable>(_ what: String, _ found: T, _ expected: T) {
        if found != expected { differences.append("\(what): \(found), not \(expected)") }
    }

    /// How the pool differs from the model.
    func difference() -> String? { differences.first }
}

/// A thread that does what it is told, one thing at a time.
private final class CommandedThread: Sendable {
    private let command = Mutex<(@Sendable () -> PoolModel.Outcome)?>(nil)
    private let result = Mutex(PoolModel.Outcome.odd)
    private let isTold = DispatchSemaphore(value: 0)
    private let isDone = DispatchSemaphore(value: 0)

    init() {
        DispatchQueue(label: "divan.test.commanded").async { [self] in
            while true {
                isTold.wait()
                guard let body = command.withLock({ $0 }) else { return }
                let outcome = body()
                result.withLock { $0 = outcome }
                isDone.signal()
            }
        }
    }

    func run(_ body: @escaping @Sendable () -> PoolModel.Outcome) {
        command.withLock { $0 = body }
        isTold.signal()
    }

    func end() {
        command.withLock { $0 = nil }
        isTold.signal()
    }

    /// What came of the last command; `nil` if the thread is still at it after a minute.
    func outcome() -> PoolModel.Outcome? {
        guard isDone.wait(timeout: .now() + 60) == .success else { return nil }
        return result.withLock { $0 }
    }
}
