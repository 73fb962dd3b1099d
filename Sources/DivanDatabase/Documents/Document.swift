// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// One revision of a document, as it was when it was read: an immutable value.
///
/// ```swift
/// if let task = try database.document(withID: "task-1") {
///     print(task.string(forKey: "title") ?? "untitled", task["address"]["zip"].string ?? "")
/// }
/// ```
///
/// A document keeps the bytes it was read as and looks properties up in them, so reading one costs no
/// decoding and holding it pins nothing in the database. It never changes; read again to see newer
/// revisions, or edit a copy made by `toMutable()`.
///
/// The accessors of `PropertyReader` give typed values with defaults; subscripts give optionals.
/// Attachments are no properties: see `attachment(named:)`.
public struct Document: Sendable {
    /// The document's ID.
    public let id: DocumentID
    /// The revision's ID: its generation, a hyphen, its digest.
    public let revisionID: RevisionID
    /// The properties in their stored form.
    public let body: PackedValue
    /// The place of this revision in the database's order of changes.
    public let sequence: SequenceNumber
    /// Whether this revision is a tombstone.
    public let isDeleted: Bool
    /// The store of its attachments, by number; see `AttachmentStores`.
    let store: UInt32

    /// Makes a document of a stored revision.
    package init(
        id: DocumentID, revisionID: RevisionID, sequence: SequenceNumber, isDeleted: Bool,
        body: PackedValue, store: UInt32
    ) {
        self.store = store
        self.id = id
        self.revisionID = revisionID
        self.sequence = sequence
        self.isDeleted = isDeleted
        self.body = body
    }

    /// A deleted document whose body was not asked for.
    init(tombstoneOf id: DocumentID, node: RevisionTree.Node) {
        self.init(
            id: id, revisionID: node.id, sequence: node.sequence ?? 0, isDeleted: true,
            body: PackedValue(.object([:])), store: 0)
    }

    /// How many edits led to this revision.
    public var generation: UInt64 { revisionID.generation }

    /// An editable copy; edits do not touch this document.
    public func toMutable() -> MutableDocument { MutableDocument(editing: self) }

    /// The properties as JSON text, without ID, revision and attachments.
    public func toJSON() -> String {
        guard body["_attachments"] != nil else { return body.jsonText }
        return body.replacing(["_attachments": JSONValue?.none]).jsonText
    }
}

extension Document: PropertyReader {
    /// All properties, decoded.
    public var properties: JSONObject {
        guard case .object(var object) = body.jsonValue() else { return [:] }
        if object["_attachments"] != nil { object["_attachments"] = nil }
        return object
    }

    /// The value of a property.
    public subscript(key: String) -> Fragment {
        key == "_attachments" ? nil : Fragment(body[key], store: store)
    }

    /// The names of all properties, in UTF-16 order.
    public var keys: [String] {
        let keys = body.keys
        return keys.contains("_attachments") ? keys.filter { $0 != "_attachments" } : keys
    }

    /// The number of properties.
    public var count: Int { body.count - (body["_attachments"] == nil ? 0 : 1) }
}

extension Document: Equatable {
    /// Two documents are equal when they are the same revision of the same ID.
    public static func == (left: Document, right: Document) -> Bool {
        left.id == right.id && left.revisionID == right.revisionID
    }
}

extension Document: CustomStringConvertible {
    /// ID and revision; never the content.
    public var description: String { "Document(\(id) \(revisionID)\(isDeleted ? " deleted" : ""))" }
}
