// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// The errors of documents that have not come so far, or are still in conflict, of which the newest is a replication's last error.
///
/// An error goes when its document comes. One that was only for now goes also when a run has brought
/// everything else and does not tell of it again: the document is gone then, or came by another way.
struct DocumentErrors: Sendable {
    /// So many are kept; beyond that the oldest are forgotten.
    private static let limit = 1_000

    private struct Failure {
        var error: ReplicationError
        var revision: RevisionID?
    }

    private var errors: [DocumentID: Failure] = [:]
    /// From the oldest to the newest.
    private var order: [DocumentID] = []
    /// Whose errors are of an earlier run, and were for that time.
    private var doubtful: Set<DocumentID> = []

    /// How many are kept.
    var count: Int { order.count }
    /// The last one.
    var newest: ReplicationError? { order.last.flatMap { errors[$0]?.error } }

    /// The last ones, from the oldest to the newest.
    func newest(_ count: Int) -> [ReplicationError] {
        order.suffix(count).compactMap { errors[$0]?.error }
    }

    /// Takes what became of a revision.
    ///
    /// - Returns: Whether that changes anything.
    mutating func take(_ report: ReplicationEngine.Report) -> Bool {
        guard var error = report.error else { return came(report) }
        _ = remove(report.id)
        error.documentID = error.documentID ?? report.id
        errors[report.id] = Failure(error: error, revision: report.revision)
        order.append(report.id)
        if order.count > Self.limit { _ = remove(order[0]) }
        return true
    }

    /// Notes that a document has no conflict any more.
    ///
    /// - Returns: Whether that changes anything.
    mutating func resolved(_ id: DocumentID) -> Bool {
        errors[id]?.error.code == .conflictUnresolved && remove(id)
    }

    /// Notes that another run begins, which tells of documents that fail again.
    mutating func beginRun() {
        doubtful = Set(errors.filter { $0.value.error.isTransient }.keys)
    }

    /// Notes that a run has brought everything that there is.
    mutating func settle() {
        for id in doubtful { _ = remove(id) }
    }

    /// A revision has come: that one, or one that may descend from it. Another leaf is not it.
    private mutating func came(_ report: ReplicationEngine.Report) -> Bool {
        guard !errors.isEmpty, let failure = errors[report.id] else { return false }
        // The revision that makes a conflict has come, too; the resolver tells when that is over.
        if failure.error.code == .conflictUnresolved { return false }
        if let failed = failure.revision, let revision = report.revision, failed != revision,
            revision.generation <= failed.generation
        {
            return false
        }
        return remove(report.id)
    }

    private mutating func remove(_ id: DocumentID) -> Bool {
        guard errors.removeValue(forKey: id) != nil else { return false }
        order.removeAll { $0 == id }
        doubtful.remove(id)
        return true
    }
}
