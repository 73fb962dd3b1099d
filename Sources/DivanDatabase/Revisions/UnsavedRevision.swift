// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// A revision that is being made: an editable value that is only in memory until it is saved.
///
/// ```swift
/// var revision = live.makeRevision()
/// revision["title"] = "New title"
/// revision["address"]["zip"] = "1010"
/// let saved = try revision.save()
/// ```
///
/// It comes from ``LiveDocument/makeRevision()``, from ``SavedRevision/makeRevision()``, or as the
/// argument of `LiveDocument.update`, and begins with the properties of its parent. Saving stores
/// it as that revision's child, which succeeds only as long as no other child is stored.
///
/// Set ``isDeletion`` to delete the document and keep what the properties say, such as who deleted
/// it and when.
///
/// Being a value, it is copied when it is handed on; edits of one copy are not seen by another.
public struct UnsavedRevision: Revision {
    /// The database.
    public let database: Database
    /// The ID of the document that this will be a revision of.
    public let documentID: DocumentID
    /// The ID of the revision that this one is made from; nil when it creates the document.
    public let parentRevisionID: RevisionID?
    var stored: EditableProperties
    /// Whether the parent's properties could not be read, and all of them have not been set since.
    var lacksParentBody = false
    /// Attachments to add and to leave out.
    var pending: PendingAttachments?
    /// Whether saving this deletes the document; the properties are kept in the tombstone.
    public var isDeletion = false

    init(
        of id: DocumentID, in database: Database, parent: RevisionID?,
        properties: PackedValue = .emptyObject
    ) {
        self.database = database
        documentID = id
        parentRevisionID = parent
        stored = EditableProperties(properties)
    }

    /// nil: a revision gets its ID when it is saved.
    public var revisionID: RevisionID? { nil }

    /// The revision that this one is made from; nil when it creates the document, or when the
    /// document does not have that revision any more.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var parentRevision: SavedRevision? {
        get throws {
            guard let parent = parentRevisionID, let node = try document.tree()?.node(parent) else {
                return nil
            }
            return SavedRevision(node, of: documentID, in: database)
        }
    }
}

// MARK: - Properties

extension UnsavedRevision {
    /// All properties, decoded, with `_id`, the parent's ID as `_rev`, and `_deleted` in a deletion.
    ///
    /// Setting them replaces all. Of the special ones `_deleted` sets ``isDeletion``, which is false
    /// where it is missing; `_rev` is passed over, since the parent cannot be changed.
    public var properties: JSONObject {
        get {
            var object = special
            for (key, value) in stored.object { object[key] = value }
            return object
        }
        set {
            isDeletion = newValue[SpecialProperty.deleted.rawValue]?.bool ?? false
            stored.replaceAll(newValue.body(of: documentID))
            lacksParentBody = false
        }
    }

    /// The properties without the special ones. Setting them keeps the special ones.
    public var userProperties: JSONObject {
        get { stored.object.withoutReserved }
        set {
            var object = newValue
            for (key, value) in stored.object where SpecialProperty.isReserved(key) {
                object[key] = value
            }
            stored.replaceAll(object)
        }
    }

    /// The value of a property; assigning nil removes it.
    ///
    /// `_id` and `_rev` can be read only; a value assigned to them is passed over.
    public subscript(key: String) -> Fragment {
        get {
            let blobs = pending?.blobs ?? []
            return special[key].map { Fragment($0) }
                ?? stored.fragment(key, store: store, blobs: blobs)
        }
        set {
            switch SpecialProperty(rawValue: key) {
            case .id, .revision: break
            case .deleted: isDeletion = newValue.bool ?? false
            default:
                stored.set(newValue.value, forKey: key)
                add(newValue.blobs)
            }
        }
    }

    /// Sets a property.
    public mutating func set(_ value: some JSONConvertible, forKey key: String) {
        self[key] = Fragment(value)
    }

    /// Removes a property; a missing one is fine.
    public mutating func removeValue(forKey key: String) { self[key] = Fragment(JSONValue?.none) }

    /// The names of all properties, the special ones first.
    public var keys: [String] { special.keys + stored.keys }

    /// The number of properties, the special ones included.
    public var count: Int { special.count + stored.count }

    /// Keeps what brings the content of blobs that were set, until the revision is saved.
    private mutating func add(_ blobs: [Blob]) {
        let blobs = blobs.filter(\.hasContent)
        guard !blobs.isEmpty else { return }
        var pending = pending ?? PendingAttachments()
        pending.add(blobs)
        self.pending = pending
    }

    /// Where the contents of its blobs and attachments are.
    var store: UInt32 { database.core.attachments.number }

    private var special: JSONObject {
        var object: JSONObject = [SpecialProperty.id.rawValue: .string(documentID.text)]
        if let parentRevisionID {
            object[SpecialProperty.revision.rawValue] = .string(parentRevisionID.description)
        }
        if isDeletion { object[SpecialProperty.deleted.rawValue] = true }
        return object
    }
}

extension UnsavedRevision: CustomStringConvertible {
    /// The IDs of the document and the parent; never the content.
    public var description: String {
        "UnsavedRevision(\(documentID), child of \(parentRevisionID ?? "nothing"))"
    }
}
