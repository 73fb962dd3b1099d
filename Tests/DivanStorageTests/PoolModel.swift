// SPDX-License-Identifier: Apache-2.0

/// A naive pool of readers, in which no thread really waits: what `ReaderPool` is compared with.
///
/// Each function returns the threads that are done with what they asked for, and what they got.
struct PoolModel {
    enum Outcome: Equatable, Sendable {
        case lent(Int), refused, failed, done, odd
    }

    struct Waiting {
        let thread: Int
        let engine: Int
        /// The reader that it would make; `nil` if its maker fails.
        let number: Int?
    }

    let limit: Int
    /// The number of the reader that a thread has, and for which engine.
    private(set) var lent: [Int: (number: Int, engine: Int)] = [:]
    private(set) var waiting: [Waiting] = []
    /// The threads that wait for the readers of an engine, or of all.
    private(set) var drainers: [Int: Int?] = [:]
    var refusing: Set<Int> = []
    private var isPaused = false
    /// The readers, by their places.
    private var places: [Int] = []

    /// The readers that no thread has. The first is lent first.
    var idle: [Int] {
        places.filter { number in !lent.values.contains { $0.number == number } }
    }

    mutating func removeIdle() { places.removeAll(where: Set(idle).contains) }

    init(limit: Int) { self.limit = limit }

    func isAsleep(_ thread: Int) -> Bool {
        drainers[thread] != nil || waiting.contains { $0.thread == thread }
    }

    func isDrained(_ engine: Int) -> Bool { drainers.values.contains(engine) }

    func readers(of engine: Int) -> [Int] {
        lent.values.filter { $0.engine == engine }.map(\.number).sorted()
    }

    /// Whether the pause has begun, so that it can end.
    var isPausedByNow: Bool { isPaused && !drainers.values.contains(nil) }

    var isAtRest: Bool { lent.isEmpty && waiting.isEmpty && drainers.isEmpty && !isPaused }

    mutating func borrow(_ thread: Int, _ engine: Int, number: Int?) -> [Int: Outcome] {
        if refusing.contains(engine) { return [thread: .refused] }
        waiting.append(Waiting(thread: thread, engine: engine, number: number))
        return serve()
    }

    mutating func giveBack(_ thread: Int, isKept: Bool) -> [Int: Outcome] {
        guard let (number, _) = lent.removeValue(forKey: thread) else { return [:] }
        if !isKept { places.removeAll { $0 == number } }
        return serve().merging([thread: .done]) { _, new in new }
    }

    mutating func pause(_ thread: Int, isPatient: Bool) -> [Int: Outcome] {
        guard !isPaused, lent[thread] == nil, lent.isEmpty || isPatient else {
            return [thread: .refused]
        }
        isPaused = true
        drainers[thread] = .some(nil)
        return serve()
    }

    mutating func resume() -> [Int: Outcome] {
        isPaused = false
        return serve()
    }

    mutating func drain(_ thread: Int, _ engine: Int) -> [Int: Outcome] {
        refusing.insert(engine)
        drainers[thread] = .some(engine)
        var outcomes: [Int: Outcome] = [:]
        for waiter in waiting where waiter.engine == engine { outcomes[waiter.thread] = .refused }
        waiting.removeAll { $0.engine == engine }
        return serve().merging(outcomes) { _, new in new }
    }

    /// Lends what there is, and ends the waits that are over.
    private mutating func serve() -> [Int: Outcome] {
        var outcomes: [Int: Outcome] = [:]
        while !isPaused, lent.count < limit, !waiting.isEmpty {
            let next = waiting.removeFirst()
            if let number = idle.first ?? next.number {
                if number == next.number { places.append(number) }
                lent[next.thread] = (number, next.engine)
                outcomes[next.thread] = .lent(number)
            } else {
                outcomes[next.thread] = .failed
            }
        }
        for (thread, engine) in drainers
        where !lent.contains(where: {
            $0.key != thread && (engine == nil || engine == $0.value.engine)
        }) {
            drainers[thread] = nil
            outcomes[thread] = .done
        }
        return outcomes
    }
}
