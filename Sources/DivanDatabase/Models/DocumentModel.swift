// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel

/// A type of the app's own that is kept as a document: one value, one document.
///
/// ```swift
/// struct Todo: DocumentModel {
///     static let documentType: String? = "todo"
///
///     var identity = ModelIdentity()
///     var title: String
///     var due: Date?
///     var list: ModelReference<Checklist>?
///     var photo: Blob?
/// }
///
/// var todo = Todo(title: "Learn Persian")
/// try database.save(&todo)                               // creates the document
/// todo.title = "Learn Farsi"
/// try database.save(&todo)                               // updates it, or throws .conflict
/// let same = try database.model(Todo.self, withID: todo.id)
/// ```
///
/// The properties of the type are those of the document, by `Codable`. `identity` is not among them:
/// it says which document this is and which revision the value was read from or saved as, so a save
/// over another writer's newer edit is refused with `.conflict`. It travels with copies of the value.
///
/// ## Rules
/// 1. Properties of the document that the type does not name are kept by every save, and so are the
///    document's attachments.
/// 2. With a `documentType`, the property `typeKey` holds it in every document saved, and a
///    document with another value is not read as this type.
/// 3. A save in a batch that is undone leaves the value with a revision that does not exist; the next
///    save then throws `.conflict`. `reload(_:)` puts that right.
public protocol DocumentModel: Codable, Sendable, Identifiable where ID == DocumentID {
    /// Which document this is, and which revision of it; give it `ModelIdentity()` to begin with.
    var identity: ModelIdentity { get set }

    /// What the documents of this type say in `typeKey`; nil, unless declared, for no such property.
    static var documentType: String? { get }

    /// The property that holds `documentType`: `type` unless declared otherwise.
    static var typeKey: String { get }

    /// Called before each save, on the value that is saved; may complete or refuse it.
    mutating func willSave() throws

    /// Called on each value that was read.
    mutating func didLoad()
}

extension DocumentModel {
    /// None.
    public static var documentType: String? { nil }
    /// `type`.
    public static var typeKey: String { "type" }
    /// Does nothing.
    public mutating func willSave() throws {}
    /// Does nothing.
    public mutating func didLoad() {}

    /// The ID of the document.
    public var id: DocumentID { identity.id }
    /// The revision this was read from or saved as; nil for a value that was never saved.
    public var revisionID: RevisionID? { identity.revisionID }
}

/// Which document a model stands for, and which of its revisions.
public struct ModelIdentity: Codable, Hashable, Sendable {
    /// The document's ID.
    public let id: DocumentID
    /// The revision that the value was read from or saved as; nil before the first save.
    public internal(set) var revisionID: RevisionID?

    /// Whether both stand for the same document, by the bytes of its ID, and the same revision.
    public static func == (left: ModelIdentity, right: ModelIdentity) -> Bool {
        left.id == right.id && left.revisionID == right.revisionID
    }

    /// Hashes ID and revision.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(revisionID)
    }

    /// The identity of a new document, with a generated ID.
    public init() { id = IDGenerator.shared.documentID() }

    /// The identity of a new document with an ID of the app's choice.
    public init(id: DocumentID) { self.id = id }

    init(id: DocumentID, revisionID: RevisionID?) {
        self.id = id
        self.revisionID = revisionID
    }

    private enum CodingKeys: String, CodingKey {
        case id, revisionID
    }

    /// Decodes an identity as it was encoded, whatever its ID is: a save checks it.
    ///
    /// - Parameter decoder: Where an app's own coder has put a model.
    /// - Throws: `DecodingError` if there is no identity.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = DocumentID(try container.decode(String.self, forKey: .id))
        revisionID = try container.decodeIfPresent(String.self, forKey: .revisionID)
            .map { RevisionID($0) }
    }
}

// The coding that the compiler makes for a model calls these for its identity, since they are more
// specific than the general ones: a document has no such property.

extension KeyedEncodingContainer {
    /// Leaves the identity of a model out of its document; other coders get it.
    public mutating func encode(_ value: ModelIdentity, forKey key: Key) throws {
        if ModelCoding.isActive { return }
        try encode(AnyIdentity(identity: value), forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Decodes the identity of a model where a coder has put it.
    ///
    /// A document has none. The model that is decoded from the whole document gets the identity of that later; one
    /// inside it is no document, and gets a new identity.
    public func decode(_ type: ModelIdentity.Type, forKey key: Key) throws -> ModelIdentity {
        guard !ModelCoding.isActive, contains(key) else { return ModelIdentity() }
        return try decode(AnyIdentity.self, forKey: key).identity
    }
}

/// Codes an identity as any value is coded.
private struct AnyIdentity: Codable {
    var identity: ModelIdentity

    init(identity: ModelIdentity) { self.identity = identity }
    init(from decoder: any Decoder) throws { identity = try ModelIdentity(from: decoder) }
    func encode(to encoder: any Encoder) throws { try identity.encode(to: encoder) }
}
