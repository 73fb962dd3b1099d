// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

extension WriteContext {
    /// A revision that is about to be stored.
    struct Candidate {
        var id: DocumentID
        var revision: RevisionID
        var content: RevisionContent
        /// Its ancestors, newest first, as far as they are told.
        var ancestors: ArraySlice<RevisionID>
        var isLocal: Bool
    }

    /// Asks the app's validation functions, and those of design documents; costs two loads when there are none.
    ///
    /// Every function that adds a revision calls this after its checks and before its first write.
    func validate(_ record: DocumentRecord?, _ candidate: @autoclosure () -> Candidate) throws {
        let (_, snapshot) = try transaction()
        guard !snapshot.core.hasNoValidations else { return }
        let candidate = candidate()
        let (old, current) = try neighbours(of: candidate, record, snapshot)
        let revision = Document(
            id: candidate.id, revisionID: candidate.revision, sequence: 0,
            isDeleted: candidate.content.isDeleted, body: candidate.content.body,
            store: snapshot.core.attachments.number)
        let context = ValidationContext(
            oldRevision: old, currentRevision: current, isLocal: candidate.isLocal,
            ancestors: Array(candidate.ancestors), newRevision: revision)
        // Writes are refused meanwhile, so what was checked before still holds after.
        isValidating = true
        defer { isValidating = false }
        var functions = snapshot.core.validations.all
        if let source = snapshot.core.designFunctions.validator {
            functions.append(("validate_doc_update", source.validate))
        }
        for (name, function) in functions {
            let ticket = snapshot.core.slowFunctions.begin(name, candidate.id)
            defer { snapshot.core.slowFunctions.end(ticket) }
            do { try function(revision, context) } catch {
                throw Self.refusal(error, of: revision)
            }
        }
    }

    /// The revision that a new one was made from, and the document as it stands.
    private func neighbours(
        of candidate: Candidate, _ record: DocumentRecord?, _ snapshot: Snapshot
    ) throws -> (old: Document?, current: Document?) {
        guard let record, let winner = record.tree.winner else { return (nil, nil) }
        let current =
            winner.isTombstone ? nil : try snapshot.document(candidate.id, node: winner)
        let known = candidate.ancestors.lazy.compactMap { record.tree.node($0) }.first
        guard let known, known.sequence != nil else { return (nil, current) }
        if let current, known.id == winner.id { return (current, current) }
        return (try snapshot.document(candidate.id, node: known), current)
    }

    private static func refusal(_ error: any Error, of revision: Document) -> any Error {
        if error is DatabaseError || error is CancellationError { return error }
        return DatabaseError(
            .forbidden, "\(error)", documentID: revision.id, revisionID: revision.revisionID,
            underlying: error)
    }
}
