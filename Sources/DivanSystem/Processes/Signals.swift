// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The signals of the system.
package enum Signals {
    /// Control-C.
    package static let interrupt = SIGINT
    /// What a service is told to end by.
    package static let termination = SIGTERM

    /// Makes the default action of a signal nothing, so that a dispatch source can see it instead.
    ///
    /// - Parameter number: The signal.
    package static func ignore(_ number: Int32) { _ = signal(number, SIG_IGN) }

    /// Makes a write to a connection that the other end closed an error on this thread, instead of a signal to
    /// the whole process.
    package static func blockBrokenPipe() {
        var signals = sigset_t()
        // SAFETY: the set is a local that outlives the calls.
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
