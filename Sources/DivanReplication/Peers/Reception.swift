// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanJSON
internal import DivanLogging
package import DivanModel
internal import Synchronization

/// What becomes of a document that the other end no longer lets this one see.
///
/// Such a revision arrives with nothing but `_removed` in its body. Only a Sync Gateway lets no writer make one, so by
/// default only its word counts. Any other case than ``automatic`` believes every source: set it where all who can write
/// there may also decide what is here, or where the source is a Sync Gateway whose name a proxy hides.
public enum AccessRemoval: Sendable, Hashable {
    /// As ``purge`` where the source calls itself a Sync Gateway, and as ``store`` elsewhere.
    case automatic
    /// What is here of the revision's branch is purged, with what was not pushed of it: the whole document, unless
    /// other branches of it may still be seen.
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
/// are noted in that transaction, in the local document `_divan/pull-conflicts-<ID>`, and leave the note
/// as they are resolved. A crash in between loses nothing: the next run begins with the note. So it does with
/// those that the resolver could not end, which are told of, and tried once in a run.
package struct Reception: Sendable {
    /// What changes give as their source: the other end's name.
    package var source: String
    /// Ends the conflicts that arrive.
    package var resolver: (any ConflictResolver)?
    /// The local document that notes conflicts to resolve; used with a resolver only.
    package var noteID: DocumentID = "pull-conflicts"
    /// What becomes of documents that are no longer to be seen.
    package var removal = AccessRemoval.automatic
    /// Whether attachments may come without their content, to be downloaded later.
    package var isDeferring = false
    /// In whose name the database's rules are asked; nil for the app's own.
    package var author: PeerAuthor?

    /// Is told what a resolver has made of a conflict: nil, or why it is still there.
    package var tellOfConflict: (@Sendable (DocumentID, ReplicationError?) -> Void)?
    /// The conflicts that were tried in this run.
    private let tried = TriedConflicts()
    /// So many conflicts that were tried in vain stay in the note; of others the app was told.
    package var noteLimit = 10_000

    /// Makes a reception without a resolver.
    package init(source: String) { self.source = source }

    /// Stores revisions in one transaction.
    ///
    /// - Returns: What became of each, in their order.
    /// - Throws: `DatabaseError` when the database fails as a whole; then nothing is stored.
    func receive(_ documents: [WireDocument], in database: Database) async throws -> [PutOutcome] {
        let (prepared, scope) = try await database.background {
            let scope = try author?.scope()
            return (documents.map { prepare($0, in: database) }, scope)
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
                    if removal != .keep { try Self.purgeBranch(of: revision, transaction) }
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
        if let note, !conflicts.isEmpty {
            // Of what has changed a resolver may think otherwise.
            tried.forget(conflicts)
            try Self.add(conflicts, to: note, transaction)
        }
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
            let document = try author?.form(document) ?? document
            let id = try document.requiredID()
            var revision = try ExistingRevision(
                id: id, history: try document.requiredHistory(), isDeleted: document.isDeleted,
                body: document.body, attachments: document.inlineContents)
            revision.isDeferring = isDeferring
            try revision.stage(in: database)
            // A purge asks no rule, so none is made in the name of an author.
            return .revision(revision, isRemoved: document.isRemoved && author == nil)
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

    /// Purges the leaves that descend from the newest ancestor of a revision that is here.
    private static func purgeBranch(
        of revision: ExistingRevision, _ transaction: borrowing WriteTransaction
    ) throws {
        guard let tree = try transaction.revisionTree(of: revision.id) else { return }
        let here = Set(tree.nodes.map(\.id))
        guard let ancestor = revision.history.ids.first(where: here.contains) else { return }
        let leaves = tree.leaves.map(\.id).filter { tree.history(of: $0).contains(ancestor) }
        try transaction.purge(revision.id, revisions: leaves)
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
    /// A conflict that the resolver cannot end stays, is told of, and stays noted for the next run. In this one it is
    /// not tried again unless another revision of the document arrives. One whose end could not be stored for now is tried
    /// again with the next conflict that arrives, too.
    ///
    /// - Parameter database: Where the conflicts are.
    /// - Returns: Why the last one of those could not be ended whose end could not be stored for now; nil where there is none.
    /// - Throws: `DatabaseError` when the database fails as a whole, with what was not tried still noted.
    @discardableResult
    package func resolveNoted(in database: Database) async throws -> DatabaseError? {
        guard let resolver else { return nil }
        let note = noteID
        return try await database.background {
            let ids = tried.new(of: Self.noted(try database.localDocument(note)))
            guard !ids.isEmpty else { return nil }
            var ended: Set<DocumentID> = []
            var delay: DatabaseError?
            for id in ids {
                guard let error = resolve(id, by: resolver, in: database) else {
                    ended.insert(id)
                    continue
                }
                if let error = try Self.delay(error) {
                    delay = error
                    tried.forget([id])
                } else {
                    tellOfConflict?(id, .unresolved(id, error))
                }
            }
            try forget(ended, in: note, of: database)
            return delay
        }
    }

    /// Ends one conflict.
    ///
    /// - Returns: What prevents that; nil when it is over.
    private func resolve(
        _ id: DocumentID, by resolver: any ConflictResolver, in database: Database
    ) -> (any Error)? {
        do { try database.resolveConflicts(of: id) { try resolver.resolve($0) } } catch {
            Log.replication.warning(
                "The conflict of document '\(id)' in the database '\(database.name)' could not "
                    + "be resolved: \(Log.words(of: error))")
            return error
        }
        tried.forget([id])
        tellOfConflict?(id, nil)
        return nil
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

    /// Takes conflicts that are over out of the note, unless another run has brought a new one of the document, and of the
    /// others the latest, where these are too many.
    private func forget(_ ended: Set<DocumentID>, in note: DocumentID, of database: Database) throws
    {
        try database.write { transaction in
            let noted = Self.noted(try transaction.read { try $0.localDocument(note) })
            let open = try noted.filter { id in
                guard ended.contains(id) else { return true }
                return try transaction.read { try $0.recentTree(of: id) }?.isConflicted ?? false
            }
            let left = open.prefix(noteLimit)
            guard left.count < noted.count else { return }
            tried.forget(Array(open.dropFirst(noteLimit)))
            if left.isEmpty {
                try transaction.deleteLocalDocument(note)
            } else {
                try transaction.putLocalDocument(
                    note, ["ids": .array(left.map { .string($0.text) })])
            }
        }
    }
}

/// The conflicts that a run has tried to end, so that it tries none without end.
///
/// State: the IDs, guarded by the mutex; those of conflicts that are over are not kept.
private final class TriedConflicts: Sendable {
    private let ids = Mutex<Set<DocumentID>>([])

    /// Those that were not tried yet, which from now on they are.
    func new(of noted: [DocumentID]) -> [DocumentID] {
        ids.withLock { ids in noted.filter { ids.insert($0).inserted } }
    }

    /// Lets conflicts be tried again.
    func forget(_ done: [DocumentID]) { ids.withLock { $0.subtract(done) } }
}
