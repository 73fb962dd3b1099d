// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
public import DivanModel
internal import DivanStorage

/// A live document while a scan passes over it: properties are looked up in place, nothing is copied.
///
/// ```swift
/// var adults = 0
/// try database.read { transaction in
///     try transaction.scan { person in
///         if let age = try person.int64(forKey: "age"), age >= 18 { adults += 1 }
///     }
/// }
/// ```
///
/// It is lent to the closure and cannot be kept; `document()` makes a copy that can.
public struct ScannedDocument: ~Copyable {
    /// The scan that lends it.
    package let scanner: SequenceScanner

    /// Not inlined, for the reason given at `ReadTransaction.init`.
    @inline(never)
    init(scanner: SequenceScanner) { self.scanner = scanner }

    /// The document's ID.
    public var id: DocumentID { get throws { try scanner.documentID() } }

    /// The sequence of the current revision.
    public var sequence: SequenceNumber { scanner.sequence }

    /// The integer of a property, or nil when it is missing or something else.
    public func int64(forKey key: String) throws -> Int64? {
        try scanner.withBody { PackedValue.int64(in: $0, key: key) }
    }

    /// The number of a property, or nil when it is missing or something else.
    public func double(forKey key: String) throws -> Double? {
        try scanner.withBody { PackedValue.double(in: $0, key: key) }
    }

    /// The boolean of a property, or nil when it is missing or something else.
    public func bool(forKey key: String) throws -> Bool? {
        try scanner.withBody { PackedValue.bool(in: $0, key: key) }
    }

    /// The string of a property, or nil when it is missing or something else.
    public func string(forKey key: String) throws -> String? {
        var text: String?
        try scanner.withBody { body in
            _ = PackedValue.withString(in: body, key: key) { text = String(utf8: $0) }
        }
        return text
    }

    /// A copy of the document.
    public func document() throws -> Document { try scanner.document() }
}

/// Walks the current revisions of all live documents in the order of their sequences.
///
/// The rows of `revisions` are merged with those of `superseded`, which name the rows to pass over.
/// A row that says *consult the document* is looked up there; all others are complete by themselves.
///
///     revisions     1  2  3  4  5  6        the walk gives 1, 4 and 6
///     superseded       2  3     5
///
/// While the closure runs, `row` is where the engine lent the row; a `ScannedDocument` reads there.
/// That is what lets a closure look up several properties for one checksum.
@safe
package final class SequenceScanner {
    private let snapshot: Snapshot
    private let rows: any StorageCursor
    private let marks: any StorageCursor
    private var nextMark: Int64 = .max
    /// The sequence of the document lent to the closure.
    private(set) var sequence: SequenceNumber = 0
    /// The document, when it is not the row's: set for rows that say *consult the document*.
    private var elsewhere: Document?
    /// Whether that is so: most rows ask this only, which counts no reference.
    private var isElsewhere = false
    // SAFETY: set only while `withRow` lends the bytes it points to, and emptied before they go.
    private var row = unsafe UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    private var layout: RevisionRow.Layout?

    init(_ snapshot: Snapshot) throws {
        self.snapshot = snapshot
        rows = try snapshot.reader.cursor(in: snapshot.core.stores.revisions)
        marks = try snapshot.reader.cursor(in: snapshot.core.stores.superseded)
    }

    func close() {
        rows.close()
        marks.close()
    }

    /// Calls `body` for each live document.
    ///
    /// Not inlined, for the reason given at `ReadTransaction.lend`.
    @inline(never)
    func run(_ body: (borrowing ScannedDocument) throws -> Void) throws {
        let lent = ScannedDocument(scanner: self)
        nextMark = try marks.seekToFirst() ? marks.integerKey : .max
        // What the closure itself saves in a batch comes after this, and is not part of the scan.
        let last = try snapshot.state().lastSequence
        let end = Int64(clamping: last)
        guard try rows.seekToFirst() else { return }
        _ = try rows.walk { key in
            guard key <= end else { return .stop }
            guard key > 0 else { throw DatabaseError.corrupted("The key of a stored row", nil) }
            return try isSuperseded(key) ? .pass : .lend
        } _: { key, row in
            sequence = SequenceNumber(key)
            if try place(on: row) { try lend(row) { try body(lent) } }
        }
    }

    /// Whether a row is to be passed over.
    ///
    /// In a batch the closure may supersede rows ahead, so each is looked up; otherwise the two
    /// stores are walked side by side.
    private func isSuperseded(_ key: Int64) throws -> Bool {
        guard snapshot.context == nil else {
            return try snapshot.reader.contains(key: key, in: snapshot.core.stores.superseded)
        }
        while nextMark < key { nextMark = try marks.next() ? marks.integerKey : .max }
        return key == nextMark
    }

    /// Looks at a row: whether its document is live, and where its body is.
    private func place(on row: Span<UInt8>) throws -> Bool {
        let layout = try DatabaseCore.decoding(nil) { try RevisionRow.Layout(row) }
        self.layout = layout
        if isElsewhere { (elsewhere, isElsewhere) = (nil, false) }
        if layout.standsAlone { return !layout.isTombstone }
        let id = try DatabaseCore.decoding(nil) { try RevisionRow.documentID(row) }
        elsewhere = try snapshot.document(id)
        isElsewhere = true
        if let elsewhere { sequence = elsewhere.sequence }
        return elsewhere != nil
    }

    private func lend(_ row: Span<UInt8>, to body: () throws -> Void) throws {
        // SAFETY: the closure cannot keep what it is lent, and `row` is emptied when it returns.
        try unsafe row.withUnsafeBufferPointer { bytes in
            unsafe self.row = bytes
            defer { unsafe self.row = UnsafeBufferPointer(start: nil, count: 0) }
            try body()
        }
    }

    func documentID() throws -> DocumentID {
        if let elsewhere { return elsewhere.id }
        // SAFETY: see `row`.
        let bytes = unsafe Span(_unsafeElements: row)
        return try DatabaseCore.decoding(nil) { try RevisionRow.documentID(bytes) }
    }

    /// Whether it is a design document.
    package var isDesign: Bool {
        get throws {
            if isElsewhere, let elsewhere { return elsewhere.id.isDesign }
            // SAFETY: see `row`.
            let bytes = unsafe Span(_unsafeElements: row)
            return try DatabaseCore.decoding(nil) { try RevisionRow.isOfDesignDocument(bytes) }
        }
    }

    /// Appends the document's ID, as an index has it (``RowDocumentID``).
    package func appendRowDocumentID(to id: inout [UInt8]) throws {
        if isElsewhere, let elsewhere { return RowDocumentID.append(elsewhere.id, to: &id) }
        // SAFETY: see `row`.
        let bytes = unsafe Span(_unsafeElements: row)
        try DatabaseCore.decoding(nil) { try RevisionRow.appendRowDocumentID(bytes, to: &id) }
    }

    /// Lends the packed body.
    package func withBody<T>(_ body: (Span<UInt8>) throws -> T) throws -> T {
        if isElsewhere, let elsewhere { return try elsewhere.body.withBytes(body) }
        guard let layout else { throw DatabaseError.corrupted("A stored row", nil) }
        // SAFETY: see `row`.
        let bytes = unsafe Span(_unsafeElements: row)
        return try body(bytes.extracting(layout.body))
    }

    func document() throws -> Document {
        if let elsewhere { return elsewhere }
        guard let layout else { throw DatabaseError.corrupted("A stored row", nil) }
        let id = try documentID()
        // SAFETY: see `row`.
        let bytes = unsafe Span(_unsafeElements: row)
        return Document(
            id: id,
            revisionID: try DatabaseCore.decoding(id) { try layout.revisionID(in: bytes) },
            sequence: sequence, isDeleted: false,
            body: try withBody { PackedValue(copying: $0) },
            store: snapshot.core.attachments.number)
    }
}

extension Snapshot {
    /// Lends each document that is not deleted, in the order of sequences.
    package func scan(_ body: (borrowing ScannedDocument) throws -> Void) throws {
        try DatabaseCore.blaming(nil) {
            let scanner = try SequenceScanner(self)
            defer { scanner.close() }
            try scanner.run(body)
        }
    }
}
