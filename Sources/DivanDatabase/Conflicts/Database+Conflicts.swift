// SPDX-License-Identifier: Apache-2.0

public import DivanModel
internal import DivanStorage

/// The outcome of resolving the conflicts of a database.
public struct ConflictReport: Sendable {
    /// A document that is still in conflict.
    public struct Failure: Sendable {
        /// The document's ID.
        public var id: DocumentID
        /// What the resolver or the database threw.
        public var error: any Error
    }

    /// The documents whose conflict was resolved, or had gone by then.
    public var resolved = 0
    /// The documents whose conflict could not be resolved, in the order of their IDs.
    public var failures: [Failure] = []
}

extension Database {
    /// The number of documents in conflict. Costs one look-up, whatever the size of the database.
    public var conflictCount: Int {
        get throws {
            try checkOpen()
            return try core.read { Int(clamping: try $0.state().conflictedDocuments) }
        }
    }

    /// Returns a document's live revisions and their common ancestor, when it is in conflict.
    ///
    /// - Returns: nil when it has one live revision or none, or does not exist.
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func conflict(of id: DocumentID) throws -> Conflict? {
        try read { try $0.conflict(of: id) }
    }

    /// Ends a conflict as decided, in one transaction.
    ///
    /// ```swift
    /// if let conflict = try database.conflict(of: id) {
    ///     try database.resolve(conflict, by: .keep(conflict.others[0]))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - conflict: The conflict, as it was read.
    ///   - resolution: What becomes of the document.
    /// - Returns: The revision that now stands for the document; a tombstone after `.delete`.
    /// - Throws: `DatabaseError` with code `.conflict` when the document has other live revisions than
    ///   when it was read, `.revisionNotFound` when the one to keep is none of them,
    ///   `.invalidDocument`, `.forbidden`, or as `write(_:)`. The document is then as it was.
    @discardableResult
    public func resolve(_ conflict: Conflict, by resolution: ConflictResolution) throws -> Document
    {
        try operation { try $0.resolve(conflict, by: resolution) }
    }

    /// Ends a document's conflict by picking one of its live revisions.
    ///
    /// - Returns: The revision kept; nil when the document is not in conflict.
    /// - Throws: As `resolve(_:by:)`.
    @discardableResult
    public func resolveConflicts(of id: DocumentID, keeping revision: RevisionID) throws
        -> Document?
    {
        let kept = try revision.checked(of: id)
        return try resolveConflicts(of: id) { conflict in
            guard let leaf = conflict.leaves.first(where: { $0.revisionID == kept }) else {
                throw DatabaseError.noLiveLeaf(conflict.id, kept)
            }
            return .keep(leaf)
        }
    }

    /// Ends a document's conflict as a resolver decides.
    ///
    /// The resolver runs outside the transaction, so it may take its time; when the document changes
    /// meanwhile it is asked again.
    ///
    /// - Returns: The revision that now stands for the document, a tombstone when it was deleted; nil
    ///   when the document is not in conflict.
    /// - Throws: What the resolver throws, and as `resolve(_:by:)`.
    @discardableResult
    public func resolveConflicts(of id: DocumentID, with resolver: some ConflictResolver) throws
        -> Document?
    {
        try resolveConflicts(of: id) { try resolver.resolve($0) }
    }

    /// Ends a document's conflict as a closure decides; see `resolveConflicts(of:with:)`.
    @discardableResult
    public func resolveConflicts(
        of id: DocumentID, _ decide: (Conflict) throws -> ConflictResolution
    ) throws -> Document? {
        try checkWritable()
        return try EditAttempts.run(on: id) {
            guard let conflict = try conflict(of: id) else { return nil }
            let resolution = try decide(conflict)
            return try EditAttempts.saving { try resolve(conflict, by: resolution) }
        }
    }

    /// Ends every conflict in the database as a resolver decides.
    ///
    /// ```swift
    /// let report = try database.resolveConflicts(with: .mergeFields)
    /// for failure in report.failures { print(failure.id, failure.error) }
    /// ```
    ///
    /// Works in small transactions, between which other threads read and write. The work is in
    /// proportion to the number of conflicts, not of documents.
    ///
    /// - Parameters:
    ///   - resolver: Decides each.
    ///   - progress: Gets reports; throwing stops the work, and what was done by then is kept.
    /// - Returns: How many were resolved, and which were not: the resolver threw, a validation function
    ///   refused, what it made cannot be stored, or the document is damaged.
    /// - Throws: `DatabaseError` as `write(_:)` when the database fails, and what `progress` throws.
    @discardableResult
    public func resolveConflicts(
        with resolver: some ConflictResolver, progress: ProgressHandler? = nil
    ) throws -> ConflictReport {
        try resolveConflicts(progress: progress) { try resolver.resolve($0) }
    }

    /// Ends every conflict in the database as a closure decides; see `resolveConflicts(with:progress:)`.
    @discardableResult
    public func resolveConflicts(
        progress: ProgressHandler? = nil, _ decide: (Conflict) throws -> ConflictResolution
    ) throws -> ConflictReport {
        try checkWritable()
        return try ConflictSweep(database: self, progress: progress).run(decide)
    }
}

extension WriteTransaction {
    /// Ends a conflict as decided; see `Database.resolve(_:by:)`.
    @discardableResult
    public func resolve(_ conflict: Conflict, by resolution: ConflictResolution) throws -> Document
    {
        try context.operation { try context.resolve(conflict, resolution) }
    }
}

extension ReadTransaction {
    /// Returns a document's conflict; see `Database.conflict(of:)`.
    public func conflict(of id: DocumentID) throws -> Conflict? {
        try snapshot.conflict(id.checked())
    }
}
