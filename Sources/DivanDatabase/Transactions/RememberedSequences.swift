// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
package import DivanModel
internal import DivanStorage

/// Reads documents by the sequences at which the rows of an index remember them.
///
/// A document that has not changed since is read in one step instead of two:
///
///     by ID           documents  ID ──► sequence        revisions  sequence ──► body
///     remembered                                        revisions  sequence ──► body
///
/// What a row remembers may be long out of date, since a row is left alone while its key stays the same. So it counts
/// only if the revision at the sequence is of the document, is not superseded, and tells by itself how its document
/// stands, as in a scan (`RevisionRow`). In all other cases the document is read by its ID.
package struct RememberedSequences {
    /// How many sequences may be out of date before the others, which are likely to be so too, are no longer tried.
    private static let mostMisses = 16

    private let snapshot: Snapshot
    private let stores: Stores
    /// The sequences among which the superseded ones are, once it is asked for; nil when there are none.
    private lazy var superseded = Result { try snapshot.superseded() }
    private var hits = 0
    private var misses = 0

    /// Reads documents in a snapshot.
    package init(_ snapshot: Snapshot) {
        (self.snapshot, stores) = (snapshot, snapshot.core.stores)
    }

    /// The winning revision of a document; nil when the document does not exist or is deleted.
    ///
    /// - Parameters:
    ///   - id: The document.
    ///   - value: The value of a row: a sequence as a varint; empty for a row that remembers none.
    /// - Returns: The document.
    /// - Throws: `DatabaseError`, `IndexCorruption`.
    package mutating func document(_ id: DocumentID, rememberedIn value: Span<UInt8>) throws
        -> Document?
    {
        var document: Document?
        let isFound = try find(id, value) { [core = snapshot.core] row, layout, sequence in
            document = Document(
                id: id,
                revisionID: try DatabaseCore.decoding(id) { try layout.revisionID(in: row) },
                sequence: sequence, isDeleted: false,
                body: PackedValue(copying: row.extracting(layout.body)),
                store: core.attachments.number)
        }
        return isFound ? document : try snapshot.document(id)
    }

    /// Lends the body of the winning revision of a document where it lies.
    ///
    /// - Parameters:
    ///   - id: The document.
    ///   - value: The value of a row: a sequence as a varint; empty for a row that remembers none.
    ///   - body: Is lent the packed body.
    /// - Returns: Whether it was lent: otherwise what the row remembers does not count, and the document is to be read by
    ///   its ID.
    /// - Throws: `DatabaseError`, `IndexCorruption`, and what `body` throws.
    package mutating func lendBody(
        of id: DocumentID, rememberedIn value: Span<UInt8>, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        try find(id, value) { row, layout, _ in try body(row.extracting(layout.body)) }
    }

    /// Lends the row of the revision that stands for a document, if it is the one that is remembered.
    private mutating func find(
        _ id: DocumentID, _ value: Span<UInt8>,
        _ body: (Span<UInt8>, RevisionRow.Layout, SequenceNumber) throws -> Void
    ) throws -> Bool {
        guard value.count > 0, misses <= hits + Self.mostMisses else { return false }
        var offset = 0
        guard let sequence = try? Varint.decode(value, at: &offset) else {
            throw IndexCorruption("The sequence in a row of an index is damaged.")
        }
        let isFound = try findCurrent(id, sequence, body)
        if isFound { hits += 1 } else { misses += 1 }
        return isFound
    }

    private mutating func findCurrent(
        _ id: DocumentID, _ sequence: SequenceNumber,
        _ body: (Span<UInt8>, RevisionRow.Layout, SequenceNumber) throws -> Void
    ) throws -> Bool {
        guard let key = Int64(exactly: sequence) else { return false }
        let superseded = try superseded.get()
        return try DatabaseCore.blaming(id) { [reader = snapshot.reader, stores] in
            if let superseded, superseded.contains(key),
                try reader.contains(key: key, in: stores.superseded)
            {
                return false
            }
            var isFound = false
            _ = try reader.withValue(forKey: key, in: stores.revisions) { row in
                let layout = try DatabaseCore.decoding(id) { try RevisionRow.Layout(row) }
                guard layout.standsAlone, !layout.isTombstone,
                    try DatabaseCore.decoding(id, { try RevisionRow.isRow(row, of: id) })
                else { return }
                isFound = true
                try body(row, layout, sequence)
            }
            return isFound
        }
    }
}

extension Snapshot {
    /// The sequences among which the superseded ones are.
    fileprivate func superseded() throws -> ClosedRange<Int64>? {
        // In a batch, a document may be superseded at any time.
        guard context == nil else { return 0 ... .max }
        return try DatabaseCore.blaming(nil) {
            let cursor = try reader.cursor(in: core.stores.superseded)
            defer { cursor.close() }
            guard try cursor.seekToFirst() else { return nil }
            let first = cursor.integerKey
            return try cursor.seekToLast() ? first...max(first, cursor.integerKey) : nil
        }
    }
}
