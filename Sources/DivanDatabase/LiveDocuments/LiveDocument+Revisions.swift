// SPDX-License-Identifier: Apache-2.0

public import DivanModel
internal import Observation

// The other revisions. They are read when asked for, all from one moment.
extension LiveDocument {
    /// The current revision and its ancestors as far as they are known, oldest first.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var revisionHistory: [SavedRevision] {
        get throws { try currentOrThrow()?.revisionHistory ?? [] }
    }

    /// The live leaf revisions, the current one first. More than one means a conflict.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var conflictingRevisions: [SavedRevision] {
        get throws { try leafRevisions.filter { !$0.isDeletion } }
    }

    /// All leaf revisions, tombstones included, the current one first.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var leafRevisions: [SavedRevision] {
        get throws {
            guard let tree = try tree() else { return [] }
            return tree.leaves.map { SavedRevision($0, of: id, in: database) }
        }
    }

    /// A given revision.
    ///
    /// - Parameter revisionID: Its ID.
    /// - Returns: nil when the document has no such revision, or does not know of it any more.
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func revision(withID revisionID: RevisionID) throws -> SavedRevision? {
        let revision = try revisionID.checked(of: id)
        guard let node = try tree()?.node(revision) else { return nil }
        return SavedRevision(node, of: id, in: database)
    }

    /// The revision tree as it is now; in a batch of this thread, as that has made it.
    func tree() throws -> RevisionTree? {
        registrar.access(self, keyPath: Self.treePath)
        try database.checkOpen()
        return try database.core.read { try $0.wholeTree(id) }
    }

    private func currentOrThrow() throws -> SavedRevision? {
        try load()
        return currentRevision
    }
}
