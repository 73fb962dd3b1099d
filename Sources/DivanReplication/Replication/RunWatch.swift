// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a run has done so far, for the one who decides about the next.
///
/// State: what was seen, guarded by the mutex.
final class RunWatch: Sendable {
    private struct State {
        var run = RetryCount.Run()
        var saved: RemoteSequence?
        var idleSince: ContinuousClock.Instant?

        mutating func endIdling() {
            guard let since = idleSince else { return }
            idleSince = nil
            run.idle = max(run.idle ?? .zero, since.duration(to: .now))
        }
    }

    private let state = Mutex(State())
    /// Whether a revision that was stored is progress: not where everything is sent each time.
    private let countsStored: Bool
    /// The last checkpoint of the runs before. Where neither end keeps them, the same one is saved again each time.
    private let previous: RemoteSequence?

    init(after previous: RemoteSequence?, countsStored: Bool) {
        self.previous = previous
        self.countsStored = countsStored
    }

    /// The checkpoint that was saved last.
    var saved: RemoteSequence? { state.withLock { $0.saved } }

    /// Takes the progress of the run.
    func take(_ progress: ReplicationRun.Progress) {
        state.withLock { state in
            state.saved = progress.saved
            state.run.hasMoved =
                (progress.saved != nil && progress.saved != previous)
                || (countsStored && progress.stored > 0)
            if progress.isIdle {
                state.idleSince = state.idleSince ?? .now
            } else {
                state.endIdling()
            }
        }
    }

    /// What it has done, at its end.
    func seen() -> RetryCount.Run {
        state.withLock { state in
            state.endIdling()
            return state.run
        }
    }
}
