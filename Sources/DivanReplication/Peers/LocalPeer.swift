// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// A database of this process as one end of a replication.
///
/// Reading happens in short snapshots, and each `put` is one transaction. Nothing here waits on the
/// threads that tasks share.
package struct LocalPeer: ReplicationPeer {
    /// The bodies of a fetch, in packed bytes, after which the rest is left for the next one.
    private static let fetchBytes = 4 << 20
    /// Ancestors that a fetch may be told of.
    private static let ancestorLimit = 10
    /// How many changes are looked at in one snapshot.
    private static let step = 10_000
    /// How long a waiting reading takes at most.
    private static let longestWait = Duration.seconds(60)

    /// The database.
    package let database: Database
    /// What logs call it.
    package let name: String
    /// As a source: lets through what is to be replicated; nil for all. A document of which it cannot tell, which it gives nil
    /// for, is named and stays.
    package var filter: (@Sendable (Document) throws -> Bool?)?
    /// As a source: whether of each document only the winning revision is told of.
    package var tellsWinnersOnly = false
    /// As a source: whether the content of attachments goes along with their documents.
    package var sendsContents = true
    /// As a source: whether `_removed` in a body counts, though any writer may have put it there.
    package var believesRemovals = false
    /// As a target: what becomes of what comes in.
    package var reception: Reception

    /// Makes an end.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - reception: What becomes of what comes in.
    package init(_ database: Database, reception: Reception = Reception(source: "")) {
        self.database = database
        self.reception = reception
        name = database.path.isEmpty ? "memory:\(database.name)" : database.path
    }

    /// Tells where the database stands.
    package func information() async throws -> PeerInformation {
        let last = try await database.performRead { try $0.lastSequence }
        return PeerInformation(exists: true, updateSequence: RemoteSequence(last))
    }

    /// Does nothing: the database is there.
    package func create(partitioned: Bool) async throws {}

    // MARK: - As a source

    /// Reads a piece of the feed; waits for a commit where there is nothing.
    package func changes(_ request: ChangesRequest) async throws -> ChangesPage {
        var start = request.since?.number ?? 0
        guard request.waits else { return try await page(from: start, request) }
        let signal = CommitSignal(database)
        let deadline = ContinuousClock.now + Self.longestWait
        while true {
            let rung = signal.count
            let page = try await page(from: start, request)
            if !page.changes.isEmpty || !page.failures.isEmpty || !page.isAtEnd { return page }
            start = page.lastSequence.number ?? start
            if ContinuousClock.now >= deadline { return page }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await signal.wait(after: rung) }
                group.addTask { try await Task.sleep(until: deadline) }
                try await group.next()
                group.cancelAll()
            }
            try Task.checkCancellation()
        }
    }

    private func page(from start: SequenceNumber, _ request: ChangesRequest) async throws
        -> ChangesPage
    {
        let filter = filter
        let (batch, isAtEnd, failures) = try await database.performRead { transaction in
            var failures: [ReplicationError] = []
            let read = try transaction.changes(
                since: start, limit: request.limit, examining: Self.step,
                where: filter.map { filter in
                    { document in
                        if let isWanted = try filter(document) { return isWanted }
                        failures.append(ReplicationError(.undecided(document.id)))
                        return false
                    }
                })
            return (read.batch, read.isAtEnd, failures)
        }
        let changes = batch.changes.compactMap { change -> PeerChange? in
            if request.isActiveOnly, change.isDeleted { return nil }
            let told = tellsWinnersOnly ? change.revisions.prefix(1) : change.revisions[...]
            return PeerChange(
                id: change.id, revisions: Array(told), isDeleted: change.isDeleted)
        }
        var page = ChangesPage(
            changes: changes, lastSequence: RemoteSequence(batch.lastSequence), isAtEnd: isAtEnd)
        page.failures = failures
        return page
    }

    /// Reads revisions with their histories, and attachments newer than what the target may have.
    package func revisions(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        let (sendsContents, believesRemovals) = (sendsContents, believesRemovals)
        return try await database.performRead { transaction in
            var fetched: [FetchedRevision] = []
            var bytes = 0
            for document in wanted where bytes < Self.fetchBytes {
                fetched += try Self.read(
                    document, transaction, sendsContents: sendsContents, bytes: &bytes)
            }
            return believesRemovals ? fetched.map(\.believingRemoval) : fetched
        }
    }

    /// Reads revisions of one document, as far as there is room; what is left out is asked for again. What is damaged of
    /// it spoils nothing but it.
    private static func read(
        _ wanted: MissingRevisions, _ transaction: borrowing ReadTransaction, sendsContents: Bool,
        bytes: inout Int
    ) throws -> [FetchedRevision] {
        let tree: RevisionTree?
        do { tree = try transaction.recentTree(of: wanted.id) } catch let error as DatabaseError
            where error.code == .corrupted
        {
            return wanted.revisions.map { damaged($0, wanted, error) }
        }
        guard let tree else {
            return wanted.revisions.map { FetchedRevision(id: wanted.id, revision: $0, .gone) }
        }
        var fetched: [FetchedRevision] = []
        for revision in wanted.revisions where bytes < Self.fetchBytes {
            do {
                let one = try read(
                    revision, wanted, tree, transaction, sendsContents: sendsContents)
                if case .document(let document) = one.outcome {
                    bytes += document.body.byteCount
                }
                fetched.append(one)
            } catch let error as DatabaseError
                where error.code == .corrupted || error.code == .revisionNotFound
            {
                fetched.append(damaged(revision, wanted, error))
            }
        }
        return fetched
    }

    private static func damaged(
        _ revision: RevisionID, _ wanted: MissingRevisions, _ error: DatabaseError
    ) -> FetchedRevision {
        var failure = ReplicationError(error)
        failure.documentID = wanted.id
        return FetchedRevision(id: wanted.id, revision: revision, .failed(failure))
    }

    private static func read(
        _ revision: RevisionID, _ wanted: MissingRevisions, _ tree: RevisionTree,
        _ transaction: borrowing ReadTransaction, sendsContents: Bool
    ) throws -> FetchedRevision {
        // A revision that is no leaf any more, and whose body may be gone, has a newer one in the feed.
        guard let node = tree.node(revision), node.sequence != nil else {
            return FetchedRevision(id: wanted.id, revision: revision, .gone)
        }
        let document = try transaction.document(wanted.id, node)
        // The target meets it at what it has, and keeps what it has below.
        let ids = try transaction.history(
            of: revision, in: tree, of: wanted.id, downTo: wanted.possibleAncestors)
        let possible = Set(wanted.possibleAncestors)
        let known = ids.first { possible.contains($0) }?.generation
        var contents: NameMap<AttachmentContent> = [:]
        for attachment in document.attachments
        where sendsContents && known.map({ attachment.revisionPosition > $0 }) ?? true {
            // Begun and broken off, it would be tried again for ever; sent without, it would be damage.
            guard attachment.isContentAvailable else {
                return FetchedRevision(
                    id: wanted.id, revision: revision,
                    .failed(.contentMissing(attachment.name, wanted.id, revision)))
            }
            contents[attachment.name] = attachment.transferContent
        }
        return FetchedRevision(
            id: wanted.id, revision: revision,
            .document(
                WireDocument(
                    id: wanted.id, history: try RevisionHistory(ids),
                    isDeleted: node.isTombstone, body: document.body, contents: contents)))
    }

    // MARK: - As a target

    /// Compares revisions with the trees of their documents, in one snapshot.
    package func missingRevisions(of offers: [PeerChange]) async throws -> [MissingRevisions] {
        try await database.performRead { transaction in
            var missing: [MissingRevisions] = []
            for offer in offers {
                guard let tree = try transaction.recentTree(of: offer.id) else {
                    missing.append(MissingRevisions(id: offer.id, revisions: offer.revisions))
                    continue
                }
                let revisions = try transaction.missingRevisions(
                    of: offer.revisions, in: tree, of: offer.id)
                guard let highest = revisions.max() else { continue }
                let ancestors = tree.possibleAncestors(of: highest).filter {
                    tree.node($0)?.sequence != nil
                }
                missing.append(
                    MissingRevisions(
                        id: offer.id, revisions: revisions,
                        possibleAncestors: Array(ancestors.prefix(Self.ancestorLimit))))
            }
            return missing
        }
    }

    /// Stores revisions in one transaction; one that is refused leaves the others.
    package func put(_ documents: [WireDocument]) async throws -> [PutOutcome] {
        try await reception.receive(documents, in: database)
    }

    // MARK: - Checkpoints

    /// Reads the checkpoint's local document.
    package func checkpoint(_ id: ReplicationID) async throws -> StoredCheckpoint? {
        let document = try await database.performRead { try $0.localDocument(id.localDocumentID) }
        return document.map { StoredCheckpoint(Checkpoint($0)) }
    }

    /// Commits the checkpoint's local document.
    package func write(_ checkpoint: Checkpoint, _ id: ReplicationID, revision: String?)
        async throws
        -> String?
    {
        let document = checkpoint.document
        try await database.performWrite { transaction in
            try transaction.putLocalDocument(id.localDocumentID, document)
        }
        return nil
    }

    /// Syncs everything that was committed.
    package func ensureDurable() async throws {
        let database = database
        try await database.background { try database.sync() }
    }
}
