// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanJSON
internal import Synchronization

/// One timer for everything that waits: thousands of parked feeds cost a table and no timers.
///
/// State: `state`, guarded by its mutex. The timer is set to the earliest deadline of the table, or
/// earlier.
final class Deadlines: Sendable {
    typealias Action = @Sendable () -> Void

    private struct State {
        var table: [Int: (time: DispatchTime, action: Action)] = [:]
        var scheduled = DispatchTime.distantFuture
        var isStopped = false
        var timer: (any DispatchSourceTimer)?
    }

    private let state = Mutex(State())
    init(_ queue: DispatchQueue) {
        state.withLock { state in
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler { [weak self] in self?.fire() }
            timer.activate()
            state.timer = timer
        }
    }

    deinit { stop() }

    /// Calls an action after a time, unless it is taken back; it replaces the one of the same number.
    func set(_ number: Int, after duration: Duration, _ action: @escaping Action) {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = Double(seconds) * 1e9 + Double(attoseconds) / 1e9
        let time = DispatchTime.now() + .nanoseconds(Int(clamping: min(nanoseconds, 1e15)))
        state.withLock { state in
            guard !state.isStopped else { return }
            state.table[number] = (time, action)
            if time < state.scheduled { schedule(time, &state) }
        }
    }

    /// Takes an action back.
    func remove(_ number: Int) { state.withLock { _ = $0.table.removeValue(forKey: number) } }

    /// Takes all actions back and takes no more.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.table = [:]
            state.timer?.cancel()
            state.timer = nil
        }
    }

    private func schedule(_ time: DispatchTime, _ state: inout State) {
        state.scheduled = time
        state.timer?.schedule(deadline: time, leeway: .milliseconds(5))
    }

    private func fire() {
        let due: [Action] = state.withLock { state in
            let now = DispatchTime.now()
            let due = state.table.filter { $0.value.time <= now }
            for number in due.keys { state.table[number] = nil }
            state.scheduled = .distantFuture
            if let next = state.table.values.map(\.time).min() { schedule(next, &state) }
            return due.values.map(\.action)
        }
        for action in due { action() }
    }
}
