// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanJSON
internal import DivanLogging
package import DivanModel

/// What becomes of a document that the other end no longer lets this one see.
///
/// Such a revision arrives with nothing but `_removed` in its body.
public enum AccessRemoval: Sendable, Hashable {
    /// The document is purged here, with what was not pushed of it.
    case purge
    /// The document stays as it is.
    case keep
    /// The revision is stored like any other, with `_removed` in its body.
    case store
}

/// What becomes of revisions that a replication brings into a local database.
///
/// Conflicts that they make are ended by a resolver, if there is one. Its decision cannot be part of the
/// transaction that stores the revisions, since it is the app's code; so the documents to decide about
/// are noted in that transaction, in the local document `_divan/pull-conflicts-<ID>`, and the note is
/// emptied as they are resolved. A crash in between loses nothing: the next run begins with the note.
package struct Reception: Sendable {
    /// What changes give as their source: the other end's name.
    package var source: String
    /// Ends the conflicts that arrive.
    package var resolver: (any ConflictResolver)?
    /// The local document that notes conflicts to resolve; used with a resolver only.
    package var noteID: DocumentID = "pull-conflicts"
    /// What becomes of documents that are no longer to be seen.
    package var removal = AccessRemoval.purge
    /// Whether attachments may come without their content, to be downloaded later.
    package var isDeferring = false
    /// In whose name the database's rules are asked; nil for the app's own.
    package var author: PeerAuthor?

    /// Makes a reception without a resolver.
    package init(source: String) { self.source = source }

    /// Stores revisions in one transaction.
    ///
    /// - Returns: What became of each, in their order.
    /// - Throws: `DatabaseError` when the database fails as a whole; then nothing is stored.
    func receive(_ documents: [WireDocument], in database: Database) async throws -> [PutOutcome] {
        let (prepared, scope) = try await database.background {
            let scope = try author?.scope()
            return (documents.map { prepare(author?.form($0) ?? $0, in: database) }, scope)
        }
        let outcomes = try await database.receive(from: source) { [self] transaction in
            guard let scope else { return try store(prepared, transaction) }
            var outcomes: [PutOutcome] = []
            try scope { outcomes = try store(prepared, transaction) }
            return outcomes
        }
        // The run ends, and the next one begins with what is noted.
        if let delay = try await resolveNoted(in: database).map({ ReplicationError($0) }),
            delay.isTransient
        {
            throw delay
        }
        return outcomes
    }

    /// Stores what was prepared, and notes the conflicts that a resolver is to end.
    private func store(_ prepared: [Prepared], _ transaction: borrowing WriteTransaction) throws
        -> [PutOutcome]
    {
        let note = resolver == nil ? nil : noteID
        var conflicts: [DocumentID] = []
        var rules = RuleFailures()
        let outcomes = try prepared.map { item -> PutOutcome in
            switch item {
            case .refused(let outcome): return outcome
            case .revision(let revision, let isRemoved):
                if isRemoved, removal != .store {
                    if removal == .purge { try transaction.purge(revision.id) }
                    return .stored
                }
                let outcome = try Self.insert(revision, transaction)
                try rules.note(outcome)
                if note != nil, case .stored = outcome,
                    try transaction.read({ try $0.recentTree(of: revision.id) })?.isConflicted
                        ?? false
                {
                    conflicts.append(revision.id)
                }
                return outcome
            }
        }
        if let note, !conflicts.isEmpty { try Self.add(conflicts, to: note, transaction) }
        return outcomes
    }

    /// Rules that do not run, among those that are asked in one transaction.
    private struct RuleFailures {
        private var failed = 0
        private var stored = 0

        /// Takes what became of a revision.
        ///
        /// - Throws: The error of a rule, where that seems to run for none, or keeps the database from all others for long.
        mutating func note(_ outcome: PutOutcome) throws {
            guard case .failed(let error) = outcome,
                (error.underlying as? DatabaseError)?.code == .scriptFailed
            else {
                stored += 1
                return
            }
            failed += 1
            guard failed > min(20, max(3, stored)) else { return }
            var failure = error
            failure.documentID = nil
            throw failure
        }
    }

    private enum Prepared: Sendable {
        case revision(ExistingRevision, isRemoved: Bool)
        case refused(PutOutcome)
    }

    /// Checks a document and brings its attachments into temporary files.
    private func prepare(_ document: WireDocument, in database: Database) -> Prepared {
        do {
            let id = try document.requiredID()
            var revision = try ExistingRevision(
                id: id, history: try document.requiredHistory(), isDeleted: document.isDeleted,
                body: document.body, attachments: document.inlineContents)
            revision.isDeferring = isDeferring
            try revision.stage(in: database)
            return .revision(revision, isRemoved: document.isRemoved)
        } catch {
            return .refused(.failed(ReplicationError(error)))
        }
    }

    /// Stores one revision; refusals leave the transaction as it was.
    private static func insert(
        _ revision: ExistingRevision, _ transaction: borrowing WriteTransaction
    ) throws -> PutOutcome {
        do {
            _ = try transaction.insert(revision)
            return .stored
        } catch let error as DatabaseError {
            switch error.code {
            case .attachmentNotFound: return .needsAttachments
            case .forbidden, .invalidDocument, .invalidID, .conflict:
                return .failed(ReplicationError(error))
            case .scriptFailed:
                // A rule that was too slow for one document, or whose process ended over it, may decide about the others.
                var failure = ReplicationError(error)
                failure.documentID = revision.id
                return .failed(failure)
            default: throw error
            }
        }
    }

    // MARK: - Conflicts

    private static func add(
        _ conflicts: [DocumentID], to note: DocumentID, _ transaction: borrowing WriteTransaction
    ) throws {
        var ids = try noted(transaction.read { try $0.localDocument(note) })
        var known = Set(ids)
        for id in conflicts where known.insert(id).inserted { ids.append(id) }
        try transaction.putLocalDocument(note, ["ids": .array(ids.map { .string($0.text) })])
    }

    private static func noted(_ document: JSONObject?) -> [DocumentID] {
        document?["ids"]?.array?.compactMap(\.string).map { DocumentID($0) } ?? []
    }

    /// Ends the conflicts that are noted, those of an earlier run too.
    ///
    /// A conflict that the resolver cannot end stays, is logged, and is not asked about again before
    /// the document changes. One whose end could not be stored for now stays noted: it is tried again by the next run, and
    /// with the next conflict that arrives.
    ///
    /// - Parameter database: Where the conflicts are.
    /// - Returns: Why the last one of those that stay noted could not be ended; nil where none does.
    /// - Throws: `DatabaseError`.
    @discardableResult
    package func resolveNoted(in database: Database) async throws -> DatabaseError? {
        guard let resolver else { return nil }
        let note = noteID
        return try await database.background {
            let ids = Self.noted(try database.localDocument(note))
            guard !ids.isEmpty else { return nil }
            var (ended, given): (Set<DocumentID>, Set<DocumentID>) = ([], [])
            var delay: DatabaseError?
            for id in ids {
                do {
                    try database.resolveConflicts(of: id) { try resolver.resolve($0) }
                    ended.insert(id)
                } catch {
                    Log.replication.warning(
                        "The conflict of document '\(id)' in the database '\(database.name)' could not "
                            + "be resolved: \(Log.words(of: error))")
                    if let error = try Self.delay(error) { delay = error } else { given.insert(id) }
                }
            }
            try database.write { try Self.remove(ended, given, from: note, $0) }
            return delay
        }
    }

    /// The error that keeps a conflict from being ended for now; nil for one that would come again.
    ///
    /// - Throws: The error of a database that is closed.
    private static func delay(_ error: any Error) throws -> DatabaseError? {
        guard let error = error as? DatabaseError else { return nil }
        switch error.code {
        case .databaseClosed: throw error
        case .databaseBusy, .databaseSuspended, .storageFull, .io, .conflict: return error
        default: return nil
        }
    }

    /// Takes documents out of the note, unless another run has brought a new conflict of one that was just ended.
    private static func remove(
        _ ended: Set<DocumentID>, _ given: Set<DocumentID>, from note: DocumentID,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let noted = noted(try transaction.read { try $0.localDocument(note) })
        let left = try noted.filter { id in
            guard ended.contains(id) else { return !given.contains(id) }
            return try transaction.read { try $0.recentTree(of: id) }?.isConflicted ?? false
        }
        guard left.count < noted.count else { return }
        if left.isEmpty {
            try transaction.deleteLocalDocument(note)
        } else {
            try transaction.putLocalDocument(
                note, ["ids": .array(left.map { .string($0.text) })])
        }
    }
}
