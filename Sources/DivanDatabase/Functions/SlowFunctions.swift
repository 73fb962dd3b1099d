// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanLogging
internal import DivanModel
internal import DivanSystem
internal import Synchronization

/// Logs a validation function that keeps the writer waiting.
///
///     writer   validate ──── the app's function ─────────────────────────► returns
///     timer                        0 s ··············· 5 s: one line, with its name and the ID
///
/// The line comes while the function still runs, since it may never return. All calls share one
/// timer, which runs only while there are some.
///
/// State: `state`, guarded by its mutex; the sink is called outside it.
final class SlowFunctions: Sendable {
    private struct Call {
        var function: String
        var documentID: DocumentID
        var since: ContinuousClock.Instant
    }

    private struct State {
        var threshold = Duration.seconds(5)
        var sink: @Sendable (String) -> Void = { line in
            Log.validation.warning("\(line)")
        }
        var nextTicket = 0
        var calls: [Int: Call] = [:]
        var hasTimer = false
    }

    /// A queue of its own, which gets a thread even when all shared ones are busy.
    private static let queue = DispatchQueue(label: "divan.slow-functions")
    private let databaseName: String
    private let state = Mutex(State())

    init(databaseName: String) { self.databaseName = databaseName }

    func configure(threshold: Duration, sink: @escaping @Sendable (String) -> Void) {
        state.withLock { state in
            state.threshold = threshold
            state.sink = sink
        }
    }

    /// Notes that a call begins; pass the result to `end`.
    func begin(_ function: String, _ id: DocumentID) -> Int {
        state.withLock { state in
            state.nextTicket += 1
            state.calls[state.nextTicket] = Call(function: function, documentID: id, since: .now)
            if !state.hasTimer {
                state.hasTimer = true
                startTimer(state.threshold)
            }
            return state.nextTicket
        }
    }

    /// Notes that a call ended.
    func end(_ ticket: Int) { state.withLock { _ = $0.calls.removeValue(forKey: ticket) } }

    private func startTimer(_ delay: Duration) {
        let milliseconds = Int(clamping: delay.boundedMilliseconds)
        Self.queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
            [weak self] in self?.check()
        }
    }

    private func check() {
        var slow: [Call] = []
        let sink = state.withLock { state in
            let now = ContinuousClock.now
            for (ticket, call) in state.calls where now - call.since >= state.threshold {
                slow.append(call)
                // Logged once.
                state.calls[ticket] = nil
            }
            state.hasTimer = !state.calls.isEmpty
            if let oldest = state.calls.values.map(\.since).min() {
                startTimer(state.threshold - (now - oldest))
            }
            return state.sink
        }
        for call in slow {
            sink(
                "The validation function '\(call.function)' has taken long over document "
                    + "'\(call.documentID)' and still runs; until it returns no thread can write to "
                    + "the database '\(databaseName)'.")
        }
    }
}

extension Database {
    /// Sets after how long in a validation function `sink` gets a line; for tests, which must not
    /// take five seconds.
    package func warnOfSlowValidation(
        after threshold: Duration, _ sink: @escaping @Sendable (String) -> Void
    ) {
        core.slowFunctions.configure(threshold: threshold, sink: sink)
    }
}
