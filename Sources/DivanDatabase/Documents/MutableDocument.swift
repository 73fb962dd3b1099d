// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel
internal import Synchronization

/// An editable copy of a document, or a new one, that `Database.save(_:_:)` stores.
///
/// ```swift
/// let task = MutableDocument(["type": "task", "title": "Buy milk"])
/// try database.save(task)
///
/// let copy = try database.document(withID: task.id)!.toMutable()
/// copy["done"] = true
/// copy["address"]["zip"] = "1010"
/// try database.save(copy)
/// ```
///
/// Only this object shows its edits until they are saved. After a save the object stands for the
/// revision that was saved, so it can be edited and saved again; if the batch it was saved in is
/// rolled back, it goes back to what it stood for before.
///
/// Keys that begin with an underscore are reserved at the top level; `save` refuses them.
///
/// It may be shared between threads and tasks: one mutex guards all of its state, and each call is
/// atomic by itself. It is a class so that a save can tell it its new revision.
public final class MutableDocument: Sendable {
    struct State {
        var id: DocumentID
        var hasGeneratedID = false
        /// The revision this was made from; nil for a new document.
        var base: RevisionID?
        var sequence: SequenceNumber = 0
        var properties: EditableProperties
        /// Attachments and blobs that were added or removed.
        var pending: PendingAttachments?
        /// The store of the database this came from, by number; 0 for none.
        var store: UInt32 = 0
        /// Whether there is something to save that `base` does not have.
        var hasChanges: Bool
        /// Counts the edits, so that a save can tell whether one came after it took its draft.
        var edits = 0
        var draftedEdits = 0
        /// The saves that may still be taken back; see MutableDocument+Saving.
        var unsettled = UnsettledSaves()
    }

    /// For `withState(_:)` alone.
    let state: Mutex<State>

    /// A new, empty document with a generated ID.
    public convenience init() { self.init(id: nil, EditableProperties(.emptyObject)) }

    /// A new, empty document with an ID of the app's choice, which `save` checks.
    public convenience init(id: DocumentID) { self.init(id: id, EditableProperties(.emptyObject)) }

    /// A new document with properties.
    ///
    /// - Parameters:
    ///   - properties: The properties; a literal such as `["type": "task"]` will do.
    ///   - id: Its ID; nil for a generated one.
    public convenience init(_ properties: JSONObject, id: DocumentID? = nil) {
        self.init(id: id, EditableProperties(properties))
    }

    /// A new document from JSON text, the fastest way in: nothing but the stored form is built.
    ///
    /// - Parameters:
    ///   - json: UTF-8 text of a JSON object.
    ///   - id: Its ID; nil for a generated one.
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it is not JSON or no object.
    public convenience init(json: String, id: DocumentID? = nil) throws {
        try self.init(json: Array(json.utf8), id: id)
    }

    /// As `init(json:id:)` for a string, from UTF-8 bytes.
    public convenience init(json: [UInt8], id: DocumentID? = nil) throws {
        try self.init(json: json.span, id: id)
    }

    /// As `init(json:id:)` for a string, from UTF-8 bytes that are lent: those of a mapped file, or a
    /// part of a larger text, are not copied.
    public convenience init(json: Span<UInt8>, id: DocumentID? = nil) throws {
        self.init(id: id, EditableProperties(try Self.parse(json, id: id)))
    }

    /// A new document from a body in the stored form, such as one parsed by `PackedValue`.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it is no object.
    public convenience init(body: PackedValue, id: DocumentID? = nil) throws {
        guard body.kind == .object else {
            throw DatabaseError(
                .invalidDocument, "A document's body must be a JSON object.", documentID: id)
        }
        // A value inside another one's bytes becomes one of its own.
        self.init(id: id, EditableProperties(PackedValue(bytes: body.bytes)))
    }

    init(editing document: Document) {
        state = Mutex(
            State(
                id: document.id, base: document.revisionID, sequence: document.sequence,
                properties: EditableProperties(document.body), store: document.store,
                hasChanges: false))
    }

    private init(id: DocumentID?, _ properties: EditableProperties) {
        state = Mutex(
            State(
                id: id ?? IDGenerator.shared.documentID(), hasGeneratedID: id == nil,
                properties: properties, hasChanges: true))
    }

    /// The document's ID.
    public var id: DocumentID { withState(\.id) }

    /// The revision this was made from or saved as; nil for a document never saved.
    public var revisionID: RevisionID? { withState(\.base) }

    /// The sequence of that revision; 0 for a document never saved.
    public var sequence: SequenceNumber { withState(\.sequence) }

    /// Whether there are edits that have not been saved; always true for a document never saved.
    public var hasUnsavedChanges: Bool { withState(\.hasChanges) }

    /// Replaces all properties by those of a JSON object.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument`; the properties are then unchanged.
    public func setJSON(_ json: String) throws { try setJSON(Array(json.utf8)) }

    /// As `setJSON(_:)` for a string, from UTF-8 bytes.
    public func setJSON(_ json: [UInt8]) throws {
        let packed = try Self.parse(json.span, id: id)
        withState { state in
            state.properties.replaceAll(packed)
            state.noteEdit()
        }
    }

    /// The properties as JSON text.
    public func toJSON() -> String {
        JSONWriter.string(.object(properties))
    }

    private static func parse(_ json: Span<UInt8>, id: DocumentID?) throws -> PackedValue {
        let packed: PackedValue
        do { packed = try PackedValue(parsing: json) } catch {
            throw DatabaseError(
                .invalidDocument, "The text is not JSON: \(error)", documentID: id,
                underlying: error)
        }
        guard packed.isObject else {
            throw DatabaseError(
                .invalidDocument, "A document's body must be a JSON object.", documentID: id)
        }
        return packed
    }
}

// MARK: - Properties

extension MutableDocument: PropertyReader {
    /// All properties, decoded.
    public var properties: JSONObject {
        withState { $0.properties.object }
    }

    /// Replaces all properties.
    public func setProperties(_ properties: JSONObject) {
        edit { $0.replaceAll(properties) }
    }

    /// The value of a property; assigning nil removes it.
    public subscript(key: String) -> Fragment {
        get {
            withState { state in
                let blobs = state.pending?.blobs ?? []
                return state.properties.fragment(key, store: state.store, blobs: blobs)
            }
        }
        set {
            let value = newValue.value
            edit(blobs: newValue.blobs) { $0.set(value, forKey: key) }
        }
    }

    /// The blob at a property; assigning nil removes it.
    @_disfavoredOverload
    public subscript(key: String) -> Blob? {
        get { self[key].blob }
        set { self[key] = newValue.map { Fragment($0) } ?? nil }
    }

    /// The names of all properties.
    public var keys: [String] {
        withState { $0.properties.keys }
    }

    /// The number of properties.
    public var count: Int { withState { $0.properties.count } }

    /// Sets a property.
    public func set(_ value: some JSONConvertible, forKey key: String) {
        let json = value.jsonValue
        edit(blobs: value.blobs) { $0.set(json, forKey: key) }
    }

    /// Removes a property; a missing one is fine.
    public func removeValue(forKey key: String) { edit { $0.set(nil, forKey: key) } }

    private func edit(blobs: [Blob] = [], _ change: (inout EditableProperties) -> Void) {
        withState { state in
            change(&state.properties)
            if !blobs.isEmpty { state.addBlobs(blobs) }
            state.noteEdit()
        }
    }
}

extension MutableDocument.State {
    mutating func noteEdit() {
        hasChanges = true
        edits += 1
    }
}
