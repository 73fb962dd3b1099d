// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

extension Snapshot {
    /// Calls `body` with the documents of a range of IDs in that order, until it returns false.
    ///
    /// Design documents are no data: they are passed over, as indexes do.
    func forEachDocument(
        in range: RowRange, descending: Bool, includesDeleted: Bool,
        _ body: (Document) throws -> Bool
    ) throws {
        let bodies = try BodyCursor(self)
        defer { bodies.close() }
        try forEachHead(in: range, descending: descending, includesDeleted: includesDeleted) {
            row in
            // A tombstone may have lost its body.
            if row.isDeleted, row.sequence == 0 {
                return try body(
                    Document(
                        id: row.id, revisionID: row.revision,
                        sequence: 0, isDeleted: true, body: PackedValue(.object([:])), store: 0))
            }
            guard let document = try bodies.document(row) else {
                throw DatabaseError.corrupted("The current revision", row.id)
            }
            return try body(document)
        }
    }

    /// Calls `body` with the IDs of a range in ascending order, until it returns false.
    func forEachID(
        in range: RowRange, includesDeleted: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        try forEachHead(in: range, descending: false, includesDeleted: includesDeleted) {
            try body(Array($0.id.text.utf8))
        }
    }

    private func forEachHead(
        in range: RowRange, descending: Bool, includesDeleted: Bool,
        _ body: (CurrentRevision) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        let cursor = try reader.cursor(in: core.stores.documents)
        defer { cursor.close() }
        var found = try seek(cursor, range, descending: descending)
        while found {
            var row: CurrentRevision?
            var isInside = false
            try cursor.withRow { key, value in
                isInside = range.contains(key)
                guard isInside else { return }
                let id = DocumentID(String(utf8: key))
                let head = try DatabaseCore.decoding(id) { try DocumentRecord.head(value) }
                guard includesDeleted || !head.isDeleted, !id.isDesign else { return }
                row = CurrentRevision(
                    id: id, revision: head.winner.id, sequence: head.winner.sequence ?? 0,
                    isDeleted: head.isDeleted)
            }
            guard isInside else { return }
            if let row { guard try body(row) else { return } }
            found = try descending ? cursor.previous() : cursor.next()
        }
    }

    private func seek(_ cursor: any StorageCursor, _ range: RowRange, descending: Bool) throws
        -> Bool
    {
        guard descending else {
            return try range.lower.map { try cursor.seek(toAtLeast: $0.span) }
                ?? cursor.seekToFirst()
        }
        guard let upper = range.upper else { return try cursor.seekToLast() }
        guard try cursor.seek(toAtMost: upper.span) else { return false }
        // The upper end is not in the range.
        var isUpper = false
        try cursor.withKey { isUpper = compare($0, upper.span) == 0 }
        return try isUpper ? cursor.previous() : true
    }

    /// Calls `body` with the IDs of the documents that expire in a range of times.
    func forEachExpiringID(in range: RowRange, _ body: ([UInt8]) throws -> Bool) throws {
        let start = try range.lower.map { lower in
            try DatabaseCore.decoding(nil) { try ExpirationKey(lower.span) }
        }
        try forEachExpiration(after: start) { key in
            guard range.upper.map({ key.bytes.precedes($0) }) ?? true else { return false }
            return try key.documentID.isDesign || body(Array(key.documentID.text.utf8))
        }
    }
}
