// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Several of a thing that has state, each of which serves one thread at a time: any thread gets one that is free.
///
/// On Linux, to try a lock that is taken is a call of the system, so a thread takes a mark first.
final class ThreadedPool<Thing: ~Copyable>: Sendable {
    private final class Place: Sendable {
        let thing: Mutex<Thing>
        let isTaken = Atomic(false)

        init(_ thing: consuming sending Thing) { self.thing = Mutex(thing) }
    }

    /// About as many as there are cores that index at once.
    private static var count: Int { 8 }

    private let places: [Place]

    /// Makes a pool; nil when none of the things can be made.
    init?(_ make: () -> sending Thing?) {
        var places: [Place] = []
        for _ in 0..<Self.count {
            if let thing = make() { places.append(Place(thing)) }
        }
        guard !places.isEmpty else { return nil }
        self.places = places
    }

    /// Lends a thing that no other thread has; waits for one if all are taken.
    func withOne<R>(_ body: (borrowing Thing) -> sending R) -> R {
        for place in places
        where !place.isTaken.load(ordering: .relaxed)
            && !place.isTaken.exchange(true, ordering: .acquiring)
        {
            defer { place.isTaken.store(false, ordering: .releasing) }
            return place.thing.withLock { body($0) }
        }
        return places[0].thing.withLock { body($0) }
    }
}
