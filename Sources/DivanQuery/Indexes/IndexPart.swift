// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel

/// A part of the feed: documents that follow each other, and what each index's map made of them.
///
/// A part is read in one snapshot, mapped, and added to the part before it. So all parts of one write become
/// one part, whose rows wait until memory is full:
///
///     read            read            read
///     map             map             map
///     part    +       part     +      part     =     the part that is written
///     purges, bound                                  purges and bound of the first
struct IndexPart: Sendable {
    /// A row that stands for a document.
    struct Item: Sendable {
        var sequence: SequenceNumber
        /// Whether the row only pointed to the document, so that other rows may bring it again.
        var isConsulted = false
        /// Whether the row stands for the document alone and is its first revision, so that there are no others.
        var isFirst = false
    }

    /// The indexes that it is for, as they stood when it was read.
    private(set) var indexes: [OutdatedIndex]
    /// The sequence that it follows.
    let start: SequenceNumber
    /// Where the snapshot of the first part ended.
    let bound: SequenceNumber
    /// Documents purged whole, by purge sequence, in order; some may exist again.
    var purged: [(purge: UInt64, id: DocumentID)] = []
    /// Every purge up to here is in it.
    let lastPurge: UInt64
    var items: [Item] = []
    /// By index.
    var rows: [Rows]
    /// Every change up to here is in it.
    var lastSequence: SequenceNumber
    /// The counters as the snapshot of the first part had them.
    let state: DatabaseState
    /// Where the database stood when the last part was read.
    private(set) var seen: SequenceNumber
    /// The bytes of the bodies of the documents.
    var bytes = 0
    /// The documents of the items until they are mapped, nil for tombstones; none if no index needs them.
    var documents: [(id: DocumentID, document: Document?)] = []

    /// Makes one without documents.
    init(_ indexes: [OutdatedIndex], after start: SequenceNumber, in state: DatabaseState) {
        self.indexes = indexes
        self.start = start
        self.state = state
        bound = state.lastSequence
        lastPurge = state.lastPurge
        rows = Array(repeating: Rows(), count: indexes.count)
        lastSequence = start
        seen = state.lastSequence
    }

    /// The same before any document: what the parts of a write are added to.
    var emptied: IndexPart {
        var part = self
        (part.items, part.documents, part.bytes) = ([], [], 0)
        part.rows = Array(repeating: Rows(), count: indexes.count)
        (part.lastSequence, part.seen) = (start, bound)
        return part
    }

    /// The same with its documents mapped for the indexes that need them.
    ///
    /// - Parameter flag: What cancels the work, between one document and the next.
    /// - Returns: The part.
    /// - Throws: `CancellationError`, or what a ``GroupMapper`` throws.
    func mapped(unless flag: CancellationFlag?) throws -> IndexPart {
        guard !documents.isEmpty else { return self }
        let answers = try GroupAnswers(indexes, documents.map(\.document))
        var mapper = IndexMapper(indexes, areLent: false, answers)
        for (number, item) in items.enumerated() {
            try flag?.check()
            let (id, document) = documents[number]
            mapper.map(document, id, item)
        }
        var part = self
        part.documents = []
        mapper.finish(into: &part.rows)
        return part
    }

    /// Adds the part that follows.
    mutating func append(_ other: IndexPart) {
        for index in rows.indices { rows[index].append(other.rows[index], offset: items.count) }
        items += other.items
        lastSequence = other.lastSequence
        seen = max(seen, other.seen)
        bytes += other.bytes
    }

    /// Keeps only the indexes of some definitions.
    mutating func narrow(to definitions: [IndexDefinition]) {
        let names = Set(definitions.map(\.name))
        let kept = indexes.indices.filter { names.contains(indexes[$0].definition.name) }
        rows = kept.map { rows[$0] }
        indexes = kept.map { indexes[$0] }
    }

    // MARK: - Memory

    /// Fewer documents are not worth a piece.
    private static let leastCount = 64
    /// What a document is assumed to emit into an index before that is known: most emit a tenth.
    private static let supposedSize = 1_024

    /// About how much memory it takes, also while the rows of one index after the other are written.
    var size: Int {
        var size = items.count * MemoryLayout<Item>.stride
        var writing = 0
        for (index, rows) in zip(indexes, rows) {
            size += rows.emissions.size + rows.positions.count * MemoryLayout<Int>.stride
            // To write terms they are inverted, and each document's rows are made.
            if let text = index.definition.text {
                size += 2 * rows.emissions.byteCount + 200 * rows.emissions.count + text.size
            } else {
                writing = max(writing, rows.emissions.sizeOfWriting)
            }
        }
        return size + writing
    }

    /// Makes room for what is left of the feed, as far as memory allows, if its documents emit what the
    /// first ones do. Room that is not used costs no memory, but moving the content each time that it
    /// grows costs twice as much.
    mutating func makeRoom(memory: Int) {
        let done = lastSequence - min(lastSequence, start)
        let left = bound - min(bound, lastSequence)
        guard done > 0, left > 0, size > 0 else { return }
        let factor = min(Double(left) / Double(done), Double(memory) / Double(size)) * 1.1 + 1
        items.reserveCapacity(Int(Double(items.count) * factor))
        for index in rows.indices { rows[index].makeRoom(times: factor) }
    }

    /// How many documents the next piece may have, so that what they emit fits into memory.
    func nextCount(memory: Int) -> Int {
        guard size > 0 else { return IndexPiece.largestCount }
        let fitting = max(0, memory - size) / max(1, size / max(1, items.count))
        return min(IndexPiece.largestCount, max(Self.leastCount, fitting))
    }

    /// How many documents the first piece may have, when nothing is known of what they emit.
    static func firstCount(_ indexes: Int, memory: Int) -> Int {
        min(1_024, max(leastCount, memory / (max(1, indexes) * supposedSize)))
    }

    // MARK: - Writing

    /// The documents that an index gets rows of, each once, as the last row that brought it says; nil for
    /// all of them.
    func places(_ index: Int) -> [Int]? {
        guard items.contains(where: \.isConsulted) else { return nil }
        // Purged documents follow them.
        return rows[index].emissions.lastPlaces(amongFirst: rows[index].positions.count)
    }

    /// Adds the purged documents to those that an index gets rows of, without rows.
    mutating func addPurged(to index: Int) {
        guard !purged.isEmpty else { return }
        // A document purged before the index last looked may be back, and its rows right.
        let known = indexes[index].record.lastPurge
        rows[index].emissions.addMissing(purged.filter { $0.purge > known }.map(\.id))
    }

    /// The documents that the map function of an index failed for.
    func failures(_ index: Int, _ places: [Int]?) throws -> [IndexingFailure] {
        guard !rows[index].failures.isEmpty else { return [] }
        let written = places.map { Set($0) }
        return try rows[index].failures.filter { written?.contains($0.place) ?? true }.map {
            IndexingFailure(
                documentID: try rows[index].emissions.documentID($0.place), reason: $0.reason)
        }
    }
}

extension IndexPart {
    /// Stops the program where invariant 3 of ``IndexPass`` does not hold; for tests.
    func checkInvariants() {
        precondition(indexes.count == rows.count)
        precondition(start <= bound && lastSequence <= bound, "invariant 3")
        // Each document comes once for each row of the feed, in its order.
        let sequences = items.map(\.sequence)
        precondition(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 }, "invariant 3")
        precondition(sequences.first.map { $0 > start } ?? true, "invariant 3")
        precondition(sequences.last.map { $0 <= lastSequence } ?? true, "invariant 3")
        precondition(seen >= bound, "invariant 3")
        let purges = purged.map(\.purge)
        precondition(zip(purges, purges.dropFirst()).allSatisfy { $0 < $1 }, "invariant 3")
        precondition(purges.last.map { $0 <= lastPurge } ?? true, "invariant 3")
        for (index, rows) in zip(indexes, rows) {
            let positions = rows.positions
            precondition(
                zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 }, "invariant 3")
            precondition(positions.allSatisfy(items.indices.contains), "invariant 3")
            precondition(
                positions.allSatisfy { sequences[$0] > index.record.lastSequence }, "invariant 3")
            // Purged documents follow those of the feed.
            precondition(
                rows.emissions.count >= positions.count
                    && rows.emissions.count <= positions.count + purged.count, "invariant 3")
            precondition(rows.count >= positions.count, "invariant 3")
            precondition(rows.failures.allSatisfy { $0.place < positions.count }, "invariant 3")
        }
    }
}
