// SPDX-License-Identifier: Apache-2.0

package import DivanModel
package import DivanStorage

/// What an index has of each document: the keys that the document emitted (``EmittedKeys``), so that its rows are found
/// when it changes.
///
/// A list stands under the sequence of a revision, not under the document's ID: what a pass brings of thousands of
/// documents then lies together, at the end of the store, where lists by ID would lie on as many pages.
///
///     revisions of a document        1-a ── 2-b ── 3-c ── 4-d        sequences 7, 20, 31, 45
///     emissions                      7 → "x"      31 → "y"           the index has the row "y"
///
/// The list under 7 is out of date. It stays until the body under 7 is deleted, by a compaction for example, so a pass removes
/// nothing. A revision that emits the same keys as the one before gets no list.
///
/// ## Invariants
///
/// `EmissionListsTests` show them after each step of random histories; verification checks 1 and 3.
///
/// 1. Of the sequences in a document's tree, the highest one with a list tells what rows the index has of the document. If none has
///    one, the index has no rows of it.
/// 2. A list stands under the sequence of a stored revision. Before that is deleted, the list that counts moves to the highest sequence
///    that the document keeps.
/// 3. A document that keeps none, since it was purged, has its list in the store `purged`, under its ID. That list counts, also if a
///    document of this ID is made again, until the index has dropped the rows.
package struct EmissionLists {
    /// What an index has of a document.
    struct Known {
        /// The keys.
        var list: [UInt8]
        /// Where they stand; nil for the store `purged`.
        var sequence: SequenceNumber?
    }

    private let lists: BlockCursor
    private let purged: BlockCursor
    private let hasPurged: Bool
    /// The highest sequence that has a list.
    private var last: SequenceNumber = 0

    /// Opens the lists of an index as they are now.
    init(_ stores: IndexStores, _ reader: any StorageReader) throws {
        lists = try BlockCursor(stores.emissions, reader)
        purged = try BlockCursor(stores.purged, reader)
        hasPurged = try purged.seekToFirst()
        if try lists.seekToLast() {
            var last: SequenceNumber = 0
            try lists.withKey { last = try Self.sequence($0) }
            self.last = last
        }
    }

    func close() {
        lists.close()
        purged.close()
    }

    /// Looks up what the index has of a document.
    ///
    /// - Parameters:
    ///   - id: The document's ID, as an index has it.
    ///   - sequences: Those in its tree, the highest first.
    /// - Returns: The list that counts; nil for none.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    func known(of id: Span<UInt8>, _ sequences: [SequenceNumber]) throws -> Known? {
        if hasPurged, try purged.seek(toAtLeast: id), purged.isAt(id) {
            return Known(list: try Self.value(purged), sequence: nil)
        }
        for sequence in sequences where sequence <= last {
            let key = Self.key(sequence)
            if try lists.seek(toAtLeast: key.span), lists.isAt(key.span) {
                return Known(list: try Self.value(lists), sequence: sequence)
            }
        }
        return nil
    }

    private static func value(_ cursor: BlockCursor) throws -> [UInt8] {
        var list: [UInt8] = []
        try cursor.withValue { list = [UInt8](copying: $0) }
        return list
    }

    /// The key of a sequence.
    static func key(_ sequence: SequenceNumber) -> [UInt8] {
        var key: [UInt8] = []
        OrderedNumber.append(sequence, to: &key)
        return key
    }

    /// The sequence of a key.
    static func sequence(_ key: Span<UInt8>) throws(IndexCorruption) -> SequenceNumber {
        var offset = 0
        let sequence = try OrderedNumber.decode(key, at: &offset)
        guard offset == key.count else {
            throw IndexCorruption("A list of emitted keys has no sequence.")
        }
        return sequence
    }

    // MARK: - Deleting revisions

    /// What a document has lost and kept.
    package struct Loss {
        /// The sequences of its revisions that are deleted.
        package var gone: [SequenceNumber]
        /// Those that are left in its tree, the highest first.
        package var kept: [SequenceNumber]

        /// Makes one.
        package init(gone: [SequenceNumber], kept: [SequenceNumber]) {
            self.gone = gone
            self.kept = kept
        }
    }

    /// Removes what stands under sequences whose revisions are deleted, and keeps what counts of it.
    ///
    /// - Parameters:
    ///   - losses: What documents have lost, by ID.
    ///   - stores: The index.
    ///   - writer: What to write with.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package static func apply(
        _ losses: [DocumentID: Loss], to stores: IndexStores, _ writer: any StorageWriter
    ) throws {
        var edits = EmissionListEdits()
        let lists = try EmissionLists(stores, writer)
        defer { lists.close() }
        // In the order of the store.
        let sorted = losses.sorted { ($0.value.gone.first ?? 0) < ($1.value.gone.first ?? 0) }
        for (id, loss) in sorted { try lists.apply(loss, of: id, &edits) }
        lists.close()
        try edits.write(to: stores, writer)
    }

    private func apply(_ loss: Loss, of id: DocumentID, _ edits: inout EmissionListEdits) throws {
        var rowID: [UInt8] = []
        RowDocumentID.append(id, to: &rowID)
        let known = try known(of: rowID.span, (loss.gone + loss.kept).sorted(by: >))
        guard let known else { return }
        for sequence in loss.gone where sequence <= last { edits.clear(sequence) }
        guard let sequence = known.sequence, loss.gone.contains(sequence) else { return }
        if let target = loss.kept.first {
            edits.put(known.list, under: target)
        } else if !known.list.isEmpty {
            edits.put(known.list, ofPurged: rowID.span)
        }
    }
}

/// Changes of the lists of an index, collected in any order.
struct EmissionListEdits {
    private var lists = BlockEdits()
    private var purged = BlockEdits()
    private var bytes: [UInt8] = []

    mutating func put(_ list: [UInt8], under sequence: SequenceNumber) {
        let start = bytes.count
        OrderedNumber.append(sequence, to: &bytes)
        let keySize = bytes.count - start
        bytes.append(contentsOf: list)
        lists.append(.put, at: start, keySize: keySize, valueSize: list.count)
    }

    mutating func clear(_ sequence: SequenceNumber) {
        let start = bytes.count
        OrderedNumber.append(sequence, to: &bytes)
        lists.append(.clear, at: start, keySize: bytes.count - start, valueSize: 0)
    }

    mutating func put(_ list: [UInt8], ofPurged id: Span<UInt8>) {
        let start = bytes.count
        bytes.append(copying: id)
        bytes.append(contentsOf: list)
        purged.append(.put, at: start, keySize: id.count, valueSize: list.count)
    }

    mutating func clear(ofPurged id: Span<UInt8>) {
        let start = bytes.count
        bytes.append(copying: id)
        purged.append(.clear, at: start, keySize: id.count, valueSize: 0)
    }

    mutating func write(to stores: IndexStores, _ writer: any StorageWriter) throws {
        lists.sort(in: bytes)
        purged.sort(in: bytes)
        _ = try stores.emissions.edit(lists, of: bytes, writer)
        _ = try stores.purged.edit(purged, of: bytes, writer)
    }
}
