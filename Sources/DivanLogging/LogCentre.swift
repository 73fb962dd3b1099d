// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// Takes entries from any thread and hands them to the sinks, one at a time and in order.
///
///     thread A   log(1) ─► [1]       ─► delivers 1, 2, 3 ───────────────────► returns
///     thread B              log(2) ─► [2]    ─► returns: A is at it
///     thread A's sink           log(x) ─► dropped: a sink may not feed itself
///     thread C                     log(3) ─► [3] ─► returns
///
/// A thread that logs while no thread delivers becomes the deliverer, and goes on until nothing is
/// left. No lock is held while a sink works, so a sink that blocks stops the thread that delivers and
/// no other one.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of each; the order of what leaves `waiting` the sinks of `LogCentreTests`
/// show.
///
/// 1. `gate` is, for each domain, the lowest level that any sink wants. It is all that a call which is
///    off looks at.
/// 2. At most one thread delivers (`deliverer`); entries leave `waiting` in the order they came.
/// 3. `waiting` never holds more than `capacity` entries. Entries that come while it is full are
///    counted, and the count is logged when there is room again.
///
/// State: `gate`, atomic, written only under the mutex; `state`, guarded by it.
package final class LogCentre: Sendable {
    /// Entries that may wait while a sink is slow.
    package static let capacity = 4_096

    private struct Outlet {
        var sink: any LogSink
        /// Its own levels; nil for those of the centre.
        var levels: LogLevels?
    }

    private struct State {
        var levels = LogLevels(.warning)
        var outlets: [Outlet] = []
        var waiting: [LogEntry] = []
        var deliverer: UInt?
        var dropped = 0

        /// For each domain the lowest level that any sink wants.
        var wanted: LogLevels {
            outlets.reduce(LogLevels(.none)) { $0.union($1.levels ?? levels) }
        }
    }

    private let gate: Atomic<UInt64>
    private let state: Mutex<State>

    /// Makes a centre; `sink` is the first one.
    package init(sink: any LogSink = StandardErrorSink()) {
        var state = State()
        state.outlets = [Outlet(sink: sink, levels: nil)]
        gate = Atomic(state.levels.word)
        self.state = Mutex(state)
    }

    // MARK: - Levels and sinks

    /// Whether some sink wants entries of this kind. One atomic load.
    package func isEnabled(_ level: LogLevel, _ domain: LogDomain) -> Bool {
        level >= LogLevels(word: gate.load(ordering: .relaxed))[domain] && level != .none
    }

    /// The levels for sinks that have none of their own.
    package var levels: LogLevels {
        get { state.withLock { $0.levels } }
        set { change { $0.levels = newValue } }
    }

    /// Changes one domain's level, or that of all.
    package func setLevel(_ level: LogLevel, for domain: LogDomain?) {
        change { state in
            if let domain { state.levels[domain] = level } else { state.levels = LogLevels(level) }
        }
    }

    /// Adds a sink.
    package func add(_ sink: any LogSink, levels: LogLevels?) {
        change { $0.outlets.append(Outlet(sink: sink, levels: levels)) }
    }

    /// Removes a sink; one that is not there is fine. It may still be given one entry.
    package func remove(_ sink: any LogSink) {
        change { $0.outlets.removeAll { $0.sink === sink } }
    }

    /// Replaces all sinks.
    package func replaceSinks(by sinks: [any LogSink]) {
        change { $0.outlets = sinks.map { Outlet(sink: $0, levels: nil) } }
    }

    /// Replaces all sinks by a closure; nil by standard error.
    package func redirect(to body: (@Sendable (LogEntry) -> Void)?) {
        replaceSinks(by: [body.map { ClosureSink($0) } ?? StandardErrorSink()])
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            gate.store(state.wanted.word, ordering: .relaxed)
        }
    }

    /// Stops the program where an invariant does not hold; for tests.
    package func checkInvariants() {
        state.withLock { state in
            let levels = LogLevels(word: gate.load(ordering: .relaxed))
            for domain in LogDomain.allCases {
                precondition(levels[domain] == state.wanted[domain], "invariant 1")
            }
            precondition(state.waiting.isEmpty || state.deliverer != nil, "invariant 2")
            precondition(state.waiting.count <= Self.capacity, "invariant 3")
            precondition(
                state.dropped == 0 || state.waiting.count == Self.capacity, "invariant 3")
        }
    }

    // MARK: - Entries

    /// Takes an entry, and delivers what waits unless another thread does so.
    package func log(_ entry: LogEntry) {
        let thread = ThreadIdentity.current
        let delivers = state.withLock { state in
            if state.deliverer == thread { return false }
            guard state.waiting.count < Self.capacity else {
                state.dropped += 1
                return false
            }
            state.waiting.append(entry)
            guard state.deliverer == nil else { return false }
            state.deliverer = thread
            return true
        }
        if delivers { deliver() }
    }

    private func deliver() {
        while true {
            let batch: (entries: [LogEntry], outlets: [Outlet], levels: LogLevels) =
                state.withLock { state in
                    var entries = state.waiting
                    state.waiting = []
                    if state.dropped > 0, let last = entries.last {
                        entries.append(Self.lost(state.dropped, after: last))
                        state.dropped = 0
                    }
                    if entries.isEmpty { state.deliverer = nil }
                    return (entries, state.outlets, state.levels)
                }
            if batch.entries.isEmpty { return }
            for entry in batch.entries {
                for outlet in batch.outlets
                where entry.level >= (outlet.levels ?? batch.levels)[entry.domain] {
                    outlet.sink.write(entry)
                }
            }
        }
    }

    private static func lost(_ count: Int, after entry: LogEntry) -> LogEntry {
        LogEntry(
            millisecondsSince1970: entry.millisecondsSince1970, domain: entry.domain,
            level: .warning, message: "\(count) log entries were dropped: a log sink is too slow.")
    }
}
