// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanDatabase
internal import DivanSystem
internal import Synchronization

// How a live query hears of changes, and coalesces them: those that come before a scheduled look begins are looked at
// together, and those that come while it runs have the next one.
//
//     changes     c1     c2  c3                                  c4
//     looks       L1                    L2 (c2, c3)              L4
//                 |<---- interval ----->|     a quiet time       at once
extension LiveQuery {
    /// Hears of a commit.
    func note(_ change: HubChange) {
        // Only a handle was closed.
        if change.documentIDs.isEmpty, state.withLock({ $0.source }).isClosed { return end() }
        schedule { $0.add(change) }
    }

    /// Runs the query, whatever changed.
    func fetchAgain() {
        if state.withLock({ $0.source }).isClosed { return end() }
        schedule { $0 = .everything }
    }

    private func schedule(_ add: (inout LivePending) -> Void) {
        let next = state.withLock { state -> (Int, Duration)? in
            guard state.phase == .running else { return nil }
            add(&state.pending)
            return state.look == nil ? state.scheduleLook() : nil
        }
        if let (number, delay) = next { look(number, after: delay) }
    }

    /// Begins a numbered look after a delay.
    func look(_ number: Int, after delay: Duration) {
        let nanoseconds = Int(clamping: delay.components.attoseconds / 1_000_000_000)
        let seconds = Int(clamping: delay.components.seconds)
        guard delay > .zero else { return queue.async { [weak self] in self?.look(number) } }
        let deadline = DispatchTime.now() + .seconds(seconds) + .nanoseconds(nanoseconds)
        queue.asyncAfter(deadline: deadline) { [weak self] in self?.look(number) }
    }
}

extension LiveQuery.State {
    /// Numbers the next look, and tells how long it must wait.
    mutating func scheduleLook() -> (Int, Duration) {
        nextLook += 1
        look = nextLook
        guard let lastLook else { return (nextLook, .zero) }
        let interval = interval.bounded
        let pause = pending.isRemote ? interval * 2 : interval
        return (nextLook, max(.zero, pause - (ContinuousClock.now - lastLook)))
    }
}
