// SPDX-License-Identifier: Apache-2.0

@testable import DivanStorage
import DivanTestSupport
import Synchronization
import Testing

/// What a pool of these tests lends.
final class TestReader: Sendable {
    let number: Int
    /// How many threads use it.
    let users = Atomic(0)

    init(_ number: Int) { self.number = number }
}

/// A read with a pool as an engine runs it.
struct TestBorrower: Sendable {
    private final class Identity: Sendable {
        let isRefusing = Atomic(false)
    }

    struct Refusal: Error {}
    struct Failure: Error {}

    let pool: ReaderPool<TestReader>
    private let identity = Identity()

    init(_ pool: ReaderPool<TestReader>) { self.pool = pool }

    var id: ObjectIdentifier { ObjectIdentifier(identity) }

    var isRefusing: Bool { identity.isRefusing.load(ordering: .sequentiallyConsistent) }

    func refuse(_ isRefusing: Bool) {
        identity.isRefusing.store(isRefusing, ordering: .sequentiallyConsistent)
    }

    func borrow(_ make: (Int) throws -> TestReader) throws -> (TestReader, isOutermost: Bool) {
        try pool.borrow(
            for: id, admitting: { if isRefusing { throw Refusal() } }, making: make)
    }

    func read<T>(
        keeping isKept: Bool = true, making make: (Int) throws -> TestReader = { TestReader($0) },
        _ body: (TestReader) throws -> T
    ) throws -> T {
        let (reader, isOutermost) = try borrow(make)
        guard isOutermost else { return try body(reader) }
        defer { pool.giveBack(keeping: isKept) }
        return try body(reader)
    }
}

@Suite(.timeLimit(.minutes(10))) struct ReaderPoolTests {
    private let pool = ReaderPool<TestReader>(limit: 2)
    private let engine: TestBorrower

    init() { engine = TestBorrower(pool) }

    /// Reads on a thread of its own, from the opening of the first gate to that of the second.
    private func read(_ borrower: TestBorrower? = nil) -> (begun: Gate, end: Gate, Running<Int>) {
        let (engine, begun, end) = (borrower ?? engine, Gate(), Gate())
        let running = Running {
            try engine.read { reader in
                begun.open()
                end.wait()
                return reader.number
            }
        }
        return (begun, end, running)
    }

    @Test func `a read inside a read gets the same reader, even in a pause that waits for it`()
        throws
    {
        let pausing = try engine.read { outer in
            let pausing = Running { [pool] in pool.pause(patience: .seconds(60)) }
            eventually { pool.loans.withLock { $0.isPaused } }
            try engine.read { #expect($0 === outer) }
            #expect(pool.isUsedByCurrentThread)
            return pausing
        }
        #expect(try pausing.value() == true)
        #expect(!pool.isUsed && !pool.isUsedByCurrentThread)
    }

    @Test func `a reader is made when all are in use, and told how many others there are`() throws {
        let (begun, end, other) = read()
        begun.wait()
        #expect(try engine.read { $0.number } == 1)
        end.open()
        #expect(try other.value() == 0)
        #expect(pool.count == 2)
        #expect(pool.removeIdle().map(\.number) == [0, 1])
        #expect(pool.count == 0)
    }

    @Test func `a reader that is not kept is forgotten`() throws {
        weak var reader: TestReader?
        try engine.read(keeping: false) { reader = $0 }
        #expect(pool.count == 0)
        #expect(reader == nil)
    }

    @Test func `beyond the limit threads wait in the order in which they came`() throws {
        let first = [read(), read()]
        for reading in first { reading.begun.wait() }
        let later = (1...3).map { count in
            let reading = read()
            eventually { pool.waitingCount == count }
            return reading
        }
        for position in 0..<3 {
            pool.checkInvariants()
            #expect(later[position...].allSatisfy { !$0.begun.isOpen })
            (first + later)[position].end.open()
            #expect(later[position].begun.wait())
        }
        for reading in first + later { reading.end.open() }
        for reading in first + later { #expect(try reading.2.value() != nil) }
        #expect(pool.count == 2)
    }

    @Test func `a maker that fails leaves its place to a thread that waits`() throws {
        let (begun, end, other) = read()
        begun.wait()
        let (isMaking, mayFail) = (Gate(), Gate())
        let failing = Running { [engine] in
            try engine.read(making: { _ in
                isMaking.open()
                mayFail.wait()
                throw TestBorrower.Failure()
            }) { _ in }
        }
        isMaking.wait()
        let next = read()
        eventually { pool.waitingCount == 1 }
        // No other thread is held up meanwhile.
        #expect(!next.begun.isOpen && pool.count == 2)
        mayFail.open()
        #expect(next.begun.wait())
        #expect(throws: TestBorrower.Failure.self) { try failing.value() }
        for gate in [end, next.end] { gate.open() }
        #expect(try other.value() == 0)
        #expect(try next.2.value() == 1)
    }

    @Test func `readers that come during a pause read after it`() throws {
        #expect(pool.pause(patience: .zero))
        let readings = (0..<2).map { _ in read() }
        eventually { pool.waitingCount == 2 }
        #expect(readings.allSatisfy { !$0.begun.isOpen })
        #expect(!pool.pause(patience: .zero), "it is paused already")
        pool.resume()
        for (begun, end, reading) in readings {
            #expect(begun.wait())
            end.open()
            #expect(try reading.value() != nil)
        }
        #expect(!pool.isUsed)
    }

    @Test func `a pause waits for the reader that runs, and is given up when it stays`() throws {
        // A pause that no reader wakes would take its whole patience each time.
        for _ in 0..<20 {
            let (begun, end, reading) = read()
            begun.wait()
            #expect(!pool.pause(patience: .milliseconds(2)))
            end.open()
            #expect(pool.pause(patience: .seconds(600)))
            #expect(!pool.isUsed)
            pool.resume()
            #expect(try reading.value() != nil)
        }
    }

    @Test func `a thread that reads cannot pause the pool`() throws {
        try engine.read { _ in #expect(!pool.pause(patience: .seconds(600))) }
        #expect(pool.pause(patience: .zero))
    }

    @Test func `draining waits for the readers of one engine only, and refuses those that wait`()
        throws
    {
        let (own, others) = (read(), read(TestBorrower(pool)))
        for reading in [own, others] { reading.begun.wait() }
        let refused = Running { [engine] in try engine.read { _ in } }
        eventually { pool.waitingCount == 1 }
        engine.refuse(true)
        let draining = Running { [pool, engine] in pool.drain(engine.id) }
        #expect(throws: TestBorrower.Refusal.self) { try refused.value() }
        #expect(!draining.isDone(within: 10))
        own.end.open()
        #expect(try draining.value() != nil)
        #expect(pool.isUsed)
        others.end.open()
        #expect(try others.2.value() != nil)
    }

    @Test
    func
        `a thread that has its turn when its engine begins to refuse reads, and the next one after it`()
        throws
    {
        let reading = [read(), read()]
        for reading in reading { reading.begun.wait() }
        let waiting = Running { [engine] in try engine.read { $0.number } }
        eventually { pool.waitingCount == 1 }
        let other = read(TestBorrower(pool))
        eventually { pool.waitingCount == 2 }
        engine.refuse(true)
        reading[0].end.open()
        #expect(other.begun.wait())
        for gate in [other.end, reading[1].end] { gate.open() }
        for reading in reading + [other] { #expect(try reading.2.value() != nil) }
        #expect(try waiting.value() != nil)
    }

    @Test func `draining inside a read does not wait for that read`() throws {
        try engine.read { outer in
            engine.refuse(true)
            pool.drain(engine.id)
            #expect(pool.removeIdle().isEmpty)
            try engine.read { #expect($0 === outer) }
        }
        #expect(throws: TestBorrower.Refusal.self) { try engine.read { _ in } }
    }

    @Test func `the readers in use are those of one engine`() throws {
        let other = read(TestBorrower(pool))
        other.begun.wait()
        try engine.read { reader in
            var found: [Int] = []
            pool.forEachLent(to: engine.id) { found.append($0.number) }
            #expect(found == [reader.number])
        }
        other.end.open()
        #expect(try other.2.value() != nil)
    }
}
