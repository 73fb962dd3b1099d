// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel

/// A revision that was made elsewhere, ready to be stored: what a replication brings.
///
/// ```swift
/// let revision = try ExistingRevision(id: id, history: history, isDeleted: false, body: body)
/// try revision.stage(in: database)                          // content of attachments, before
/// try database.receive(from: url) { try $0.insert(revision) }   // many in one transaction
/// ```
package struct ExistingRevision: Sendable {
    /// The document.
    package let id: DocumentID
    /// The revision and its ancestors.
    package let history: RevisionHistory
    /// Whether attachments may come without their content, to be downloaded later.
    package var isDeferring = false
    let content: RevisionContent

    /// Checks and takes apart a revision.
    ///
    /// - Parameters:
    ///   - id: The document.
    ///   - history: The revision, then its ancestors.
    ///   - isDeleted: Whether it is a tombstone.
    ///   - body: Its body, with the stubs of its attachments.
    ///   - attachments: Content that comes apart, by name.
    /// - Throws: `DatabaseError` with code `.invalidDocument` or `.invalidID`.
    package init(
        id: DocumentID, history: RevisionHistory, isDeleted: Bool, body: PackedValue,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws {
        guard !id.isLocal else { throw DatabaseError.localID(id) }
        self.id = id
        self.history = history
        content = try RevisionContent(
            given: body, isDeleted: isDeleted, following: attachments, claims: .verified,
            id: id)
    }

    /// Whether the stub of an attachment holds enough to download the content later and to recognise it then.
    package static func canDefer(_ stub: JSONObject) -> Bool {
        var stub = stub
        // A wrong `revpos` is replaced when the revision is stored.
        stub["revpos"] = 1
        guard let metadata = try? AttachmentMetadata(stub) else { return false }
        return AttachmentKey(ofStub: metadata.digest) != nil
    }

    /// Brings the content of its attachments into the database's temporary files, and reads what its stubs are to be
    /// compared with.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when content is not as declared, `.io`,
    ///   `.storageFull`, and what a reader throws.
    package func stage(in database: Database) throws {
        try prepareComparisons(in: database)
        guard let pending = content.pending, !pending.contents.isEmpty else { return }
        try pending.stage(in: database.core.attachments, for: id)
    }
}

extension WriteTransaction {
    /// Stores a revision made elsewhere; false when it is here already, where it only supplies contents that are missing.
    ///
    /// - Throws: As `putExistingRevision`; the transaction goes on after a refusal.
    package func insert(_ revision: ExistingRevision) throws -> Bool {
        try context.operation {
            try context.putExisting(
                revision.id, revision.history, revision.content, isDeferring: revision.isDeferring
            ).isNew
        }
    }
}

extension Database {
    /// Runs `body` on one view of the database, off the calling task's thread; throws as `read(_:)`.
    package func performRead<T: Sendable>(
        _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> T
    ) async throws -> T {
        try checkOpen()
        return try await core.readAsync { try ReadTransaction.lend($0, to: body) }
    }

    /// Runs `body` as the writer, off the calling task's thread; throws as `write(_:)`.
    package func performWrite<T: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> T
    ) async throws -> T {
        try checkWritable()
        return try await core.batchAsync { try WriteTransaction.lend($0, to: body) }
    }

    /// Runs `body` as the writer, off the calling task's thread, in the name of a replication.
    ///
    /// `url` is the peer, without credentials: changes give it as their source. It throws as
    /// `write(_:)`.
    package func receive<T: Sendable>(
        from url: String, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> T
    ) async throws -> T {
        try checkWritable()
        return try await core.batchAsync(source: .replication(url)) {
            try WriteTransaction.lend($0, to: body)
        }
    }

    /// Runs blocking work of a replication off the threads that tasks share.
    package func background<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws
        -> T
    {
        try checkOpen()
        return try await BlockingWork.run(body)
    }
}

extension Database {
    /// The recent part of a document's tree, in which all leaves are; nil when there is none.
    package func recentRevisionTree(of id: DocumentID) throws -> RevisionTree? {
        let id = try id.checked()
        return try read { try $0.recentTree(of: id) }
    }
}

extension ReadTransaction {
    /// Reads a piece of the changes feed, and leaves out documents that a filter does not let through.
    ///
    /// - Parameters:
    ///   - sequence: Where the last reading ended.
    ///   - limit: How many changes at most.
    ///   - most: How many are looked at, at most.
    ///   - passes: Gets the current revision, tombstones too; nil lets all through.
    /// - Returns: The changes, and whether the feed's end was reached.
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`, and what the filter throws.
    package func changes(
        since sequence: SequenceNumber, limit: Int, examining most: Int,
        where passes: ((Document) throws -> Bool)?
    ) throws -> (batch: ChangesBatch, isAtEnd: Bool) {
        try snapshot.changes(since: sequence, limit: limit, examining: most, where: passes)
    }

    /// The recent part of a document's tree, in which all leaves are; nil when there is none, or can be none of this ID.
    ///
    /// It is read in one row, however long the history is.
    package func recentTree(of id: DocumentID) throws -> RevisionTree? {
        id.isValid ? try snapshot.record(id)?.tree : nil
    }

    /// Returns a revision and its ancestors, newest first, as far as a reader that has some of them needs it.
    ///
    /// - Parameters:
    ///   - revision: A revision of the recent tree.
    ///   - tree: The recent tree.
    ///   - id: The document.
    ///   - known: Revisions that the peer has. The history leads at least down to one of them, or as far as it is
    ///     known.
    /// - Returns: The IDs; none when the revision is not in the recent tree.
    /// - Throws: `DatabaseError` with code `.corrupted` or `.io`.
    package func history(
        of revision: RevisionID, in tree: RevisionTree, of id: DocumentID,
        downTo known: [RevisionID]
    ) throws -> [RevisionID] {
        try snapshot.history(of: revision, tree, id, until: known)
    }

    /// Returns those of some revisions that a document does not have, in their order.
    ///
    /// - Parameters:
    ///   - ids: The revisions.
    ///   - tree: The recent tree of the document.
    ///   - id: The document.
    /// - Returns: The missing ones.
    /// - Throws: `DatabaseError` with code `.corrupted` or `.io`.
    package func missingRevisions(
        of ids: [RevisionID], in tree: RevisionTree, of id: DocumentID
    ) throws -> [RevisionID] {
        try snapshot.leavingOutOlder(tree.missingRevisions(of: ids), tree, of: id)
    }

    /// A stored revision of a document.
    ///
    /// - Throws: `DatabaseError` with code `.revisionNotFound` when its body is gone, `.corrupted`.
    package func document(_ id: DocumentID, _ node: RevisionTree.Node) throws -> Document {
        try snapshot.document(id, node: node)
    }
}

/// Signals every commit to a database, for a reader of its feed.
package final class CommitSignal: Sendable {
    private let signal: CountedSignal

    /// Listens to a database from now on.
    package init(_ database: Database) { signal = CountedSignal { database.core.hub.follow($0) } }

    /// How often it has signalled; read it before the feed.
    package var count: Int { signal.count }

    /// Waits until it has signalled more than `count` times, the database is closed, or the task cancelled.
    package func wait(after count: Int) async { await signal.wait(after: count) }
}
