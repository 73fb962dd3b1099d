// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import Synchronization

/// The replications of this process that run, in the order in which they were started.
///
/// State: the list, guarded by the mutex. It holds replications only while they run, as their tasks do.
final class RunningTable: Sendable {
    static let shared = RunningTable()

    private let running = Mutex<[Replication]>([])

    func add(_ replication: Replication) { running.withLock { $0.append(replication) } }

    func remove(_ replication: Replication) {
        // What is let go of goes outside the lock.
        let removed = running.withLock { running in
            let rest = running.firstIndex { $0 === replication }
            return rest.map { running.remove(at: $0) }
        }
        _ = removed
    }

    var all: [Replication] { running.withLock { $0 } }

    func replications(of database: Database) -> [Replication] {
        running.withLock { $0.filter { $0.database === database } }
    }
}

extension Database {
    /// The replications of this database that run, in the order in which they were started.
    ///
    /// ```swift
    /// for replication in database.replications { await replication.stopAndWait() }
    /// ```
    ///
    /// One that has ended is no longer among them, and one that another database pulls from or pushes to
    /// this one belongs to that other database. Ones that wait to try again run; suspended ones do not.
    public var replications: [Replication] { RunningTable.shared.replications(of: self) }
}
