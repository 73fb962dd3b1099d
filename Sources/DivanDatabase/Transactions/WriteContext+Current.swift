// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

// The rule of live documents, stricter than that of replicators.
extension WriteContext {
    /// Adds a revision below `parent`, which must be the current revision.
    ///
    /// `put` takes any leaf. Here a losing leaf of a conflict is refused, too: the edit would succeed,
    /// and its author would go on seeing the winner.
    ///
    /// `parent` is nil to create the document, or a deleted one anew; with `allowConflict` it may be
    /// any revision that the document has.
    func putCurrent(
        _ id: DocumentID, parent: RevisionID?, _ content: RevisionContent, allowConflict: Bool
    ) throws -> Document {
        let (_, snapshot) = try transaction()
        let reserved = try check(
            content, of: id, limit: snapshot.core.options.maximumDocumentSize)
        // Attachments are checked when they are resolved.
        let carried = reserved.filter { $0 != SpecialProperty.attachments.rawValue }
        try checkCarried(carried, id, base: parent)
        guard let parent else {
            if !content.isDeleted, let created = try createNew(id, content) { return created }
            return try put(id, parent: nil, content, allowConflict: allowConflict)
        }
        let record = try snapshot.record(id)
        if let record, !allowConflict, record.tree.winner?.id != parent {
            throw DatabaseError.conflict(id, parent: parent)
        }
        return try put(id, parent: parent, content, allowConflict: allowConflict)
    }
}
