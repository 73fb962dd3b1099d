// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel
internal import Synchronization

/// A revision of a document as it is stored: an immutable value.
///
/// ```swift
/// let revision = live.currentRevision
/// revision?["title"].string
///
/// var edited = revision?.makeRevision()           // an editable child, in memory
/// edited?["title"] = "New title"
/// try edited?.save()
/// ```
///
/// A document's revisions form a tree. The current one comes from ``LiveDocument/currentRevision``,
/// the others from ``LiveDocument/revisionHistory``, ``LiveDocument/leafRevisions`` and
/// ``parentRevision``. Revisions are there to find out what to replicate and what is in conflict,
/// not to keep old content: the IDs of past revisions are known as far back as the history is kept,
/// their bodies only until compaction, and only where they were made or received.
///
/// A revision whose body is gone still has its special properties, `_id`, `_rev` and `_deleted`;
/// ``propertiesAvailable`` tells. Bodies of past revisions are read when they are first asked for.
///
/// Two are equal when they are the same revision of the same document.
public struct SavedRevision: Revision {
    /// The database.
    public let database: Database
    /// The ID of the document whose revision this is.
    public let documentID: DocumentID
    /// The revision's ID: its generation, a hyphen, its digest.
    public let revisionID: RevisionID
    /// The place of this revision in the database's order of changes; 0 when its body is gone.
    public let sequence: SequenceNumber
    /// Whether the revision deletes the document.
    public let isDeletion: Bool
    private let body: RevisionBody

    init(_ contents: RevisionContents, in database: Database) {
        self.database = database
        documentID = contents.document.id
        revisionID = contents.revision
        sequence = contents.sequence
        isDeletion = contents.isDeletion
        body = RevisionBody(contents)
    }

    /// A revision whose body is read when a caller asks for it.
    init(_ node: RevisionTree.Node, of id: DocumentID, in database: Database) {
        self.database = database
        documentID = id
        revisionID = node.id
        sequence = node.sequence ?? 0
        isDeletion = node.isTombstone
        body = RevisionBody(nil)
    }

    /// How many edits led to this revision.
    public var generation: UInt64 { revisionID.generation }

    /// Whether the body is stored here.
    ///
    /// That of a leaf always is; that of a past revision until compaction, and only when it was made
    /// here or received as a leaf.
    public var propertiesAvailable: Bool { contents.hasBody }

    /// The body, read if need be; one that is gone or cannot be read is empty.
    var contents: RevisionContents { body.load { try? read() } ?? missing }

    /// Reads the body from the database, and says why when that fails.
    ///
    /// The properties are read when they are first asked for, which cannot throw; call this first to
    /// be told of a failure.
    ///
    /// - Throws: `DatabaseError` with code `.revisionNotFound` when the body is gone,
    ///   `.databaseClosed`, `.io` or `.corrupted`.
    public func load() throws {
        let contents = try body.loaded ?? read()
        guard body.load({ contents })?.hasBody == true else {
            throw DatabaseError.bodyGone(documentID, revisionID)
        }
    }

    private func read() throws -> RevisionContents {
        try database.checkOpen()
        return try database.core.read { reader in
            do {
                guard let document = try reader.document(documentID, revision: revisionID) else {
                    return missing
                }
                return RevisionContents(document)
            } catch let error as DatabaseError where error.code == .revisionNotFound {
                return missing
            }
        }
    }

    private var missing: RevisionContents {
        RevisionContents(
            Document(
                id: documentID, revisionID: revisionID, sequence: sequence, isDeleted: isDeletion,
                body: .emptyObject, store: database.core.attachments.number), hasBody: false)
    }
}

/// The body of a revision, read at most once.
///
/// State: `contents`, under its mutex; reading happens outside it.
private final class RevisionBody: Sendable {
    private let contents: Mutex<RevisionContents?>

    init(_ contents: RevisionContents?) { self.contents = Mutex(contents) }

    var loaded: RevisionContents? { contents.withLock { $0 } }

    func load(_ read: () -> RevisionContents?) -> RevisionContents? {
        if let loaded { return loaded }
        guard let read = read() else { return nil }
        return contents.withLock { contents in
            contents = contents ?? read
            return contents
        }
    }
}

extension SavedRevision {
    /// All properties with the special ones, decoded.
    ///
    /// They hold `_id` and `_rev`, and `_deleted` in a tombstone. Only these are left when the body
    /// is gone or cannot be read: call ``load()`` before you make the next revision of them.
    public var properties: JSONObject { contents.properties }

    /// The value of a property.
    public subscript(key: String) -> Fragment { contents[key] }

    /// The names of all properties, the special ones first.
    public var keys: [String] { contents.keys }

    /// The number of properties, the special ones included.
    public var count: Int { contents.count }
}

extension SavedRevision: Hashable {
    /// Whether both are the same revision of the same document.
    public static func == (left: SavedRevision, right: SavedRevision) -> Bool {
        left.revisionID == right.revisionID && left.documentID == right.documentID
            && left.database.core === right.database.core
    }

    /// Hashes the two IDs.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(documentID)
        hasher.combine(revisionID)
    }
}

extension SavedRevision: CustomStringConvertible {
    /// Both IDs; never the content.
    public var description: String {
        "SavedRevision(\(documentID) \(revisionID)\(isDeletion ? " deleted" : ""))"
    }
}
