// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import DivanSystem
internal import Synchronization

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
        do { try DetachedThread.start { self.run(work) } } catch {
            end()
            throw HTTPError.noThread(error.number)
        }
    }

    /// Ends the sleep of the thread, or its next one.
    func wake() { phase.withLock { if $0 == .running { multi.wakeUp() } } }

    /// Whether it has ended and its sockets are closed.
    var hasEnded: Bool { phase.withLock { $0 == .ended } }

    private func run(_ work: (CurlMulti) -> Void) {
        // A connection that the other end closed must give an error, not a signal to the whole process.
        Signals.blockBrokenPipe()
        work(multi)
        end()
    }

    private func end() {
        phase.withLock { phase in
            phase = .ended
            multi.free()
        }
    }
}
