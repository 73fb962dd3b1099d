// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
package import DivanModel

/// The row of a stored revision in `revisions`, keyed by its sequence.
///
///     offset  size   meaning
///          0     1   flags: 1 tombstone, 2 large body, 4 the ID is a UUID, 8 consult the document,
///                    16 the body refers to attachments
///          1    16   the document ID's 128 bits, with flag 4; otherwise varint length and UTF-8
///          …     …   revision ID (RevisionID.append)
///          …  0..10  varint: the body's length, with flag 2; its bytes lie in `largeBodies`
///          …     …   packed body, without flag 2
///
/// *Consult the document* marks a row that alone does not tell how its document stands: the document
/// has other leaves, this revision is not the winner, or the row carries no body and only moves the
/// document to a new place in the feed. A scan reads the document's record for such a row. All other
/// rows are complete by themselves, which makes scans sequential.
package struct RevisionRow {
    /// What the first byte says.
    package struct Flags: OptionSet {
        /// The byte.
        package let rawValue: UInt8
        /// The revision is a tombstone.
        package static let tombstone = Flags(rawValue: 1)
        /// The body lies in `largeBodies`.
        package static let largeBody = Flags(rawValue: 2)
        static let compactID = Flags(rawValue: 4)
        /// The row alone does not tell how its document stands.
        package static let consultDocument = Flags(rawValue: 8)
        /// The body refers to attachments.
        package static let attachments = Flags(rawValue: 16)
        static let known: Flags = [
            .tombstone, .largeBody, .compactID, .consultDocument, .attachments,
        ]

        /// Takes a byte, whatever its bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    /// Bodies above this lie in `largeBodies`, so that the feed and scans do not read over them.
    static let largestInlineBody = 16 * 1_024

    /// What the first byte says.
    package var flags: Flags
    /// The document.
    package var documentID: DocumentID
    /// The revision.
    package var revisionID: RevisionID
    /// Where the packed body lies in the row; empty when it is large.
    package var body: Range<Int>
    /// The length of a large body.
    package var largeLength: Int

    /// Reads a row.
    package init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        let flags = try Self.flags(row, &reader)
        documentID = try Self.documentID(row, flags, &reader)
        let layout = try Layout(row, flags, &reader)
        self.flags = flags
        revisionID = try layout.revisionID(in: row)
        body = layout.body
        largeLength = layout.largeLength
    }

    /// The ID of a row's document alone.
    package static func documentID(_ row: Span<UInt8>) throws -> DocumentID {
        var reader = RowReader()
        let flags = try flags(row, &reader)
        return try documentID(row, flags, &reader)
    }

    /// Whether a row is of a document.
    static func isRow(_ row: Span<UInt8>, of id: DocumentID) throws -> Bool {
        var reader = RowReader()
        let flags = try flags(row, &reader)
        guard flags.contains(.compactID) else {
            let length = try reader.varint(row)
            let start = reader.offset
            try reader.skip(length, of: row)
            return id.text.withSpan { compare($0, row.extracting(start..<reader.offset)) == 0 }
        }
        let (high, low) = (try reader.bigEndian64(row), try reader.bigEndian64(row))
        return id.text.withSpan { HexadecimalText.uuid($0).map { $0 == (high, low) } ?? false }
    }

    /// Whether a row is of a design document.
    static func isOfDesignDocument(_ row: Span<UInt8>) throws -> Bool {
        var reader = RowReader()
        if try flags(row, &reader).contains(.compactID) { return false }
        let length = try reader.varint(row)
        let start = reader.offset
        try reader.skip(length, of: row)
        return DocumentID.isDesign(row.extracting(start..<reader.offset))
    }

    /// Appends the ID of a row's document, as an index has it.
    package static func appendRowDocumentID(_ row: Span<UInt8>, to id: inout [UInt8]) throws {
        var reader = RowReader()
        if try flags(row, &reader).contains(.compactID) {
            let high = try reader.bigEndian64(row)
            RowDocumentID.append(high, try reader.bigEndian64(row), to: &id)
        } else {
            let length = try reader.varint(row)
            let start = reader.offset
            try reader.skip(length, of: row)
            RowDocumentID.append(row.extracting(start..<reader.offset), to: &id)
        }
    }

    private static func documentID(_ row: Span<UInt8>, _ flags: Flags, _ reader: inout RowReader)
        throws -> DocumentID
    {
        guard flags.contains(.compactID) else {
            return DocumentID(try reader.text(row))
        }
        let high = try reader.bigEndian64(row)
        let low = try reader.bigEndian64(row)
        return DocumentID(HexadecimalText.uuid(high, low))
    }

    /// Where the parts of a row lie: what a reader needs that came from the document. Nothing in it counts references.
    package struct Layout {
        /// What the first byte says.
        package let flags: Flags
        /// The generation of the revision.
        package let generation: UInt64
        /// Where the packed body lies in the row; empty when it is large.
        package let body: Range<Int>
        /// The length of a large body.
        let largeLength: Int
        /// Where the revision ID begins.
        private let revision: Int

        // A module above would compare the flags by generic functions, some hundred times slower.

        /// Whether the revision is a tombstone.
        package var isTombstone: Bool { flags.contains(.tombstone) }
        /// Whether the row tells all that an index needs.
        package var standsAlone: Bool { flags.isDisjoint(with: [.consultDocument, .largeBody]) }

        /// Looks over a row.
        package init(_ row: Span<UInt8>) throws {
            var reader = RowReader()
            let flags = try RevisionRow.flags(row, &reader)
            try reader.skip(flags.contains(.compactID) ? 16 : reader.varint(row), of: row)
            self = try Layout(row, flags, &reader)
        }

        fileprivate init(_ row: Span<UInt8>, _ flags: Flags, _ reader: inout RowReader) throws {
            self.flags = flags
            revision = reader.offset
            generation = try RevisionID.skip(row, at: &reader.offset)
            if flags.contains(.largeBody) {
                let length = try reader.varint(row)
                guard length <= LargeBody.maximumLength else { throw MalformedRow() }
                largeLength = Int(length)
            } else {
                largeLength = 0
            }
            body = reader.rest(row)
        }

        /// The revision of the row that this is the layout of.
        package func revisionID(in row: Span<UInt8>) throws -> RevisionID {
            var offset = revision
            return try RevisionID.decode(row, at: &offset)
        }
    }

    private static func flags(_ row: Span<UInt8>, _ reader: inout RowReader) throws -> Flags {
        let flags = Flags(rawValue: try reader.byte(row))
        guard flags.isSubset(of: .known) else { throw MalformedRow() }
        return flags
    }

    /// Appends the row up to the body.
    static func appendHead(
        flags: Flags, id: DocumentID, revision: RevisionID, to row: inout [UInt8]
    ) {
        id.text.withSpan { id in
            if let bits = HexadecimalText.uuid(id) {
                row.append(flags.union(.compactID).rawValue)
                row.append(bigEndian64: bits.high)
                row.append(bigEndian64: bits.low)
            } else {
                row.append(flags.rawValue)
                Varint.append(UInt64(id.count), to: &row)
                row.append(copying: id)
            }
        }
        revision.append(to: &row)
    }
}

/// The keys of a large body's chunks in `largeBodies`.
///
///     offset  size  meaning
///          0     8  sequence, big-endian
///          8     4  chunk number, big-endian
enum LargeBody {
    static let chunkSize = 256 * 1_024
    static let maximumLength = 1 << 31

    static func key(_ sequence: SequenceNumber, chunk: Int) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(12)
        key.append(bigEndian64: sequence)
        for shift in stride(from: 24, through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: chunk >> shift))
        }
        return key
    }

    static func chunkCount(_ length: Int) -> Int { (length + chunkSize - 1) / chunkSize }
}

/// Why a scan in sequence order skips a row of `revisions`: the value in `superseded`.
package enum SupersededMark: UInt8 {
    /// The revision has a child; compaction deletes its body.
    case dead = 0
    /// The revision is a leaf, but its document stands elsewhere in the feed; its body stays.
    case shadowed = 1
}
