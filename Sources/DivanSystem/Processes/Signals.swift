// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import Synchronization

/// The signals of the system.
package enum Signals {
    /// Control-C.
    package static let interrupt = SIGINT
    /// What a service is told to end by.
    package static let termination = SIGTERM
    /// What a service is told by to read its configuration again.
    package static let reload = SIGHUP
    /// What the system ends a process by that has computed for too long.
    package static let timeExhausted = SIGXCPU

    private struct Watch {
        /// What to do at each signal that is watched.
        var actions: [Int32: @Sendable () -> Void] = [:]
        /// Whether the pipe and the thread that reads it are there.
        var isReading = false
    }

    private static let watch = Mutex(Watch())
    /// The end of the pipe that the handler writes to.
    private static let told = Atomic<Int32>(-1)

    /// Runs a closure after each signal of a kind, instead of what the system does by default.
    ///
    /// The handler writes the signal's number into a pipe, since a handler may do next to nothing, and a thread reads
    /// it and runs the closure. At least one call follows each signal, unless 64 kB of them wait. A signal source of
    /// Dispatch is no substitute: on Linux it never tells of a signal that reaches the main thread while that waits in
    /// Dispatch.
    ///
    /// - Parameters:
    ///   - number: The signal.
    ///   - action: What to do, on a thread of its own.
    /// - Throws: `SystemError` when the system gives no more descriptors or threads; then the signal does what it did.
    package static func watch(
        _ number: Int32, _ action: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        try watch.withLock { watch throws(SystemError) in
            if !watch.isReading { try beginReading() }
            watch.isReading = true
            watch.actions[number] = action
        }
        _ = signal(number) { number in
            let before = errno
            var byte = UInt8(truncatingIfNeeded: number)
            // SAFETY: one byte, alive for the time of the call; a handler may call `write`.
            _ = unsafe write(Signals.told.load(ordering: .relaxed), &byte, 1)
            errno = before
        }
    }

    private static func beginReading() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has room for two descriptors.
        guard unsafe pipe(&ends) == 0 else { throw SystemError("pipe", "signals") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler never waits: one byte of a full pipe more or less tells nothing new.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let end = ends[0]
        do throws(SystemError) {
            try DetachedThread.start { read(end) }
        } catch {
            for end in ends { Descriptors.close(end) }
            throw error
        }
        told.store(ends[1], ordering: .relaxed)
    }

    private static func read(_ end: Int32) {
        var numbers = [UInt8](repeating: 0, count: 64)
        while let count = try? Descriptors.readSome(end, into: &numbers), count > 0 {
            for number in numbers[..<count] {
                watch.withLock { $0.actions[Int32(number)] }?()
            }
        }
    }

    /// Makes a write beyond the length that a file may have an error, instead of the end of the process.
    ///
    /// By a handler that does nothing, since programs that this one starts would ignore the signal, too.
    package static func refuseLongFiles() { _ = signal(SIGXFSZ) { _ in } }

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
