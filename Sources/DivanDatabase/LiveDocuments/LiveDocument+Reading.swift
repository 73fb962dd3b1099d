// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel
internal import DivanStorage
internal import Observation

// What the document is now. Every accessor takes the current snapshot, read if need be, and tells
// the observation in progress, if there is one, what it looked at.
extension LiveDocument {
    /// Reads the current revision unless it is in memory, and says why when that fails.
    ///
    /// Nothing has to be loaded by hand; this is for reading ahead and for its error.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func load() throws { _ = try snapshot() }

    /// Why the last attempt to read the document failed; nil when it succeeded or there was none.
    ///
    /// While it is set the document shows what it last knew, or nothing.
    public var loadFailure: DatabaseError? {
        _ = shown(Self.contentPath)
        return cache.failure
    }

    /// Whether the document exists: it has a current revision, and that is no tombstone.
    public var exists: Bool { shown(Self.contentPath)?.contents?.isDeletion == false }

    /// Whether the document is deleted: its current revision is a tombstone.
    public var isDeleted: Bool { shown(Self.contentPath)?.contents?.isDeletion ?? false }

    /// Whether the document is deleted, or was taken away from this database by the source of a
    /// replication.
    public var isGone: Bool { shown(Self.contentPath)?.contents?.isGone ?? false }

    /// Whether the document is in conflict: it has more than one live leaf.
    public var isConflicted: Bool { shown(Self.treePath)?.isConflicted ?? false }

    /// The current revision, which wins where there are several leaves; that of a deleted document is
    /// its tombstone.
    ///
    /// Every document that exists has one, so nil means that there is no such document.
    public var currentRevision: SavedRevision? {
        shown(Self.contentPath)?.contents.map { SavedRevision($0, in: database) }
    }

    /// The ID of the current revision; nil when there is no such document.
    public var currentRevisionID: RevisionID? {
        shown(Self.contentPath)?.contents?.document.revisionID
    }

    /// The sequence of the current revision; 0 when there is no such document.
    public var sequence: SequenceNumber { shown(Self.contentPath)?.contents?.sequence ?? 0 }

    /// The properties without the special ones, whose names begin with an underscore.
    public var userProperties: JSONObject { properties.withoutReserved }

    /// The value of a property, decoded; nil when there is none.
    public func property(forKey key: String) -> JSONValue? { self[key].value }
}

extension LiveDocument: PropertyReader {
    /// All properties of the current revision with the special ones, decoded; empty when there is no
    /// such document.
    ///
    /// They hold `_id` and `_rev`, and `_deleted` in a tombstone, so they can be edited and handed to
    /// `putProperties`. They are decoded once for each revision; to read a few, take
    /// subscripts, which decode nothing else.
    public var properties: JSONObject { shown(Self.contentPath)?.contents?.properties ?? [:] }

    /// The value of a property of the current revision.
    public subscript(key: String) -> Fragment {
        registrar.access(self, keyPath: Self.contentPath)
        if !writer.isOwnedByCurrentThread, let property = cache.property(key) { return property }
        return newest?.contents?[key] ?? Fragment(JSONValue?.none)
    }

    /// The names of all properties, the special ones first.
    public var keys: [String] { shown(Self.contentPath)?.contents?.keys ?? [] }

    /// The number of properties, the special ones included.
    public var count: Int { shown(Self.contentPath)?.contents?.count ?? 0 }
}

extension LiveDocument {
    /// The snapshot to show to the calling thread, read if need be.
    func snapshot() throws -> LiveSnapshot {
        // The thread that runs a batch sees the batch's work, which no other thread may be shown.
        if writer.isOwnedByCurrentThread {
            return try database.core.read { try $0.liveSnapshot(of: id) }
        }
        return try cache.load(id, from: database)
    }

    /// The snapshot to show, for a member that the observation in progress notes.
    private func shown<Member>(_ keyPath: KeyPath<LiveDocument, Member>) -> LiveSnapshot? {
        registrar.access(self, keyPath: keyPath)
        return newest
    }

    /// The snapshot to show; the newest there is when reading fails.
    private var newest: LiveSnapshot? { (try? snapshot()) ?? cache.newest }
}

// Making a key path costs a few times what looking a property up does.
extension LiveDocument {
    /// What depends on the current revision, for observers.
    static let contentPath: any KeyPath<LiveDocument, SavedRevision?> & Sendable = \.currentRevision

    /// What depends on the other revisions, too.
    static let treePath: any KeyPath<LiveDocument, Bool> & Sendable = \.isConflicted
}

extension Snapshot {
    /// How a document stands in the open batch; read once as long as the batch leaves it alone.
    fileprivate func liveSnapshot(of id: DocumentID) throws -> LiveSnapshot {
        if let known = context?.views[id] { return known }
        let snapshot = try LiveSnapshot(of: id, from: self)
        context?.views[id] = snapshot
        return snapshot
    }
}
