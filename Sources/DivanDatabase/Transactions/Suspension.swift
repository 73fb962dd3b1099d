// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanStorage
internal import Synchronization

/// Whether a database's files and locks are given up for a while, and which tasks wait for them.
///
///     running ──suspend()──► suspended ──resume()──► running
///                                └───────close()───► ended
///
/// State: `isOn`, atomic, read by every transaction; `signal` has its own lock.
final class Suspension: Sendable {
    private let on = Atomic<Bool>(false)
    /// Rings when a suspension ends.
    private let signal = CountedSignal()

    /// Whether transactions are refused.
    var isOn: Bool { on.load(ordering: .acquiring) }

    /// Refuses a transaction while suspended.
    func check(_ name: String) throws {
        if isOn { throw DatabaseError.suspended(name) }
    }

    /// Begins; false when it has begun already.
    func begin() -> Bool { !on.exchange(true, ordering: .acquiringAndReleasing) }

    /// Ends, and wakes the tasks that wait for that.
    func end() {
        on.store(false, ordering: .releasing)
        signal.send()
    }

    /// Waits until it has ended, or the task is cancelled.
    func waitForEnd() async {
        let count = signal.count
        if isOn { await signal.wait(after: count) }
    }
}

extension DatabaseCore {
    /// Waits for the batch that is running, stops the reads, and gives up every file lock.
    ///
    /// - Throws: `DatabaseError` with code `.databaseBusy` inside a transaction of this thread.
    func suspend() throws {
        guard let directory, !isClosed else { return }
        guard !isInTransaction else { throw DatabaseError.suspendingInside(name) }
        guard suspension.begin() else { return }
        do {
            expirationTimer.stop()
            hub.pause()
            // A writer that gets its turn from here on finds the database suspended.
            writer.sync { _ in }
            try engine.suspend()
        } catch {
            takeUpAgain()
            throw (error as? StorageError).map { _ in DatabaseError.suspendingInside(name) }
                ?? error
        }
        directory.unlock()
        Log.database.info("Suspended the database '\(name)'.")
    }

    /// Takes the locks and connections again, and looks for what other processes did meanwhile.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed` when the database was deleted or replaced
    ///   meanwhile: this core is then closed. `.databaseBusy` when another process holds it
    ///   exclusively, `.io`: it is then still suspended.
    func resume() throws {
        guard let directory, !isClosed, suspension.isOn else { return }
        guard try directory.lockAgain() else {
            close()
            throw DatabaseError.replaced(name)
        }
        do { try engine.resume() } catch {
            directory.unlock()
            throw (error as? StorageError).map { DatabaseError($0, documentID: nil) } ?? error
        }
        takeUpAgain()
        Log.database.info("Resumed the database '\(name)'.")
    }

    private func takeUpAgain() {
        suspension.end()
        if !options.readOnly { expirationTimer.start(self) }
        hub.takeUpAgain()
    }
}

extension DatabaseError {
    static func suspended(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseSuspended,
            "The database '\(name)' is suspended; call resume() on its manager and try again.")
    }

    static func suspendingInside(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "The database '\(name)' cannot be suspended inside one of its own transactions; call "
                + "suspend() outside of it.")
    }

    static func replaced(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseClosed,
            "The database '\(name)' was deleted or replaced while it was suspended; open it again.")
    }
}
