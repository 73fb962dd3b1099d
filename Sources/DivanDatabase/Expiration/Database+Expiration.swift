// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel
public import FoundationEssentials

/// A document and when it expires.
public struct Expiration: Sendable, Hashable {
    /// The document's ID.
    public var documentID: DocumentID
    /// When it will be purged.
    public var date: Date
}

extension Database {
    /// Sets when a document expires: it is then purged, as by `purge(_:)`, here and nowhere else.
    ///
    /// ```swift
    /// try database.setExpiration(of: "session", at: Date(timeIntervalSinceNow: 3_600))
    /// try database.setExpiration(of: "session", at: nil)      // it stays after all
    /// ```
    ///
    /// A timer purges the document soon after the date, while some process has the database open for
    /// writing; what expired meanwhile is purged when the database is next opened. A date in the past
    /// counts as due: the next pass, which begins at once on another thread, purges the document. Until
    /// then it is read as before.
    ///
    /// The date is kept to the millisecond, as an absolute time up to the end of the year 9999. It
    /// belongs to the document here: new revisions keep it, also those of a replication, and so does a
    /// deletion, whose tombstone is purged when the time comes. A deleted document that is made anew here
    /// has no date until one is set. Where a replication brings a revision that undoes a deletion, the
    /// date stays. It is not replicated, no revision is made, and listeners are not notified of the
    /// date, only of the purge.
    ///
    /// - Parameters:
    ///   - id: A document's ID; the document may be deleted.
    ///   - date: When it expires; nil when it does not.
    /// - Throws: `DatabaseError` with code `.documentNotFound`, `.invalidQuery` for a date that is not a number, or
    ///   as `write(_:)`.
    public func setExpiration(of id: DocumentID, at date: Date?) throws {
        try jointOperation { try $0.setExpiration(of: id, at: date) }
    }

    /// Lets a document expire after a time from now.
    ///
    /// ```swift
    /// try database.setExpiration(of: "session", after: .seconds(3_600))
    /// ```
    public func setExpiration(of id: DocumentID, after duration: Duration) throws {
        let (seconds, attoseconds) = duration.components
        let interval = Double(seconds) + Double(attoseconds) / 1e18
        try setExpiration(of: id, at: core.expirationTimer.now.date.addingTimeInterval(interval))
    }

    /// Returns when a document expires.
    ///
    /// - Returns: nil when it does not, and when there is no such document.
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func expirationDate(of id: DocumentID) throws -> Date? {
        try read { try $0.expirationDate(of: id) }
    }

    /// Returns the documents that expire before a date, the next one first.
    ///
    /// ```swift
    /// let soon = try database.documentsExpiring(before: Date(timeIntervalSinceNow: 300))
    /// ```
    ///
    /// It reads these documents' dates and nothing else, however large the database.
    ///
    /// - Parameters:
    ///   - date: The first date that is too late; nil for every document that expires.
    ///   - limit: How many at most; nil for all.
    /// - Returns: The documents; those that are due and not yet purged are among them.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a negative `limit` or a date that is not a number,
    ///   `.databaseClosed`, `.io` or `.corrupted`.
    public func documentsExpiring(before date: Date? = nil, limit: Int? = nil) throws
        -> [Expiration]
    {
        try read { try $0.documentsExpiring(before: date, limit: limit) }
    }

    /// Purges the documents whose time has come, without waiting for the timer.
    ///
    /// It works in batches of 2,000, between which other threads read and write.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work, and what was purged stays so.
    /// - Returns: How many documents were purged.
    /// - Throws: `DatabaseError` as `write(_:)`, and what `progress` throws. With `.corrupted`, all are
    ///   purged but those that are damaged, or whose dates are.
    @discardableResult
    public func purgeExpired(progress: ProgressHandler? = nil) throws -> Int {
        try checkWritable()
        try checkAvailable()
        return try ExpirationPass(core: core, now: core.expirationTimer.now, progress: progress)
            .run()
    }

    /// Makes expiration follow another clock; for tests, which cannot wait for years.
    package func setExpirationClock(_ clock: @escaping @Sendable () -> Date) {
        core.expirationTimer.setClock { ExpirationTime(clock()) }
    }

    /// What the timer of expiration is set for; for tests.
    package var expirationDeadline: Date? { core.expirationTimer.deadline?.date }
}

extension WriteTransaction {
    /// Sets when a document expires; see `Database.setExpiration(of:at:)`.
    public func setExpiration(of id: DocumentID, at date: Date?) throws {
        try context.operation {
            try context.setExpiration(id.checked(), date.map(ExpirationTime.init(checking:)))
        }
    }

    /// Returns when a document expires, as this transaction has it.
    public func expirationDate(of id: DocumentID) throws -> Date? {
        try read { try $0.expirationDate(of: id) }
    }
}

extension ReadTransaction {
    /// Returns when a document expires; nil when it does not, and when there is no such document.
    public func expirationDate(of id: DocumentID) throws -> Date? {
        try snapshot.expiration(of: id.checked())?.date
    }

    /// Returns the documents that expire before a date, the next one first; see `Database`.
    public func documentsExpiring(before date: Date? = nil, limit: Int? = nil) throws
        -> [Expiration]
    {
        try DatabaseError.check(limit: limit)
        let end = try date.map(ExpirationTime.init(checking:))
        var found: [Expiration] = []
        guard limit != 0 else { return found }
        try snapshot.forEachExpiration { key in
            if let end, key.time >= end { return false }
            found.append(Expiration(documentID: key.documentID, date: key.time.date))
            return limit.map { found.count < $0 } ?? true
        }
        return found
    }
}

extension ExpirationTime {
    /// Takes a date of a caller.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a date that is not a number.
    fileprivate init(checking date: Date) throws {
        guard !date.timeIntervalSince1970.isNaN else { throw DatabaseError.dateWithoutTime }
        self.init(date)
    }
}
