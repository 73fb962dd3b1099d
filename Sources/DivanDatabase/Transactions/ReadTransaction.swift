// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// One unchanging view of a database, lent to the closure of `Database.read(_:)`.
///
/// ```swift
/// let pair = try database.read { transaction in
///     (try transaction.document(withID: "a"), try transaction.document(withID: "b"))
/// }
/// ```
///
/// Whatever commits meanwhile, everything read here is of the same moment. It cannot be stored or
/// returned: the compiler refuses both. Keep the closure short, since what it sees cannot be
/// reclaimed while it runs.
public struct ReadTransaction: ~Copyable {
    let snapshot: Snapshot

    /// Not inlined, as `lend(_:to:)` is not: Swift 6.3.1 crashes where a noncopyable value is made
    /// of a borrowed one, which is what inlining turns this into.
    @inline(never)
    init(_ snapshot: Snapshot) { self.snapshot = snapshot }

    /// Makes a transaction, lends it to `body`, and ends it.
    ///
    /// Not inlined: Swift 6.3.1 also crashes when it inlines a specialised closure that takes a
    /// noncopyable parameter.
    @inline(never)
    static func lend<T>(
        _ snapshot: Snapshot, to body: (borrowing ReadTransaction) throws -> T
    ) throws -> T {
        try body(ReadTransaction(snapshot))
    }

    /// Returns the winning revision of a document; nil when there is none or it is deleted.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID` or `.corrupted`.
    public func document(withID id: DocumentID) throws -> Document? {
        try snapshot.document(id.checked())
    }

    /// Returns a given revision of a document; nil when the document does not exist.
    ///
    /// - Throws: `DatabaseError` with code `.revisionNotFound` when the document has no such revision
    ///   or its body is gone.
    public func document(withID id: DocumentID, revision: RevisionID) throws -> Document? {
        try snapshot.document(id.checked(), revision: revision.checked(of: id))
    }

    /// Whether a document exists and is not deleted.
    public func contains(_ id: DocumentID) throws -> Bool {
        let head = try snapshot.head(id.checked())
        return head.map { !$0.isDeleted } ?? false
    }

    /// Returns the revision tree of a document; nil when there is none. See `Database.revisionTree(of:)`.
    public func revisionTree(of id: DocumentID) throws -> RevisionTree? {
        try snapshot.wholeTree(id.checked())
    }

    /// Calls `body` for each document in order of ID.
    public func forEachDocument(
        _ options: AllDocumentsOptions = AllDocumentsOptions(),
        _ body: (DocumentRow) throws -> Void
    ) throws {
        try snapshot.forEachDocument(options, body)
    }

    /// Lends `body` the ID of each document, in order, as bytes of UTF-8; see `Database.forEachDocumentID(_:_:)`.
    public func forEachDocumentID(
        _ options: AllDocumentsOptions = AllDocumentsOptions(),
        _ body: (_ id: Span<UInt8>) throws -> Void
    ) throws {
        try snapshot.forEachDocumentID(options, body)
    }

    /// Calls `body` for each live document in order of last change, without decoding it.
    public func scan(_ body: (borrowing ScannedDocument) throws -> Void) throws {
        try snapshot.scan(body)
    }

    /// Returns the documents changed after a sequence, each once, in order of their last change.
    public func changes(since sequence: SequenceNumber = 0, limit: Int? = nil) throws
        -> ChangesBatch
    {
        try snapshot.changes(since: sequence, limit: limit)
    }

    /// Returns a local document, or nil.
    public func localDocument(_ id: DocumentID) throws -> JSONObject? {
        try snapshot.localDocument(LocalID.name(in: id))?.object
    }

    /// The number of documents that are not deleted.
    public var documentCount: Int {
        get throws { Int(clamping: try snapshot.state().liveDocuments) }
    }

    /// The sequence of the last change.
    public var lastSequence: SequenceNumber { get throws { try snapshot.state().lastSequence } }
}

extension LocalRecord {
    var object: JSONObject {
        if case .object(let object) = body.jsonValue() { object } else { [:] }
    }
}

extension DocumentID {
    /// Returns the ID, which is the ID of an ordinary document or a design document.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID`.
    package func checked() throws -> DocumentID {
        do { try validate() } catch { throw DatabaseError.invalidID(self, error) }
        guard !isLocal else { throw DatabaseError.localID(self) }
        return self
    }
}

extension RevisionID {
    /// Returns the ID, which a revision of the document `id` can have.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID`.
    package func checked(of id: DocumentID) throws -> RevisionID {
        do { try validate() } catch { throw DatabaseError.invalidRevision(self, of: id, error) }
        return self
    }
}

/// IDs of local documents, with or without their `_local/` in front.
package enum LocalID {
    static let prefix = "_local/"

    /// Returns the name behind the prefix, if the ID is valid.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID`.
    package static func name(in id: DocumentID) throws -> String {
        let name = id.text.afterBytePrefix(prefix) ?? id.text
        do { try DocumentID(prefix + name).validate() } catch {
            throw DatabaseError.invalidID(id, error)
        }
        return name
    }
}
