// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// A relation to another model by the ID of its document, which is loaded when it is asked for.
///
/// ```swift
/// struct Todo: DocumentModel {
///     var identity = ModelIdentity()
///     var title: String
///     var list: ModelReference<Checklist>
/// }
///
/// let list = try todo.list.load(from: database)
/// ```
///
/// In the document it is the ID, a string; an array of references is an array of strings. The other
/// document need not be there.
public struct ModelReference<Model: DocumentModel>: Hashable, Sendable, JSONCodable {
    /// The ID of the other document.
    public private(set) var id: DocumentID

    /// Refers to a document by its ID.
    public init(id: DocumentID) { self.id = id }

    /// Refers to a model, saved or not.
    public init(_ model: Model) { id = model.id }

    /// The other model as it is now; nil when there is no such document.
    ///
    /// - Throws: As `Database.model(_:withID:)`.
    public func load(from database: Database) throws -> Model? {
        try database.model(Model.self, withID: id)
    }

    /// The ID, as a string.
    public var jsonValue: JSONValue { .string(id.text) }

    /// Reads an ID; nil for anything but a string.
    public init?(jsonValue: JSONValue) {
        guard let id = jsonValue.string else { return nil }
        self.id = DocumentID(id)
    }

    /// Decodes an ID.
    public init(from decoder: any Decoder) throws {
        id = DocumentID(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the ID.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(id)
    }
}

/// The model types of a database with documents of several types, which are told apart by their
/// `type` property.
///
/// ```swift
/// let types = ModelTypes([Todo.self, Checklist.self])
/// switch try types.model(from: document) {
/// case let todo as Todo: show(todo)
/// case let list as Checklist: show(list)
/// default: break
/// }
/// ```
public struct ModelTypes: Sendable {
    private let types: [any DocumentModel.Type]

    /// Lists the types; of two that claim a document the first one gets it.
    public init(_ types: [any DocumentModel.Type]) { self.types = types }

    /// The model of a document; nil when it says that it is of no type in the list.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it does not have the properties of
    ///   the type that it says it has.
    public func model(from document: Document) throws -> (any DocumentModel)? {
        for type in types where type.claims(document) { return try type.make(from: document) }
        return nil
    }
}

extension DocumentModel {
    fileprivate static func claims(_ document: Document) -> Bool {
        documentType != nil && ModelCoding.isType(Self.self, document)
    }

    fileprivate static func make(from document: Document) throws -> any DocumentModel {
        try document.model(Self.self)
    }
}
