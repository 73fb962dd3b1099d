// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// What the app's reading function lets a user see. Of everything else a user learns as little as of a document that does not
// exist: no handler answers a hidden document in words of its own.
extension Call {
    /// Whether the app decides which documents a user sees.
    var hidesDocuments: Bool { site.options.authorization.reading != nil }

    /// Whether the app lets the user read a document.
    func mayRead(_ document: Document) -> Bool {
        guard let allows = site.options.authorization.reading, let openDatabase else { return true }
        return allows(user, openDatabase, document)
    }

    /// Whether the user may know of a document, deleted or not: one of its leaves is theirs to read.
    func mayKnow(_ id: DocumentID, _ tree: RevisionTree, _ transaction: borrowing ReadTransaction)
        throws -> Bool
    {
        guard hidesDocuments else { return true }
        return try tree.leaves.contains { leaf in
            do {
                return try transaction.document(withID: id, revision: leaf.id).map(mayRead)
                    ?? false
            } catch let error as DatabaseError where error.code == .corrupted {
                // The app cannot be asked about a revision that cannot be read.
                return false
            }
        }
    }

    /// The recent part of a document's tree; nil where the user may not know of the document, or there is none.
    func knownTree(of id: DocumentID) throws -> RevisionTree? {
        try database.read { transaction in
            guard let tree = try transaction.recentTree(of: id),
                try mayKnow(id, tree, transaction)
            else { return nil }
            return tree
        }
    }

    /// The current revision of a document; nil where the user may not read it, or there is none.
    func readableDocument(_ id: DocumentID) throws -> Document? {
        try database.document(withID: id).flatMap { mayRead($0) ? $0 : nil }
    }

    /// The revision that a request asks for, or the current one, with its tree if that is needed.
    ///
    /// - Throws: `HTTPFailure` 404 where there is none, or the user may not read it.
    func find(
        _ id: DocumentID, _ revision: RevisionID?, latest: Bool = false, needsTree: Bool = false
    ) throws -> (Document, RevisionTree?) {
        let (document, tree) = try database.read { transaction in
            try find(id, revision, latest, needsTree, transaction)
        }
        guard mayRead(document) else { throw HTTPFailure.missing }
        return (document, tree)
    }

    private func find(
        _ id: DocumentID, _ revision: RevisionID?, _ latest: Bool, _ needsTree: Bool,
        _ transaction: borrowing ReadTransaction
    ) throws -> (Document, RevisionTree?) {
        if revision == nil, !needsTree, let document = try transaction.document(withID: id) {
            return (document, nil)
        }
        guard let tree = try transaction.revisionTree(of: id), let winner = tree.winner,
            try mayKnow(id, tree, transaction)
        else { throw HTTPFailure.missing }
        // As CouchDB: what is not known has the current revision as its latest one.
        let known = latest ? revision.flatMap { tree.node($0)?.id } : revision
        guard let revision = known else {
            if winner.isTombstone { throw HTTPFailure.deleted }
            guard let document = try transaction.document(withID: id) else {
                throw HTTPFailure.missing
            }
            return (document, tree)
        }
        let leaf = latest ? Self.leaves(of: revision, in: tree).first : nil
        guard let document = try transaction.document(withID: id, revision: leaf ?? revision)
        else { throw HTTPFailure.missing }
        return (document, tree)
    }

    /// Refuses stubs of a revision that arrives for a document that the user may not know of: what they mean is
    /// in it.
    func checkStubs(_ id: DocumentID, _ received: ReceivedDocument, _ kind: ChangeKind) throws {
        guard hidesDocuments, kind == .arrival, let entries = received.body["_attachments"],
            try knownTree(of: id) == nil
        else { return }
        var hasStub = false
        entries.forEachProperty { _, entry in
            if entry["data"] == nil, entry["follows"]?.bool != true { hasStub = true }
        }
        if hasStub { throw HTTPFailure.missingStub(id) }
    }
}
