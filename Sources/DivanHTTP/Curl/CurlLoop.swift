// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The thread that drives one multi handle of libcurl's, and the commands that reach it.
///
/// libcurl's handles belong to one thread. Tasks never touch them: they post a command and wake the thread, which
/// does what was asked, lets libcurl work, tells transfers that have ended, and sleeps until there is more to do.
///
/// A thread without work sleeps without end and costs nothing. It ends, and closes its connections, with ``stop()``.
final class CurlLoop: Sendable {
    /// What a task asks for.
    enum Command {
        /// Begin a transfer.
        case start(CurlTransfer, CurlSettings)
        /// Look again which directions may go on.
        case resume(CurlTransfer)
        /// Take a transfer out, which has ended for its task.
        case remove(CurlTransfer)
    }

    private struct State {
        var commands: [Command] = []
        var isStopping = false
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let multi: CurlMulti

    /// Starts a thread.
    ///
    /// - Throws: `HTTPError` when there is no memory or no thread.
    init() throws {
        guard let multi = CurlMulti() else {
            throw HTTPError.noMemory
        }
        self.multi = multi
        try startThread()
    }

    private func startThread() throws {
        // SAFETY: the thread takes over the reference that is passed to it, and returns it at its end.
        let context = unsafe Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            unsafe context.release()
            multi.free()
            throw HTTPError.noThread(code)
        }
        pthread_detach(thread)
    }

    /// Asks the thread for something.
    func post(_ command: Command) {
        let isStopping = state.withLock { state in
            guard !state.isStopping else { return true }
            state.commands.append(command)
            if state.commands.count == 1 { multi.wakeUp() }
            return false
        }
        if isStopping, case .start(let transfer, _) = command {
            transfer.finish(.failure(HTTPError.closed))
        }
    }

    /// Ends all transfers and the thread, and closes the connections. Does not wait for it.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            if !state.hasEnded { multi.wakeUp() }
        }
    }

    /// Whether the thread has ended and its sockets are closed.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    private func run() {
        // A connection that the other end closed must give an error, not a signal to the whole process.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)

        var driver = CurlDriver(multi: multi)
        while true {
            let (commands, isStopping) = state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isStopping)
            }
            for command in commands { driver.execute(command) }
            if isStopping { break }
            driver.work()
            multi.poll(milliseconds: driver.pause)
        }
        driver.endAll()
        state.withLock { state in
            multi.free()
            state.hasEnded = true
        }
    }
}
