// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// The opening of one database by one thread, for whose end other threads wait that want the same one.
///
/// State: `busy`, guarded by its mutex; `running` is empty once the opening has ended.
final class Opening: Sendable {
    private let running = DispatchGroup()
    private let busy = Mutex<DatabaseError?>(nil)

    /// Begins.
    init() { running.enter() }

    /// Ends, and lets the others go on.
    ///
    /// - Parameter result: What came of it.
    func end(_ result: Result<Database, any Error>) {
        if case .failure(let error as DatabaseError) = result, error.code == .databaseBusy {
            busy.withLock { $0 = error }
        }
        running.leave()
    }

    /// Waits for the end.
    ///
    /// - Returns: The error when the database was busy: a thread that has waited for it would find the same, after as long
    ///   a wait once more. Of all other errors each thread finds its own, which depends on its options.
    @discardableResult
    func wait() -> DatabaseError? {
        let pause = BlockingThreads.beginWait()
        running.wait()
        pause?.end()
        return busy.withLock { $0 }
    }
}
