// SPDX-License-Identifier: Apache-2.0

public import DivanModel

/// A document whose replicas were edited apart: two or more live revisions, none older than another.
///
/// ```
///                      ┌─ 2-c  Ann's     winner: what reading the document shows
///      ancestor  1-a ──┤
///                      └─ 2-b  Bob's     others: kept until the conflict is resolved
/// ```
///
/// ```swift
/// if let conflict = try database.conflict(of: "contact-7") {
///     print(conflict.others.count, "other versions of", conflict.winner["name"].string ?? "")
///     try database.resolve(conflict, by: .keep(conflict.winner))
/// }
/// ```
///
/// It is a value, as it was when it was read: `resolve` notices when it is out of date.
/// Deleted leaves are not part of it, since nothing is left of them to choose.
public struct Conflict: Sendable {
    /// The revision that stands for the document until the conflict is resolved; the same on every
    /// device.
    public let winner: Document
    /// The other live leaf revisions, in the order in which they would win; at least one.
    public let others: [Document]
    /// The newest revision that all of them descend from, with its body.
    ///
    /// nil when they share none, when pruning has cut it off, or when its body is not here: it was
    /// compacted away, or never received.
    public let ancestor: Document?
    /// The ID of that revision, also where its body is gone.
    public let ancestorRevisionID: RevisionID?

    init(winner: Document, others: [Document], ancestor: Document?, ancestorID: RevisionID?) {
        self.winner = winner
        self.others = others
        self.ancestor = ancestor
        ancestorRevisionID = ancestorID
    }

    /// The document's ID.
    public var id: DocumentID { winner.id }

    /// All live leaf revisions, the winner first.
    public var leaves: [Document] { [winner] + others }
}

extension Conflict: CustomStringConvertible {
    /// The document's ID and the revisions; never any content.
    public var description: String {
        "Conflict(\(id): \(leaves.map(\.revisionID.description).joined(separator: ", ")))"
    }
}

extension Snapshot {
    /// The conflict of a document; nil when it has none or does not exist.
    func conflict(_ id: DocumentID) throws -> Conflict? {
        guard let head = try head(id), head.isConflicted, let record = try record(id) else {
            return nil
        }
        let live = record.tree.leaves.filter { !$0.isTombstone }
        guard let winner = live.first, live.count > 1 else { return nil }
        // Among the older revisions there is one at least by its ID.
        let ancestor =
            try record.tree.commonAncestorOfLiveLeaves
            ?? whole(record.tree, of: id).commonAncestorOfLiveLeaves
        return Conflict(
            winner: try document(id, node: winner),
            others: try live.dropFirst().map { try document(id, node: $0) },
            ancestor: try ancestor.flatMap { node in
                node.sequence == nil ? nil : try document(id, node: node)
            },
            ancestorID: ancestor?.id)
    }
}
