// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Whether the user has pressed Control-C.
///
/// The first Control-C asks: long work looks here between steps, finishes or rolls back what it is
/// doing, and ends with exit code 130. The second one, from a user who will not wait, ends the
/// process at once, which a database survives as it survives any death of its process.
final class Interruption: Sendable {
    private let requested = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)
    private let source = Mutex<(any DispatchSourceSignal)?>(nil)

    static let failure = CommandFailure(.interrupted, "Interrupted.")

    var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Begins to listen to SIGINT.
    func listen() {
        SystemCalls.ignoreSignal(SIGINT)
        source.withLock { source in
            let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
            interrupts.setEventHandler { [self] in request() }
            interrupts.resume()
            source = interrupts
        }
    }

    /// Acts as Control-C does.
    func request() {
        if requested.exchange(true, ordering: .relaxed) {
            SystemCalls.exitImmediately(ExitCode.interrupted.rawValue)
        }
        action.withLock { $0 }?()
    }

    func check() throws(CommandFailure) {
        if isRequested { throw Self.failure }
    }

    /// Runs `action` at the first Control-C, for work that waits and cannot look.
    func onRequest(_ newAction: @escaping @Sendable () -> Void) {
        action.withLock { $0 = newAction }
        if isRequested { newAction() }
    }
}
