// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// Warns of a write that waits so long for another thread's batch that it may wait for ever.
///
/// A batch that waits for other work which writes waits for itself:
///
///     thread A   inBatch { … waits for B ──────────────────► never goes on
///     thread B             save · · waits for A's batch · · · never begins
///
/// That cannot be told from a batch that merely takes long, so it is not an error; after ten seconds
/// a warning in the log says what is going on, once for each batch that is waited for. Only writes that
/// find the writer in use pay for this, and all of them share one timer.
///
/// State: `state`, guarded by its mutex.
final class WriterWaits: Sendable {
    private struct State {
        var threshold = Duration.seconds(10)
        var nextTicket = 0
        /// Since when each waiting write has waited.
        var waiting: [Int: ContinuousClock.Instant] = [:]
        var hasTimer = false
    }

    /// A queue of its own, which gets a thread even when all shared ones are busy waiting.
    private static let queue = DispatchQueue(label: "divan.waits")
    private let name: String
    private let state = Mutex(State())
    private let hasWarned = Atomic<Bool>(false)

    init(name: String) { self.name = name }

    func setThreshold(_ threshold: Duration) { state.withLock { $0.threshold = threshold } }

    /// Notes that a write begins to wait; pass the result to `end`.
    func begin() -> Int {
        state.withLock { state in
            state.nextTicket += 1
            state.waiting[state.nextTicket] = .now
            if !state.hasTimer {
                state.hasTimer = true
                startTimer(state.threshold)
            }
            return state.nextTicket
        }
    }

    /// Notes that a write has its turn, or gave up.
    func end(_ ticket: Int) { state.withLock { _ = $0.waiting.removeValue(forKey: ticket) } }

    /// Notes that a batch ended, so that the next one may be warned of again.
    func batchEnded() { hasWarned.store(false, ordering: .relaxed) }

    private func startTimer(_ delay: Duration) {
        let milliseconds = Int(clamping: delay.boundedMilliseconds)
        Self.queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
            [weak self] in self?.check()
        }
    }

    private func check() {
        let isNews = state.withLock { state in
            guard let oldest = state.waiting.values.min() else {
                state.hasTimer = false
                return false
            }
            let waited = ContinuousClock.now - oldest
            startTimer(waited < state.threshold ? state.threshold - waited : state.threshold)
            guard waited >= state.threshold else { return false }
            // Logged once: the writes that wait now are not logged again under the next batch.
            state.waiting = [:]
            return !hasWarned.exchange(true, ordering: .relaxed)
        }
        guard isNews else { return }
        Log.database.warning(
            "A write to the database '\(name)' has long been waiting for another thread's batch; if "
                + "that batch waits for work that writes, both wait for ever.")
    }
}

extension Database {
    /// Sets after how long a wait for the writer is logged; for tests, which must not take ten seconds.
    package func warnOfWaits(after threshold: Duration) { core.waits.setThreshold(threshold) }
}
