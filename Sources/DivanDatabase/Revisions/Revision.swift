// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// What saved and unsaved revisions have in common: a document at one step of its history.
///
/// ``SavedRevision`` stands for a revision that is stored, ``UnsavedRevision`` for one that is being
/// made. Both are values.
public protocol Revision: PropertyReader, Sendable {
    /// The database.
    var database: Database { get }
    /// The ID of the document whose revision this is.
    var documentID: DocumentID { get }
    /// Whether the revision deletes the document.
    var isDeletion: Bool { get }
    /// The ID of the revision that this one was made from; nil for the first one, or when the
    /// history does not go back that far.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    var parentRevisionID: RevisionID? { get throws }
}

extension Revision {
    /// The document whose revision this is.
    public var document: LiveDocument {
        database.live.document(documentID, in: database)
    }

    /// Whether the document is deleted, or was taken away from this database by the source of a
    /// replication.
    public var isGone: Bool {
        isDeletion || self[SpecialProperty.removed.rawValue].bool == true
    }

    /// The properties without the special ones, whose names begin with an underscore.
    public var userProperties: JSONObject { properties.withoutReserved }

    /// The value of a property, decoded; nil when there is none.
    public func property(forKey key: String) -> JSONValue? { self[key].value }
}

extension JSONObject {
    /// The properties whose names do not begin with an underscore.
    var withoutReserved: JSONObject {
        JSONObject(lazy.filter { !SpecialProperty.isReserved($0.key) })
    }
}
