// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A thread with a multi handle of libcurl's, which it alone drives and which is freed at its end.
///
/// State: how far it has come, guarded by the mutex; under it the handle is woken, and freed.
final class CurlThread: Sendable {
    private enum Phase {
        case waiting, running, ended
    }

    private let multi: CurlMulti
    private let phase = Mutex(Phase.waiting)

    /// Makes a thread, which does not run yet.
    ///
    /// - Throws: `HTTPError` when there is no memory.
    init() throws {
        guard let multi = CurlMulti() else { throw HTTPError.noMemory }
        self.multi = multi
    }

    deinit { if phase.withLock({ $0 == .waiting }) { multi.free() } }

    /// Runs work on the thread, once; the thread ends with it.
    ///
    /// - Throws: `HTTPError` when there is no thread.
    func start(_ work: @escaping @Sendable (CurlMulti) -> Void) throws {
        phase.withLock { $0 = .running }
        // SAFETY: the thread takes over the reference that is passed to it, and returns it at its end.
        let context = unsafe Unmanaged.passRetained(Start(thread: self, work: work))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                start.thread.run(start.work)
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            unsafe context.release()
            end()
            throw HTTPError.noThread(code)
        }
        pthread_detach(thread)
    }

    /// Ends the sleep of the thread, or its next one.
    func wake() { phase.withLock { if $0 == .running { multi.wakeUp() } } }

    /// Whether it has ended and its sockets are closed.
    var hasEnded: Bool { phase.withLock { $0 == .ended } }

    private func run(_ work: (CurlMulti) -> Void) {
        // A connection that the other end closed must give an error, not a signal to the whole process.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        work(multi)
        end()
    }

    private func end() {
        phase.withLock { phase in
            phase = .ended
            multi.free()
        }
    }

    /// What a thread begins with.
    private final class Start: Sendable {
        let thread: CurlThread
        let work: @Sendable (CurlMulti) -> Void

        init(thread: CurlThread, work: @escaping @Sendable (CurlMulti) -> Void) {
            self.thread = thread
            self.work = work
        }
    }
}
