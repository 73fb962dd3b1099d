// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

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
    }

    private let state = Mutex(State())
    private let thread: CurlThread

    /// Starts a thread.
    ///
    /// - Throws: `HTTPError` when there is no memory or no thread.
    init() throws {
        thread = try CurlThread()
        try thread.start { [self] multi in run(multi) }
    }

    /// Asks the thread for something.
    func post(_ command: Command) {
        let isStopping = state.withLock { state in
            guard !state.isStopping else { return true }
            state.commands.append(command)
            if state.commands.count == 1 { thread.wake() }
            return false
        }
        if isStopping, case .start(let transfer, _) = command {
            transfer.finish(.failure(HTTPError.closed))
        }
    }

    /// Ends all transfers and the thread, and closes the connections. Does not wait for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        thread.wake()
    }

    /// Whether the thread has ended and its sockets are closed.
    var hasEnded: Bool { thread.hasEnded }

    private func run(_ multi: CurlMulti) {
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
    }
}
