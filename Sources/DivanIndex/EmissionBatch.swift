// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel
internal import DivanStorage

/// What documents emit into one index, ready to be stored.
///
/// It is filled on the thread that maps the documents and handed to the writer: whole row keys and
/// packed values, all in one array of bytes, since a bulk build has millions of them.
///
/// ```swift
/// var batch = EmissionBatch()
/// batch.begin(id)
/// batch.append(value) { coder.append(key, to: &$0, &$1) }
/// batch.end()
/// ```
package struct EmissionBatch: Sendable {
    /// A row in ``bytes``: the emitted key, the rest of the row key, the value.
    ///
    /// A bulk build has a row and a document in memory for each document of the database, so both are kept small.
    struct Row {
        var start: Int
        private var emittedSize: UInt32
        private var keySize: UInt32
        private var valueSize: UInt32

        init(start: Int, emittedEnd: Int, keyEnd: Int, end: Int) {
            self.start = start
            emittedSize = UInt32(emittedEnd - start)
            keySize = UInt32(keyEnd - start)
            valueSize = UInt32(end - keyEnd)
        }

        var emittedEnd: Int { start + Int(emittedSize) }
        var keyEnd: Int { start + Int(keySize) }
        var emitted: Range<Int> { start..<emittedEnd }
        var key: Range<Int> { start..<keyEnd }
        var value: Range<Int> { keyEnd..<keyEnd + Int(valueSize) }
        var whole: Range<Int> { start..<keyEnd + Int(valueSize) }
    }

    /// A document: where its ID stands in ``bytes``, and where its rows end. Its rows follow those of the document before it.
    private struct Document {
        var start: Int
        var idSize: UInt32
        var rowEnd: UInt32
    }

    private(set) var bytes: [UInt8] = []
    private(set) var rows: [Row] = []
    private var documents: [Document] = []
    /// The ID of the document that is being mapped, as an index has it.
    private var id: [UInt8] = []
    /// What its rows have for a value if they are given none.
    private var sequence: SequenceNumber?
    /// Where its rows and their bytes begin; nil between documents.
    private var begun: (row: Int, start: Int)?
    /// Whether rows begin with the partition of their document; see ``RowPartition``.
    package var leadsWithPartition = false
    /// What the rows of the document that is being mapped begin with.
    private var lead: [UInt8] = []
    /// How the numbers of the last key are written.
    private var forms = NumberForms()

    /// Makes an empty batch.
    package init() {}

    /// How many documents it has.
    package var count: Int { documents.count }

    /// How many rows they have together.
    package var rowCount: Int { rows.count }

    /// How many bytes of keys and values it has.
    package var byteCount: Int { bytes.count }

    /// About how much memory it takes.
    package var size: Int {
        bytes.count + MemoryLayout<Row>.stride * rows.count
            + MemoryLayout<Document>.stride * documents.count
    }

    /// About how much more it takes at most while ``IndexWriter`` writes it: where rows are replaced, each row and each document is
    /// an edit, which is sorted by two numbers that are moved. Rows are packed into blocks.
    package var sizeOfWriting: Int {
        let perEdit =
            MemoryLayout<BlockEdits.Edit>.stride + 2 * MemoryLayout<KeySorter.Place>.stride
        return bytes.count / 2 + perEdit * (rows.count + documents.count)
    }

    /// Where the rows of a document stand among ``rows``.
    func rows(of place: Int) -> Range<Int> {
        (place == 0 ? 0 : Int(documents[place - 1].rowEnd))..<Int(documents[place].rowEnd)
    }

    /// Where the ID of a document stands in ``bytes``.
    func id(of place: Int) -> Range<Int> {
        let document = documents[place]
        return document.start..<document.start + Int(document.idSize)
    }

    // MARK: - Filling

    /// Begins the next document.
    package mutating func begin(_ id: DocumentID) {
        self.id.removeAll(keepingCapacity: true)
        RowDocumentID.append(id, to: &self.id)
        sequence = nil
        beginRows()
    }

    /// Begins the next document.
    ///
    /// - Parameters:
    ///   - id: Its ID, lent as an index has it (``RowDocumentID``).
    ///   - sequence: Its sequence, if that is what its rows are to have for a value.
    package mutating func begin(_ id: Span<UInt8>, sequence: SequenceNumber? = nil) {
        self.id.removeAll(keepingCapacity: true)
        self.id.append(copying: id)
        self.sequence = sequence
        beginRows()
    }

    private mutating func beginRows() {
        begun = (rows.count, bytes.count)
        guard leadsWithPartition else { return }
        let id = id
        lead.removeAll(keepingCapacity: true)
        RowPartition.append(of: id.span, to: &lead)
    }

    /// Adds a row of the document that was begun.
    ///
    /// - Parameters:
    ///   - value: The value; nil for none, which takes no space, or the document's sequence.
    ///   - key: Appends the key in its row form, and how its numbers are written.
    package mutating func append(
        _ value: PackedValue?, key: (inout [UInt8], inout NumberForms) throws -> Void
    ) rethrows {
        guard begun != nil else { return }
        let start = bytes.count
        forms.removeAll()
        bytes.append(contentsOf: lead)
        do { try key(&bytes, &forms) } catch {
            bytes.removeLast(bytes.count - start)
            throw error
        }
        let emittedEnd = bytes.count
        bytes.append(contentsOf: id)
        bytes.append(0)
        if !forms.bytes.isEmpty {
            // The ordinal is zero until the document is complete.
            bytes.append(0)
            bytes.append(contentsOf: forms.bytes)
        }
        let keyEnd = bytes.count
        if let value, !value.isNull { value.withBytes { bytes.append(copying: $0) } }
        if value == nil, let sequence { Varint.append(sequence, to: &bytes) }
        rows.append(Row(start: start, emittedEnd: emittedEnd, keyEnd: keyEnd, end: bytes.count))
    }

    /// Adds the only row of the document that was begun, in an index whose rows have no keys of their own.
    ///
    /// - Parameter value: Appends the value.
    package mutating func appendValue(_ value: (inout [UInt8]) -> Void) {
        guard begun != nil else { return }
        let start = bytes.count
        bytes.append(contentsOf: id)
        bytes.append(0)
        let keyEnd = bytes.count
        value(&bytes)
        rows.append(Row(start: start, emittedEnd: start, keyEnd: keyEnd, end: bytes.count))
    }

    /// Ends the document that was begun.
    package mutating func end() {
        guard let begun else { return }
        if rows.count - begun.row > 1 { number(from: begun.row) }
        var start = bytes.count
        if begun.row < rows.count {
            // It stands in the key of its first row.
            start = rows[begun.row].emittedEnd
        } else {
            bytes.append(contentsOf: id)
        }
        documents.append(
            Document(start: start, idSize: UInt32(id.count), rowEnd: UInt32(rows.count)))
        self.begun = nil
    }

    /// Ends the document that was begun, and removes it if it has no rows.
    ///
    /// - Returns: Whether it is there.
    package mutating func endLeavingOutEmpty() -> Bool {
        guard let begun, begun.row == rows.count else {
            end()
            return true
        }
        self.begun = nil
        return false
    }

    /// Ends the document that was begun without any rows.
    package mutating func endWithoutRows() {
        guard let begun else { return }
        rows.removeLast(rows.count - begun.row)
        bytes.removeLast(bytes.count - begun.start)
        end()
    }

    /// Makes room for a multiple of what it has, so that its content is not moved while it grows to that.
    package mutating func makeRoom(times factor: Double) {
        bytes.reserveCapacity(Int(Double(bytes.count) * factor))
        rows.reserveCapacity(Int(Double(rows.count) * factor))
        documents.reserveCapacity(Int(Double(documents.count) * factor))
    }

    /// Adds the documents of another batch.
    package mutating func append(_ other: EmissionBatch) {
        let (start, row) = (bytes.count, rows.count)
        bytes.append(contentsOf: other.bytes)
        rows.append(
            contentsOf: other.rows.lazy.map {
                var row = $0
                row.start += start
                return row
            })
        documents.append(
            contentsOf: other.documents.lazy.map {
                Document(
                    start: start + $0.start, idSize: $0.idSize, rowEnd: UInt32(row) + $0.rowEnd)
            })
    }

    /// Adds those documents that are not there, without rows.
    package mutating func addMissing(_ ids: some Sequence<DocumentID>) {
        var missing = Set(
            ids.lazy.map { id in
                var bytes: [UInt8] = []
                RowDocumentID.append(id, to: &bytes)
                return bytes
            })
        guard !missing.isEmpty else { return }
        for place in documents.indices { missing.remove(Array(bytes[id(of: place)])) }
        for id in missing {
            begin(id.span)
            end()
        }
    }

    /// The places of documents. Each of the first ones is given once: where it came last.
    ///
    /// - Parameter count: How many may have come more than once; all after them count.
    /// - Returns: The places, in order.
    package func lastPlaces(amongFirst count: Int) -> [Int] {
        // For nearly all documents, hashes show cheaply that each came once.
        var hashes: Set<UInt64> = []
        hashes.reserveCapacity(count)
        let isUnique = (0..<count).allSatisfy { place in
            hashes.insert(RowRank.hash(bytes.span.extracting(id(of: place)), seed: 0)).inserted
        }
        if isUnique { return Array(documents.indices) }
        var seen: Set<ArraySlice<UInt8>> = []
        var places: [Int] = []
        for place in (0..<count).reversed()
        where seen.insert(bytes[id(of: place)]).inserted {
            places.append(place)
        }
        return places.reversed() + (count..<documents.count)
    }

    /// Numbers the rows of a document that have the same key.
    private mutating func number(from firstRow: Int) {
        // For nearly all documents, hashes show cheaply that there are none.
        var hashes: Set<UInt64> = []
        let isUnique = rows[firstRow...].allSatisfy { row in
            let key = bytes.span.extracting(row.emitted)
            return hashes.insert(RowRank.hash(key, seed: 0)).inserted
        }
        guard !isUnique else { return }
        let id = id
        var seen: [ArraySlice<UInt8>: Int] = [:]
        for index in firstRow..<rows.count {
            let row = rows[index]
            let key = bytes[row.emitted]
            let ordinal = seen[key, default: 0]
            seen[ArraySlice(Array(key)), default: 0] = ordinal + 1
            guard ordinal > 0 else { continue }
            // A longer key is written anew, behind everything.
            let value = Array(bytes[row.value])
            let forms = Array(bytes[self.forms(row, idSize: id.count)])
            let start = bytes.count
            bytes.append(contentsOf: Array(key))
            let emittedEnd = bytes.count
            RowKey.append(id: id.span, ordinal: ordinal, forms: forms, to: &bytes)
            let keyEnd = bytes.count
            bytes.append(contentsOf: value)
            rows[index] = Row(
                start: start, emittedEnd: emittedEnd, keyEnd: keyEnd, end: bytes.count)
        }
    }

    // MARK: - Writing

    /// Adds what is staged besides rows, such as the keys of former ones, and returns where it begins.
    mutating func stage(_ more: (inout [UInt8]) -> Void) -> Int {
        let start = bytes.count
        more(&bytes)
        return start
    }

    /// The ID of a document.
    ///
    /// - Throws: ``IndexCorruption`` if the bytes that it was begun with are no ID.
    package func documentID(_ place: Int) throws(IndexCorruption) -> DocumentID {
        try RowDocumentID.decode(bytes.span.extracting(id(of: place)))
    }

    /// Where a row of a document says how the numbers of its key are written; empty for most.
    func forms(_ row: Row, idSize: Int) -> Range<Int> {
        RowKey.forms(behindID: row.emittedEnd + idSize + 1, end: row.keyEnd, in: bytes)
    }
}
