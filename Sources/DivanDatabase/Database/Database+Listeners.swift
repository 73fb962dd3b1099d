// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import DivanModel

// Listening to changes: of all documents or one, as a sequence or by a callback.
extension Database {
    /// What is committed from now on, by this or another process, as a sequence with one element a transaction.
    ///
    /// ```swift
    /// let changes = try database.databaseChanges
    /// for await change in changes {
    ///     for document in change.changes { print(document.documentID, document.source) }
    /// }
    /// ```
    ///
    /// An element comes soon after its transaction, never before or during it; a transaction that is
    /// rolled back gives none. While the loop is busy, transactions gather into one element.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var databaseChanges: ChangeNotifications<DatabaseChange> {
        get throws {
            try checkOpen()
            let reader = DatabaseChangeReader(mark: try core.committedMark())
            return ChangeNotifications(database: self, start: reader)
        }
    }

    /// The changes of one document from now on; the document need not exist yet.
    ///
    /// ```swift
    /// let changes = try database.documentChanges(of: "settings")
    /// for await change in changes where change.isCurrentRevision { reload() }
    /// ```
    ///
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func documentChanges(of id: DocumentID) throws -> ChangeNotifications<DocumentChange> {
        try checkOpen()
        let reader = DocumentChangeReader(
            id: try id.checked(), mark: try core.committedMark())
        return ChangeNotifications(database: self, start: reader)
    }

    /// Calls a closure with what is committed from now on, by this or another process.
    ///
    /// ```swift
    /// let token = try database.addChangeListener { change in print(change.documentIDs) }
    /// ```
    ///
    /// One call at a time, in the order of the commits, after each commit. The closure may read,
    /// write, close the database and remove the listener. A slow one gets several transactions in one
    /// call. It is no longer called once the database is closed or deleted, or the token is released.
    ///
    /// - Parameters:
    ///   - queue: Where the closure runs, such as `.main`; nil for a queue of its own.
    ///   - listener: Receives each change.
    /// - Returns: The token that keeps the listener: hold on to it.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func addChangeListener(
        on queue: DispatchQueue? = nil, _ listener: @escaping @Sendable (DatabaseChange) -> Void
    ) throws -> ListenerToken {
        try checkOpen()
        let reader = DatabaseChangeReader(mark: try core.committedMark())
        let listener = ChangeListener(self, reader, on: queue, listener)
        return ListenerToken { listener.remove() }
    }

    /// Calls a closure with each change of one document from now on; the document need not exist yet.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - queue: As in `addChangeListener(on:_:)`.
    ///   - listener: Receives each change.
    /// - Returns: The token that keeps the listener: hold on to it.
    /// - Throws: also `.invalidID`.
    public func addDocumentChangeListener(
        for id: DocumentID, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (DocumentChange) -> Void
    ) throws -> ListenerToken {
        try checkOpen()
        let reader = DocumentChangeReader(
            id: try id.checked(), mark: try core.committedMark())
        let listener = ChangeListener(self, reader, on: queue, listener)
        return ListenerToken { listener.remove() }
    }
}
