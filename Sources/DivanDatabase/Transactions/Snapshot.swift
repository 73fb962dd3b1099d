// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel
package import DivanStorage

/// Reads a database's rows within one transaction, whichever kind it is.
///
/// Everything that both `ReadTransaction` and `WriteTransaction` can read is written here once.
package struct Snapshot {
    /// The engine's transaction.
    package let reader: any StorageReader
    /// The database.
    package let core: DatabaseCore
    /// The open transaction, when this reads inside one: its counters are not stored before the end.
    var context: WriteContext?

    private var stores: Stores { core.stores }

    // MARK: - Documents

    /// The record of a document: its whole tree.
    package func record(_ id: DocumentID) throws -> DocumentRecord? {
        var record: DocumentRecord?
        _ = try DatabaseCore.blaming(id) {
            try id.text.withSpan { key in
                try reader.withValue(forKey: key, in: stores.documents) { row in
                    record = try DatabaseCore.decoding(id) { try DocumentRecord(row) }
                }
            }
        }
        return record
    }

    /// The winner of a document, without the rest of its tree.
    package func head(_ id: DocumentID) throws -> DocumentRecord.Head? {
        var head: DocumentRecord.Head?
        _ = try DatabaseCore.blaming(id) {
            try id.text.withSpan { key in
                try reader.withValue(forKey: key, in: stores.documents) { row in
                    head = try DatabaseCore.decoding(id) { try DocumentRecord.head(row) }
                }
            }
        }
        return head
    }

    /// The winning revision, or nil when the document does not exist or is deleted.
    package func document(_ id: DocumentID, includingDeleted: Bool = false) throws -> Document? {
        guard let head = try head(id), includingDeleted || !head.isDeleted else { return nil }
        return try document(id, node: head.winner)
    }

    /// A given revision; nil when the document does not exist.
    func document(_ id: DocumentID, revision: RevisionID) throws -> Document? {
        guard let record = try record(id) else { return nil }
        guard let node = record.tree.node(revision) else {
            throw DatabaseError.revisionNotFound(id, revision)
        }
        return try document(id, node: node)
    }

    /// The document of a node of its tree.
    package func document(_ id: DocumentID, node: RevisionTree.Node) throws -> Document {
        guard let sequence = node.sequence else { throw DatabaseError.bodyGone(id, node.id) }
        // A transaction that deletes a body also makes the tree forget its sequence.
        guard let body = try body(id, sequence, expecting: node.id) else {
            throw DatabaseError.corrupted("The stored revision \(node.id)", id)
        }
        return Document(
            id: id, revisionID: node.id, sequence: sequence, isDeleted: node.isTombstone,
            body: body, store: core.attachments.number
        )
    }

    /// The body stored under a sequence, or nil when there is no such row.
    ///
    /// - Throws: `.corrupted` when the row belongs to another revision.
    package func body(_ id: DocumentID, _ sequence: SequenceNumber, expecting revision: RevisionID)
        throws
        -> PackedValue?
    {
        var body: PackedValue?
        var largeLength: Int?
        let found = try DatabaseCore.blaming(id) {
            try reader.withValue(forKey: Int64(sequence), in: stores.revisions) { row in
                let layout = try DatabaseCore.decoding(id) { try RevisionRow.Layout(row) }
                let stored = try DatabaseCore.decoding(id) { try layout.revisionID(in: row) }
                guard stored == revision else {
                    throw DatabaseError.corrupted("The stored revision \(revision)", id)
                }
                if layout.flags.contains(.largeBody) {
                    largeLength = layout.largeLength
                } else {
                    body = PackedValue(copying: row.extracting(layout.body))
                }
            }
        }
        if let largeLength { return try largeBody(id, sequence, length: largeLength) }
        return found ? body : nil
    }

    private func largeBody(_ id: DocumentID, _ sequence: SequenceNumber, length: Int) throws
        -> PackedValue
    {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        for chunk in 0..<LargeBody.chunkCount(length) {
            let key = LargeBody.key(sequence, chunk: chunk)
            let found = try DatabaseCore.blaming(id) {
                try reader.withValue(forKey: key.span, in: stores.largeBodies) { piece in
                    bytes.append(copying: piece)
                }
            }
            guard found else { throw DatabaseError.corrupted("A large body", id) }
        }
        guard bytes.count == length else { throw DatabaseError.corrupted("A large body", id) }
        return PackedValue(bytes: bytes)
    }

    // MARK: - Counters and settings

    /// The counters; inside a transaction, as it has changed them so far.
    ///
    /// - Throws: `.corrupted` when they are damaged, or missing while there are documents: then the
    ///   next sequence would be one that is in use.
    package func state() throws -> DatabaseState {
        if let context { return context.state }
        let notes = notes
        if let known = notes.state { return known }
        var state = DatabaseState()
        let key = DatabaseState.key
        try DatabaseCore.blaming(nil) {
            let found = try reader.withValue(forKey: key.span, in: stores.info) { row in
                state = try DatabaseCore.decoding(nil) { try DatabaseState(row) }
            }
            guard try found || isEmpty(stores.revisions) else {
                throw DatabaseError.corrupted("The database's row of counters", nil)
            }
        }
        notes.state = state
        return state
    }

    /// Whether no document and no local document was ever stored.
    var isUnused: Bool {
        get throws {
            let state = try state()
            return try state.lastSequence == 0 && state.lastPurge == 0 && isEmpty(stores.local)
        }
    }

    private func isEmpty(_ store: Store) throws -> Bool {
        let cursor = try reader.cursor(in: store)
        defer { cursor.close() }
        return try !cursor.seekToFirst()
    }

    /// A setting that is kept with the database; nil if it was never set.
    package func setting(_ setting: Setting) throws -> UInt64? {
        var value: UInt64?
        let key = setting.key
        _ = try DatabaseCore.blaming(nil) {
            try reader.withValue(forKey: key.span, in: stores.info) { row in
                var fields = RowReader()
                value = try DatabaseCore.decoding(nil) { try fields.varint(row) }
            }
        }
        return value
    }

    // MARK: - Local documents

    func localDocument(_ name: String) throws -> LocalRecord? {
        var record: LocalRecord?
        _ = try DatabaseCore.blaming(nil) {
            try name.withSpan { key in
                try reader.withValue(forKey: key, in: stores.local) { row in
                    record = try DatabaseCore.decoding(nil) { try LocalRecord(row) }
                }
            }
        }
        return record
    }
}

/// The row of a local document in `local`: varint revision number, then the packed body.
package struct LocalRecord {
    /// How often the document was replaced.
    package var revision: UInt64
    /// The packed body.
    package var body: PackedValue

    init(revision: UInt64, body: PackedValue) {
        self.revision = revision
        self.body = body
    }

    /// Reads a row.
    package init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        revision = try reader.varint(row)
        body = PackedValue(copying: row.extracting(reader.rest(row)))
        try check()
    }

    /// Refuses a count that no document has reached: replacing it continues the count from there.
    private func check() throws {
        guard revision < UInt64(Int64.max) else { throw MalformedRow() }
    }

    /// Appends the row.
    ///
    /// - Throws: `MalformedRow` for what would be refused when it is read.
    func encode(into row: inout [UInt8]) throws {
        try check()
        Varint.append(revision, to: &row)
        body.withBytes { row.append(copying: $0) }
    }
}

extension [UInt8] {
    /// Appends borrowed bytes.
    package mutating func append(copying bytes: Span<UInt8>) {
        // SAFETY: the buffer is used only within the call, which copies it.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
