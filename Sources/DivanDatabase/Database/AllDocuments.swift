// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel
internal import DivanStorage

/// Which documents an enumeration covers, and in which order.
public struct AllDocumentsOptions: Sendable {
    /// The first ID, inclusive; nil for the beginning (the end when descending).
    public var startID: DocumentID?
    /// The last ID, inclusive; nil for the end (the beginning when descending).
    public var endID: DocumentID?
    /// Whether the order is descending.
    public var descending = false
    /// How many documents to pass over first.
    public var skip = 0
    /// How many documents at most; nil for all.
    public var limit: Int?
    /// Whether deleted documents are included.
    public var includeDeleted = false
    /// Whether rows tell which revisions conflict, at the cost of decoding whole revision trees of the
    /// documents in conflict.
    public var showConflicts = false
    /// Whether only documents in conflict are included; their rows tell which revisions conflict.
    ///
    /// The work is then in proportion to the number of conflicts, not of documents.
    public var onlyConflicts = false
    /// Whether rows carry the documents themselves, not only IDs and revisions.
    public var includeDocuments = false

    /// All documents that are not deleted, by ascending ID.
    public init() {}
}

/// A document in an enumeration.
public struct DocumentRow: Sendable {
    /// The document's ID.
    public var id: DocumentID
    /// The ID of the current revision.
    public let revisionID: RevisionID
    /// The sequence of the current revision; 0 when its body is gone.
    public var sequence: SequenceNumber
    /// Whether the current revision is a tombstone.
    public var isDeleted: Bool
    /// Whether the document is in conflict.
    public var isConflicted: Bool
    /// The IDs of the live leaf revisions, the current one first, of a document in conflict in an
    /// enumeration that shows conflicts; otherwise empty.
    public var conflictingRevisions: [RevisionID] = []
    /// The document, when the enumeration includes them.
    public var document: Document?

    /// Makes the row of a document.
    package init(
        id: DocumentID, revision: RevisionID, sequence: SequenceNumber, isDeleted: Bool,
        isConflicted: Bool, document: Document? = nil
    ) {
        self.id = id
        revisionID = revision
        self.sequence = sequence
        self.isDeleted = isDeleted
        self.isConflicted = isConflicted
        self.document = document
    }
}

extension Snapshot {
    /// Enumerates `documents` in the order of IDs, which is bytewise.
    ///
    /// Only conflicts are wanted: then `conflicts` is walked, and each record is looked up.
    package func forEachDocument(
        _ options: AllDocumentsOptions, _ body: (DocumentRow) throws -> Void
    )
        throws
    {
        try core.blaming(nil) {
            let leading =
                options.onlyConflicts ? core.stores.conflicts : core.stores.documents
            let cursor = try reader.cursor(in: leading)
            defer { cursor.close() }
            let bodies = options.includeDocuments ? try BodyCursor(self) : nil
            defer { bodies?.close() }
            var found = try seek(cursor, options)
            var toSkip = options.skip
            var left = options.limit ?? .max
            let end = options.endID.map { Array($0.text.utf8) }
            // What the closure itself creates in a batch is not part of the enumeration: it would
            // never end if each document made another one behind it.
            let last = context == nil ? SequenceNumber.max : try state().lastSequence
            let flag = CancellationFlag.current
            while found, left > 0 {
                try flag?.check()
                var row: DocumentRow?
                var isPastEnd = false
                try cursor.withRow { key, value in
                    if let end, isPast(key, end: end, descending: options.descending) {
                        isPastEnd = true
                        return
                    }
                    guard options.onlyConflicts else {
                        row = try self.row(key, value, options, createdBy: last)
                        return
                    }
                    _ = try reader.withValue(forKey: key, in: core.stores.documents) { value in
                        row = try self.row(key, value, options, createdBy: last)
                    }
                }
                if isPastEnd { break }
                if var row {
                    if toSkip > 0 {
                        toSkip -= 1
                    } else {
                        left -= 1
                        if let bodies { row.document = try bodies.document(CurrentRevision(row)) }
                        try body(row)
                    }
                }
                found = try options.descending ? cursor.previous() : cursor.next()
            }
        }
    }

    private func seek(_ cursor: any StorageCursor, _ options: AllDocumentsOptions) throws -> Bool {
        guard let start = options.startID else {
            return try options.descending ? cursor.seekToLast() : cursor.seekToFirst()
        }
        return try start.text.withSpan { key in
            try options.descending ? cursor.seek(toAtMost: key) : cursor.seek(toAtLeast: key)
        }
    }

    private func isPast(_ key: Span<UInt8>, end: [UInt8], descending: Bool) -> Bool {
        for index in 0..<min(key.count, end.count) where key[index] != end[index] {
            return (key[index] > end[index]) != descending
        }
        return key.count == end.count ? false : (key.count > end.count) != descending
    }

    private func row(
        _ key: Span<UInt8>, _ value: Span<UInt8>, _ options: AllDocumentsOptions,
        createdBy last: SequenceNumber
    ) throws -> DocumentRow? {
        let id = DocumentID(String(utf8: key))
        let head = try core.decoding(id) { try DocumentRecord.head(value) }
        if head.isDeleted && !options.includeDeleted { return nil }
        if head.winner.id.generation == 1, head.updateSequence > last { return nil }
        if options.onlyConflicts && !head.isConflicted { return nil }
        var row = DocumentRow(
            id: id, revision: head.winner.id, sequence: head.winner.sequence ?? 0,
            isDeleted: head.isDeleted, isConflicted: head.isConflicted)
        if head.isConflicted && (options.showConflicts || options.onlyConflicts) {
            let record = try core.decoding(id) { try DocumentRecord(value) }
            row.conflictingRevisions = record.tree.leaves.filter { !$0.isTombstone }.map(\.id)
        }
        return row
    }

    /// Calls `body` with each document in conflict behind `last`, in the order of IDs, until it
    /// returns false.
    func forEachConflictedID(after last: DocumentID?, _ body: (DocumentID) throws -> Bool) throws {
        try core.blaming(nil) {
            let cursor = try reader.cursor(in: core.stores.conflicts)
            defer { cursor.close() }
            // The next key in the order of bytes is the same one with a zero behind it.
            let start: [UInt8] = last.map { Array($0.text.utf8) + [0] } ?? []
            var found = try cursor.seek(toAtLeast: start.span)
            var goesOn = true
            while found, goesOn {
                var id: DocumentID?
                try cursor.withKey { id = DocumentID(String(utf8: $0)) }
                if let id { goesOn = try body(id) }
                found = try cursor.next()
            }
        }
    }
}

/// The current revision of a document, as its record tells.
package struct CurrentRevision {
    /// The document's ID.
    package let id: DocumentID
    /// The ID of the revision.
    package let revision: RevisionID
    /// 0 when its body is gone.
    package let sequence: SequenceNumber
    /// Whether it is a tombstone.
    package let isDeleted: Bool

    /// Names the current revision of a document.
    package init(id: DocumentID, revision: RevisionID, sequence: SequenceNumber, isDeleted: Bool) {
        self.id = id
        self.revision = revision
        self.sequence = sequence
        self.isDeleted = isDeleted
    }
}

extension CurrentRevision {
    fileprivate init(_ row: DocumentRow) {
        self.init(
            id: row.id, revision: row.revisionID, sequence: row.sequence,
            isDeleted: row.isDeleted)
    }
}

/// Fetches bodies by sequence for an enumeration in another order.
///
/// IDs are made in the order of time, so the next document's body usually lies right after the body
/// of the last one: then a step of the cursor replaces a search.
package final class BodyCursor {
    private let snapshot: Snapshot
    private let cursor: any StorageCursor
    private var isPlaced = false

    /// Opens a cursor, which ``close()`` closes.
    package init(_ snapshot: Snapshot) throws {
        self.snapshot = snapshot
        cursor = try snapshot.reader.cursor(in: snapshot.core.stores.revisions)
    }

    /// Closes the cursor.
    package func close() { cursor.close() }

    /// Reads the document that a row names.
    package func document(_ row: CurrentRevision) throws -> Document? {
        let id = row.id
        let key = Int64(row.sequence)
        if !(isPlaced && cursor.integerKey == key - 1) {
            isPlaced = try cursor.seek(toAtLeast: key)
        } else {
            isPlaced = try cursor.next()
        }
        if isPlaced && cursor.integerKey != key { isPlaced = try cursor.seek(toAtLeast: key) }
        guard isPlaced, cursor.integerKey == key else {
            throw DatabaseError.corrupted("The current revision", id)
        }
        var document: Document?
        try snapshot.core.blaming(id) {
            try cursor.withValue { value in
                let content = try snapshot.core.decoding(id) { try RevisionRow.Content(value) }
                guard content.revisionID == row.revision else {
                    throw DatabaseError.corrupted("The current revision", id)
                }
                guard !content.flags.contains(.largeBody) else { return }
                document = Document(
                    id: id, revisionID: row.revision, sequence: row.sequence,
                    isDeleted: row.isDeleted,
                    body: PackedValue(copying: value.extracting(content.body)),
                    store: snapshot.core.attachments.number)
            }
        }
        if let document { return document }
        // A large body: the ordinary way, which reads its chunks.
        return try snapshot.document(id, revision: row.revision)
    }
}

extension Database {
    /// Returns documents in order of ID: all of them, or what `options` narrow them to.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func allDocuments(_ options: AllDocumentsOptions = AllDocumentsOptions()) throws
        -> [DocumentRow]
    {
        var rows: [DocumentRow] = []
        try forEachDocument(options) { rows.append($0) }
        return rows
    }

    /// Calls `body` for each document in order of ID, holding only one at a time.
    ///
    /// ```swift
    /// try database.inBatch {
    ///     try database.forEachDocument { row in try database.update(row.id) { $0["seen"] = true } }
    /// }
    /// ```
    ///
    /// All of it is one read, in which `body` may write only if a batch is around it, as here.
    public func forEachDocument(
        _ options: AllDocumentsOptions = AllDocumentsOptions(),
        _ body: (DocumentRow) throws -> Void
    ) throws {
        try read { try $0.forEachDocument(options, body) }
    }
}
