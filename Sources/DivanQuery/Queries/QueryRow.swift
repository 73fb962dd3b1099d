// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON
public import DivanModel

/// A row of a query's result.
///
/// Key and value are decoded when they are asked for. A row of a view is found by its key; a reduced
/// or grouped row stands for many and has no document.
public struct QueryRow: Sendable {
    // A result has many rows and hands out copies of them, so a row is a place in a block and two
    // references; what few rows have lies behind the second.
    enum Content: Sendable {
        /// A row as it lies in the index.
        case index(IndexedRow)
        /// A row that a query made.
        case made(Made)
    }

    /// What a query makes a row of.
    final class Made: Sendable {
        let key: JSONValue
        let value: JSONValue?
        let documentID: DocumentID?
        let core: DatabaseCore

        init(key: JSONValue, value: JSONValue?, documentID: DocumentID?, core: DatabaseCore) {
            self.key = key
            self.value = value
            self.documentID = documentID
            self.core = core
        }
    }

    /// The documents that came with a row.
    private final class Documents: Sendable {
        let included: Document?
        let conflicting: [Document]?

        init(_ included: Document?, _ conflicting: [Document]?) {
            self.included = included
            self.conflicting = conflicting
        }
    }

    let content: Content
    private let documents: Documents?

    init(_ content: Content, including document: Document? = nil, conflicts: [Document]? = nil) {
        self.content = content
        let hasNone = document == nil && conflicts == nil
        documents = hasNone ? nil : Documents(document, conflicts)
    }

    /// The document, when the query includes documents.
    public var includedDocument: Document? { documents?.included }

    /// The leaf revisions of the document, the current one first, when the query shows conflicts and
    /// the document has some.
    public var conflictingRevisions: [Document]? { documents?.conflicting }

    private var core: DatabaseCore {
        switch content {
        case .made(let made): made.core
        case .index(let row): row.core
        }
    }

    /// What was emitted as the key; for a row of all documents its ID; for a reduced row null, for a
    /// group its key.
    public var key: JSONValue {
        switch content {
        case .made(let made): made.key
        case .index(let row): row.key
        }
    }

    /// What was emitted as the value, or what the rows were reduced to; nil for nothing.
    public var value: JSONValue? {
        switch content {
        case .made(let made): made.value
        case .index(let row): row.value?.jsonValue()
        }
    }

    /// The value of a row of an index, as it lies there; nil for nothing.
    var packedValue: PackedValue? {
        if case .index(let row) = content { row.value } else { nil }
    }

    /// The bytes of a row of an index; 0 for a row that a query made.
    var byteCount: Int {
        if case .index(let row) = content { row.byteCount } else { 0 }
    }

    /// The item of an array key at an index; the key itself for index 0 of any other key.
    public func key(at index: Int) -> JSONValue? {
        let key = key
        // In a conditional expression nil would be JSON's null.
        guard case .array(let items) = key else {
            if index == 0 { return key }
            return nil
        }
        guard items.indices.contains(index) else { return nil }
        return items[index]
    }

    /// The ID of the document that emitted the row; nil for a reduced or grouped row.
    public var sourceDocumentID: DocumentID? {
        switch content {
        case .made(let made): made.documentID
        case .index(let row): row.documentID
        }
    }

    /// The ID of the row's document: that of an emitted value `{"_id": …}`, which redirects to
    /// another document, or else ``sourceDocumentID``. What was emitted may be no valid ID.
    public var documentID: DocumentID? {
        guard let source = sourceDocumentID else { return nil }
        if case .index(let row) = content, let target = row.value?["_id"]?.string {
            return DocumentID(target)
        }
        return source
    }

    /// Reads the row's document as it is now, or returns the one that came with the row.
    ///
    /// - Returns: nil when the row has none, or the document is deleted.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func document() throws -> Document? {
        if let includedDocument { return includedDocument }
        guard let id = try documentID?.checked() else { return nil }
        return try core.read { try $0.document(id) }
    }
}

// Accessors that Couchbase Lite 1.x has, too.
extension QueryRow {
    /// The first item of an array key, or the key itself.
    public var key0: JSONValue? { key(at: 0) }
    /// The second item of an array key.
    public var key1: JSONValue? { key(at: 1) }
    /// The third item of an array key.
    public var key2: JSONValue? { key(at: 2) }
    /// The fourth item of an array key.
    public var key3: JSONValue? { key(at: 3) }

    /// The revision of the document that emitted the row: of the included one, or else the current one.
    ///
    /// - Throws: As ``document()``.
    public var documentRevisionID: RevisionID? { get throws { try emitter()?.revisionID } }

    /// The sequence of that revision.
    ///
    /// - Throws: As ``document()``.
    public var sequenceNumber: SequenceNumber? { get throws { try emitter()?.sequence } }

    private func emitter() throws -> Document? {
        guard let id = sourceDocumentID else { return nil }
        if let includedDocument, includedDocument.id == id { return includedDocument }
        return try core.read { try $0.document(id) }
    }
}

extension QueryRow: Equatable {
    /// Rows are equal when key, value and document ID are, and the documents and the leaves in
    /// conflict, where they came along.
    public static func == (left: QueryRow, right: QueryRow) -> Bool {
        if left.documents != nil || right.documents != nil {
            guard left.includedDocument == right.includedDocument,
                left.conflictingRevisions == right.conflictingRevisions
            else { return false }
        }
        if case .index(let leftRow) = left.content, case .index(let rightRow) = right.content {
            return IndexedRow.isSame(leftRow, rightRow)
        }
        return left.key == right.key && left.value == right.value
            && left.sourceDocumentID == right.sourceDocumentID
    }
}

extension QueryRow: CustomStringConvertible {
    /// The document's ID; never key or value, which are content.
    public var description: String { "QueryRow(\(sourceDocumentID?.text ?? "reduced"))" }
}
