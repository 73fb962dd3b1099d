// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

// The tree around a revision. It is read when asked for, since it changes as revisions are added,
// pruned and purged.
extension SavedRevision {
    /// The ID of the revision that this one was made from.
    ///
    /// - Returns: nil for the first revision, or when the history does not go back that far.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var parentRevisionID: RevisionID? {
        get throws { try parentNode()?.id }
    }

    /// The revision that this one was made from.
    ///
    /// Where it is the common ancestor of a conflict and has not been compacted away, its properties
    /// serve a three-way merge.
    ///
    /// - Returns: nil for the first revision, or when the history does not go back that far.
    /// - Throws: As ``parentRevisionID``.
    public var parentRevision: SavedRevision? {
        get throws { try parentNode().map { SavedRevision($0, of: documentID, in: database) } }
    }

    /// The ancestors as far as they are known and this revision, oldest first.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var revisionHistory: [SavedRevision] {
        get throws {
            guard let tree = try document.tree() else { return [] }
            return tree.branch(of: revisionID).reversed().map {
                SavedRevision($0, of: documentID, in: database)
            }
        }
    }

    private func parentNode() throws -> RevisionTree.Node? {
        guard let tree = try document.tree() else { return nil }
        return tree.node(revisionID)?.parent.map { tree.nodes[$0] }
    }
}

// Making the next revision.
extension SavedRevision {
    /// Makes an editable child of this revision, in memory, with the same properties and attachments.
    ///
    /// Its ``UnsavedRevision/isDeletion`` is false, also for a child of a tombstone, so saving that
    /// restores the document with what the tombstone kept.
    ///
    /// Where this revision's body is gone or cannot be read, the child has no properties, and it is not saved before it
    /// gets all of them by ``UnsavedRevision/properties``: it would lose those of this revision.
    public func makeRevision() -> UnsavedRevision {
        let contents = contents
        var child = UnsavedRevision(
            of: documentID, in: database, parent: revisionID, properties: contents.document.body)
        child.lacksParentBody = !contents.hasBody
        return child
    }

    /// Saves a child of this revision.
    ///
    /// - Parameter properties: The whole new body, as for `LiveDocument.putProperties`; a
    ///   `_rev` in it is passed over, since this revision is the parent.
    /// - Returns: The new revision.
    /// - Throws: `DatabaseError` with code `.conflict` when this is not the current revision any
    ///   more, or as `UnsavedRevision.save`.
    @discardableResult
    public func createRevision(with properties: JSONObject) throws -> SavedRevision {
        var child = UnsavedRevision(of: documentID, in: database, parent: revisionID)
        child.properties = properties
        return try child.save()
    }

    /// Adds a tombstone below this revision: deletes the document, or resolves a conflict by taking
    /// this leaf out of it.
    ///
    /// The document is then deleted if no other leaf is left; else the best of those becomes current.
    ///
    /// - Returns: The tombstone; where another writer has deleted the document already, that one's.
    /// - Throws: `DatabaseError` with code `.conflict` when another writer has changed this revision
    ///   since, `.documentNotFound` when the document was purged, or as `Database.write(_:)`.
    @discardableResult
    public func delete() throws -> SavedRevision {
        try database.changeLive(documentID) { context in
            let tombstone = try context.operation {
                try context.delete(documentID, base: revisionID, refuseStale: true)
            }
            return SavedRevision(RevisionContents(tombstone), in: database)
        }
    }
}
