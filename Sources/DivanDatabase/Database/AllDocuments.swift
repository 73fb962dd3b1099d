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
    ///
    /// It costs a step from key to key for each of them; in an enumeration without start and end it begins at the
    /// nearer end, so that the last pages of a long list cost as little as the first ones.
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
    /// Whether the document `startID` itself is left out.
    package var excludesStart = false
    /// Whether the document `endID` itself is left out.
    package var excludesEnd = false

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
        isConflicted: Bool, conflicting: [RevisionID] = [], document: Document? = nil
    ) {
        self.id = id
        revisionID = revision
        self.sequence = sequence
        self.isDeleted = isDeleted
        self.isConflicted = isConflicted
        conflictingRevisions = conflicting
        self.document = document
    }
}

extension Snapshot {
    /// Enumerates documents in the order of IDs, which is bytewise.
    package func forEachDocument(
        _ options: AllDocumentsOptions, _ body: (DocumentRow) throws -> Void
    ) throws {
        try DatabaseCore.blaming(nil) {
            let bodies = options.includeDocuments ? try BodyCursor(self) : nil
            defer { bodies?.close() }
            let walk = try DocumentWalk(self, options)
            defer { walk.close() }
            var current: CurrentRevision?
            var isConflicted = false
            var conflicting: [RevisionID] = []
            while try walk.next({ key, value in
                let id = DocumentID(copying: key)
                let head = try DatabaseCore.decoding(id) { try DocumentRecord.head(value) }
                current = CurrentRevision(
                    id: id, revision: head.winner.id, sequence: head.winner.sequence ?? 0,
                    isDeleted: head.isDeleted)
                isConflicted = head.isConflicted
                guard isConflicted, options.showConflicts || options.onlyConflicts else { return }
                let record = try DatabaseCore.decoding(id) { try DocumentRecord(value) }
                conflicting = record.tree.leaves.filter { !$0.isTombstone }.map(\.id)
            }) {
                guard let current else { continue }
                let row = DocumentRow(
                    id: current.id, revision: current.revision, sequence: current.sequence,
                    isDeleted: current.isDeleted, isConflicted: isConflicted,
                    conflicting: isConflicted ? conflicting : [],
                    document: try bodies?.document(current))
                try body(row)
            }
        }
    }

    /// Lends the IDs of documents in their order, which is bytewise.
    package func forEachDocumentID(
        _ options: AllDocumentsOptions, _ body: (Span<UInt8>) throws -> Void
    ) throws {
        try DatabaseCore.blaming(nil) {
            let walk = try DocumentWalk(self, options)
            defer { walk.close() }
            while try walk.next({ id, _ in try body(id) }) {}
        }
    }

    /// Calls `body` with each document in conflict behind `last`, in the order of IDs, until it
    /// returns false.
    func forEachConflictedID(after last: DocumentID?, _ body: (DocumentID) throws -> Bool) throws {
        try DatabaseCore.blaming(nil) {
            let cursor = try reader.cursor(in: core.stores.conflicts)
            defer { cursor.close() }
            // The next key in the order of bytes is the same one with a zero behind it.
            let start: [UInt8] = last.map { Array($0.text.utf8) + [0] } ?? []
            var found = try cursor.seek(toAtLeast: start.span)
            var goesOn = true
            while found, goesOn {
                var id: DocumentID?
                try cursor.withKey { id = DocumentID(copying: $0) }
                if let id { goesOn = try body(id) }
                found = try cursor.next()
            }
        }
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

    /// Lends `body` the ID of each document, in order, as bytes of UTF-8: nothing is made of them.
    ///
    /// ```swift
    /// var sample: [DocumentID] = []
    /// var count = 0
    /// try database.forEachDocumentID { id in
    ///     if count % 1_000 == 0 { sample.append(DocumentID(copying: id)) }
    ///     count += 1
    /// }
    /// ```
    ///
    /// It takes about half the time of ``forEachDocument(_:_:)``, which gives each document's revision, too.
    /// Of `options`, `includeDocuments` and `showConflicts` change nothing here. The bytes are lent until `body`
    /// returns. All of it is one read, in which `body` may write only if a batch is around it.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`, and what `body` throws.
    public func forEachDocumentID(
        _ options: AllDocumentsOptions = AllDocumentsOptions(),
        _ body: (_ id: Span<UInt8>) throws -> Void
    ) throws {
        try read { try $0.forEachDocumentID(options, body) }
    }
}
