// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// Whether the user has pressed Control-C.
///
/// The first Control-C asks: long work looks here between steps, finishes or rolls back what it is
/// doing, and ends with exit code 130. The second one, from a user who will not wait, ends the
/// process at once, which a database survives as it survives any death of its process.
final class Interruption: Sendable {
    private let requested = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    static let failure = CommandFailure(.interrupted, "Interrupted.")

    var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Begins to listen to Control-C.
    func listen() { listen(to: Signals.interrupt) }

    /// Takes the signal by which a service is told to end for Control-C, too: what waits for nothing else can end in order, and
    /// what has changed the terminal can change it back.
    func listenToTermination() { listen(to: Signals.termination) }

    private func listen(to signal: Int32) {
        // Without a thread to listen on, a signal ends the process at once, which loses nothing either.
        try? Signals.watch(signal) { [self] in request() }
    }

    /// Acts as Control-C does.
    func request() {
        if requested.exchange(true, ordering: .relaxed) {
            CurrentProcess.exitAtOnce(ExitCode.interrupted.rawValue)
        }
        takeAction()?()
    }

    func check() throws(CommandFailure) {
        if isRequested { throw Self.failure }
    }

    /// Runs `action` at the first Control-C, for work that waits and cannot look.
    func onRequest(_ newAction: @escaping @Sendable () -> Void) {
        action.withLock { $0 = newAction }
        if isRequested { takeAction()?() }
    }

    /// The action, once: both of those that may run it ask here.
    private func takeAction() -> (@Sendable () -> Void)? {
        action.withLock { action in
            defer { action = nil }
            return action
        }
    }
}
