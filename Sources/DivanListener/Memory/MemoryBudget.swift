// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Synchronization

/// The memory that all requests together may take for their bodies.
///
/// A Swift program cannot survive an allocation that fails, and a small request can ask for much: 55 kB of gzip
/// are 55 MB of JSON, and `1,1,1` takes sixty times its length as values. So no body is decoded or parsed before
/// what that may cost has been reserved here:
///
///     body, in memory or in a file
///       │  BodyMeasure goes through it once: bytes, values, the longest document       holds 256 kB
///       ▼
///     beyond the limits of the route and the user? ──► 413
///       ▼
///     reserve(cost) ──► waits in turn ──► 503 after ten seconds; 413 when it could never fit
///       │
///       ▼  decode, parse, answer
///     the reservation goes with the call, or with the producer of its answer
///
/// ## Invariants
///
/// `checkInvariants()` tests the first and what the line shows of the third. The others speak of requests: `MemoryBudgetTests`
/// show them.
///
/// 1. What is reserved adds up to at most `capacity`.
/// 2. A request reserves once, for the most that it may cost, and only gives back afterwards. One that needs more gives
///    everything back before it asks again. So no request waits for another one that waits for it.
/// 3. Reservations are granted in the order in which they were asked for, so a large one is not overtaken without end by
///    small ones.
/// 4. A reservation ends with its last reference, however the request ends.
///
/// Up to `free` bytes nothing is reserved: that is what each worker may take, and small requests do not wait.
///
/// State: `state`, guarded by its mutex.
package final class MemoryBudget: Sendable {
    /// Why nothing was reserved.
    package enum Refusal: Error, Equatable {
        /// It is more than the budget.
        case neverFits
        /// There was no room in time.
        case tooBusy
    }

    private final class Waiter: Sendable {
        let bytes: Int
        let isGranted = Atomic(false)
        let signal = DispatchSemaphore(value: 0)

        init(_ bytes: Int) { self.bytes = bytes }
    }

    private struct State {
        var reserved = 0
        var waiting: [Waiter] = []
        var isClosed = false
    }

    /// What costs no more than this is part of what a worker takes anyway.
    static let free = 1 << 20

    /// The bytes that may be reserved.
    package let capacity: Int
    private let patience: Duration
    private let state = Mutex(State())

    /// Makes a budget.
    ///
    /// - Parameters:
    ///   - capacity: The bytes that may be reserved.
    ///   - patience: How long a reservation may wait.
    package init(capacity: Int, patience: Duration = .seconds(10)) {
        self.capacity = max(capacity, 0)
        self.patience = patience
    }

    /// The budget of a machine: half of its memory, at least 256 MB and at most 1 GB.
    static var standardCapacity: Int {
        let half = Int(clamping: ProcessInfo.processInfo.physicalMemory / 2)
        return min(max(half, 256 << 20), 1 << 30)
    }

    /// How many bytes are reserved.
    package var reserved: Int { state.withLock { $0.reserved } }

    /// How many reservations wait.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Reserves bytes, in turn; blocks until there is room.
    ///
    /// - Throws: ``Refusal``.
    package func reserve(_ bytes: Int) throws(Refusal) -> MemoryReservation {
        guard bytes <= capacity else { throw .neverFits }
        let waiter = Waiter(bytes)
        let mayStay = state.withLock { state in
            guard !state.isClosed else { return false }
            state.waiting.append(waiter)
            grant(&state)
            return true
        }
        guard mayStay else { throw .tooBusy }
        if waiter.signal.wait(timeout: .now() + patience.seconds) == .timedOut {
            withdraw(waiter)
        }
        guard waiter.isGranted.load(ordering: .acquiring) else { throw .tooBusy }
        return MemoryReservation(self, bytes)
    }

    /// Reserves bytes for text that is about to be written, or all there is when that is less; blocks until there is room. So
    /// what is longer than the whole budget is written alone.
    ///
    /// - Throws: `HTTPFailure` 503 when there was no room in time.
    func reserve(forText bytes: Int) throws -> MemoryReservation? {
        guard bytes > Self.free else { return nil }
        do { return try reserve(min(bytes, capacity)) } catch { throw HTTPFailure.noMemory }
    }

    /// Reserves bytes if there is room now and no request waits for it; nil otherwise.
    package func tryReserve(_ bytes: Int) -> MemoryReservation? {
        let isTaken = state.withLock { state in
            guard state.waiting.isEmpty, !state.isClosed, bytes <= capacity - state.reserved
            else { return false }
            state.reserved += bytes
            return true
        }
        return isTaken ? MemoryReservation(self, bytes) : nil
    }

    /// Refuses those that wait, and all that come.
    package func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.signal.signal() }
    }

    /// Takes one that has waited too long out of the line; those behind it may fit now.
    private func withdraw(_ waiter: Waiter) {
        state.withLock { state in
            state.waiting.removeAll { $0 === waiter }
            grant(&state)
        }
    }

    fileprivate func release(_ bytes: Int) {
        state.withLock { state in
            state.reserved -= bytes
            grant(&state)
        }
    }

    private func grant(_ state: inout State) {
        while let first = state.waiting.first, first.bytes <= capacity - state.reserved {
            state.waiting.removeFirst()
            state.reserved += first.bytes
            first.isGranted.store(true, ordering: .releasing)
            first.signal.signal()
        }
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        state.withLock { state in
            precondition(state.reserved >= 0 && state.reserved <= capacity, "invariant 1")
            if let first = state.waiting.first {
                precondition(first.bytes > capacity - state.reserved, "invariant 3")
                precondition(!state.isClosed, "invariant 3")
            }
            for waiter in state.waiting {
                precondition(!waiter.isGranted.load(ordering: .relaxed), "invariant 3")
                precondition(waiter.bytes <= capacity, "invariant 3")
            }
        }
    }
}

/// Bytes of a budget, which are given back with the last reference to this.
package final class MemoryReservation: Sendable {
    private let budget: MemoryBudget
    private let bytes: Atomic<Int>

    fileprivate init(_ budget: MemoryBudget, _ bytes: Int) {
        self.budget = budget
        self.bytes = Atomic(bytes)
    }

    deinit { budget.release(bytes.load(ordering: .acquiring)) }

    fileprivate var count: Int { bytes.load(ordering: .acquiring) }

    /// Takes over the bytes of another reservation of the same budget.
    fileprivate func absorb(_ other: MemoryReservation) {
        bytes.add(other.bytes.exchange(0, ordering: .acquiringAndReleasing), ordering: .releasing)
    }

    /// Gives back all but so many bytes.
    fileprivate func shrink(to kept: Int) {
        let whole = bytes.load(ordering: .acquiring)
        guard kept < whole,
            bytes.compareExchange(
                expected: whole, desired: kept, ordering: .acquiringAndReleasing
            ).exchanged
        else { return }
        budget.release(whole - kept)
    }

    /// Gives back three quarters.
    fileprivate func keepQuarter() { shrink(to: count / 4) }
}

/// What one request has reserved. The call has it, and so has the producer of its answer.
///
/// State: `reservation`, guarded by its mutex.
package final class RequestMemory: Sendable {
    fileprivate let reservation = Mutex<MemoryReservation?>(nil)

    /// Gives back what was reserved, and reserves bytes in its place.
    ///
    /// - Throws: `HTTPFailure` 413 when they could never fit, 503 when there was no room in time.
    func reserve(_ bytes: Int, in budget: MemoryBudget) throws {
        reservation.withLock { $0 = nil }
        guard bytes > MemoryBudget.free else { return }
        do {
            let made = try budget.reserve(bytes)
            reservation.withLock { $0 = made }
        } catch .neverFits {
            throw HTTPFailure.bodyTooLarge
        } catch .tooBusy {
            throw HTTPFailure.noMemory
        }
    }
}

// What grows while it is found, so that its size is not known before.
extension RequestMemory {
    /// There is no room for more at the moment, beside what the request has. It lets go of all that it holds, reserves so many
    /// bytes in turn and begins again: one that waited with what it has could wait for another one that does the same.
    struct NoRoom: Error {
        let bytes: Int
    }

    /// Reserves more, beside what is reserved, so that it comes to so many bytes; twice as much where there is room, so that it is
    /// seldom asked for. It does not wait.
    ///
    /// - Parameters:
    ///   - bytes: What is held by now.
    ///   - budget: What it is reserved from.
    ///   - refusal: What to throw where it could never fit.
    /// - Throws: ``NoRoom``, and `refusal`.
    func grow(to bytes: Int, in budget: MemoryBudget, orThrow refusal: HTTPFailure) throws {
        guard bytes > MemoryBudget.free else { return }
        guard bytes <= budget.capacity else { throw refusal }
        try reservation.withLock { held in
            let former = held?.count ?? 0
            guard bytes > former else { return }
            let wanted = min(2 * bytes, budget.capacity)
            guard
                let more = budget.tryReserve(wanted - former) ?? budget.tryReserve(bytes - former)
            else { throw NoRoom(bytes: wanted) }
            guard let held else { return held = more }
            held.absorb(more)
        }
    }

    /// Gives back all but so many bytes.
    func shrink(to bytes: Int) {
        reservation.withLock { held in
            guard bytes > MemoryBudget.free else { return held = nil }
            held?.shrink(to: bytes)
        }
    }
}

extension RequestMemory {
    /// Gives back everything.
    func release() { reservation.withLock { $0 = nil } }

    /// Keeps what an answer has reserved, until the answer is done.
    func keep(_ made: MemoryReservation) { reservation.withLock { $0 = made } }

    /// Gives back three quarters of what was reserved, where most of the request is done and the rest may take long.
    func keepQuarter() { reservation.withLock { $0?.keepQuarter() } }
}

extension HTTPFailure {
    /// Others take the memory.
    fileprivate static let noMemory = HTTPFailure(
        503, "too_busy",
        "Other requests take the memory that this one needs; try again in some seconds.",
        headers: ["Retry-After": "5"])
}

extension Duration {
    /// The duration in seconds.
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
