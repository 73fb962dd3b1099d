// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import Synchronization

/// Notes in databases which place their feeds had reached at which time (``TimeBins``).
///
/// It looks before an edit by a client, at most once in three hours for each database. What the app or a replication changes in between
/// counts to the bin before, which is right: a bin says when something was changed at the earliest.
///
/// The bins are in a local document that no client can reach.
///
/// State: when each database was looked at, guarded by the mutex.
final class SequenceTimes: Sendable {
    private static let documentID: DocumentID = "\(Call.hiddenPrefix)time-seq"
    /// More databases than this are not kept in mind.
    private static let mostDatabases = 10_000

    /// By incarnation, since another database may have the name later.
    private let looked = Mutex<NameMap<Int64>>([:])

    /// Notes where a database stands, if that is due.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - clock: The time, in seconds since 1970.
    /// - Throws: `DatabaseError`.
    func note(_ database: Database, clock: () -> Int64 = { AccountsFile.now }) throws {
        let time = clock()
        let incarnation = database.incarnation
        let isDue = looked.withLock { looked in
            if let last = looked[incarnation],
                (0..<TimeBins.shortest).contains(time.subtractingSaturated(last))
            {
                return false
            }
            if looked.count >= Self.mostDatabases { looked = [:] }
            looked[incarnation] = time
            return true
        }
        guard isDue else { return }
        var bins = try bins(of: database)
        // The second in which the sequence was read is not over: something more may have been changed in it.
        let sequence = try database.lastSequence
        guard bins.note(sequence, at: clock().addingSaturated(1)) else { return }
        try database.putLocalDocument(Self.documentID, bins.object)
    }

    /// Notes where a database stands before an edit, which goes on where that fails: what is wrong with the database the edit itself says,
    /// and the next bin begins later.
    func noteBeforeEdit(of database: Database) {
        do { try note(database) } catch {
            Log.listener.info("The time was not noted in '\(database.name)': \(error)")
        }
    }

    /// The bins of a database.
    func bins(of database: Database) throws -> TimeBins {
        TimeBins(try database.localDocument(Self.documentID))
    }

    /// Forgets the bins of a database.
    func reset(_ database: Database) throws {
        try database.deleteLocalDocument(Self.documentID)
        looked.withLock { $0[database.incarnation] = nil }
    }
}
