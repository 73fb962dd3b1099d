// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel

/// Mapped pieces that are written at once.
struct IndexBatch {
    /// An index that a piece of the feed is for, as it stood when that was read.
    struct Behind {
        var definition: IndexDefinition
        var record: IndexRecord
        /// Up to which sequence documents of the feed cannot have rows in it.
        var newThrough: SequenceNumber = 0

        /// How a piece is mapped for it.
        var mapping: IndexPart.Index {
            IndexPart.Index(
                definition: definition, lastSequence: record.lastSequence, newThrough: newThrough)
        }
    }

    private(set) var indexes: [Behind]
    /// Where the first piece began.
    let start: SequenceNumber
    /// The first part of the first piece, without its items.
    let feed: IndexFeed
    /// What the indexes' maps made of the documents of all pieces.
    var mapped: MappedFeed

    /// Fewer documents are not worth a piece.
    private static let leastCount = 64
    /// What a document is assumed to emit into an index before that is known: most emit a tenth.
    private static let supposedSize = 1_024

    /// About how much memory it takes.
    var size: Int {
        mapped.outcomes.reduce(mapped.items.count * MemoryLayout<IndexFeed.Item>.stride) {
            $0 + $1.emissions.size
        }
    }

    /// Where the first piece's snapshot ended.
    var bound: SequenceNumber { feed.state.lastSequence }

    init(_ indexes: [Behind], _ feed: IndexFeed, after start: SequenceNumber) {
        self.indexes = indexes
        self.start = start
        var feed = feed
        (feed.items, feed.documents) = ([], [])
        self.feed = feed
        mapped = MappedFeed(indexes: indexes.count)
    }

    /// Maps a piece and adds it.
    mutating func add(_ piece: IndexPiece) throws {
        try IndexMapping(piece: piece).run(adding: &mapped)
    }

    /// Keeps only the indexes of some definitions.
    mutating func narrow(to definitions: [IndexDefinition]) {
        let names = Set(definitions.map(\.name))
        let kept = indexes.indices.filter { names.contains(indexes[$0].definition.name) }
        mapped.outcomes = kept.map { mapped.outcomes[$0] }
        indexes = kept.map { indexes[$0] }
    }

    /// Makes room for what is left of the feed, as far as memory allows, if its documents emit what the
    /// first ones do. Room that is not used costs no memory, but moving the content each time that it
    /// grows costs twice as much.
    mutating func makeRoom(memory: Int) {
        let done = mapped.lastSequence - min(mapped.lastSequence, start)
        let left = bound - min(bound, mapped.lastSequence)
        guard done > 0, left > 0, size > 0 else { return }
        let factor = min(Double(left) / Double(done), Double(memory) / Double(size)) * 1.1 + 1
        mapped.makeRoom(times: factor)
    }

    /// How many documents the next piece may have, so that what they emit fits into memory.
    func nextCount(memory: Int) -> Int {
        guard size > 0 else { return IndexPiece.largestCount }
        let fitting = max(0, memory - size) / max(1, size / max(1, mapped.items.count))
        return min(IndexPiece.largestCount, max(Self.leastCount, fitting))
    }

    /// How many documents the first piece may have, when nothing is known of what they emit.
    static func firstCount(_ indexes: Int, memory: Int) -> Int {
        min(1_024, max(leastCount, memory / (max(1, indexes) * supposedSize)))
    }

    /// The documents of an index's part, each once, as the last piece that had it says; nil for
    /// all of them.
    func places(_ index: Int) -> [Int]? {
        guard mapped.items.contains(where: \.isConsulted) else { return nil }
        let outcome = mapped.outcomes[index]
        // Purged documents follow them.
        return outcome.emissions.lastPlaces(amongFirst: outcome.positions.count)
    }

    /// Adds the purged documents to an index's part, without rows.
    mutating func addPurged(after purge: UInt64, to index: Int) {
        guard !feed.purged.isEmpty else { return }
        // A document purged before the index last looked may be back, and its rows right.
        let gone = feed.purged.filter { $0.purge > purge }.map(\.id)
        mapped.outcomes[index].emissions.addMissing(gone)
    }

    /// The documents of an index's part that the map function failed for.
    func failures(_ index: Int, _ places: [Int]?) throws -> [IndexingFailure] {
        let outcome = mapped.outcomes[index]
        guard !outcome.failures.isEmpty else { return [] }
        let written = places.map { Set($0) }
        return try outcome.failures.filter { written?.contains($0.place) ?? true }.map {
            IndexingFailure(
                documentID: try outcome.emissions.documentID($0.place).text, reason: $0.reason)
        }
    }

    /// Stops the program where invariant 3 of ``IndexPass`` does not hold; for tests.
    func checkInvariants() {
        precondition(indexes.count == mapped.outcomes.count)
        precondition(start <= bound && mapped.lastSequence <= bound, "invariant 3")
        // Each document comes once for each row of the feed, in its order.
        let sequences = mapped.items.map(\.sequence)
        precondition(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 }, "invariant 3")
        precondition(sequences.first.map { $0 > start } ?? true, "invariant 3")
        precondition(sequences.last.map { $0 <= mapped.lastSequence } ?? true, "invariant 3")
        precondition(mapped.items.isEmpty || mapped.seen >= bound, "invariant 3")
        let purges = feed.purged.map(\.purge)
        precondition(zip(purges, purges.dropFirst()).allSatisfy { $0 < $1 }, "invariant 3")
        precondition(purges.last.map { $0 <= feed.lastPurge } ?? true, "invariant 3")
        for (index, outcome) in zip(indexes, mapped.outcomes) {
            let positions = outcome.positions
            precondition(
                zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 }, "invariant 3")
            precondition(positions.allSatisfy(mapped.items.indices.contains), "invariant 3")
            precondition(
                positions.allSatisfy { sequences[$0] > index.record.lastSequence }, "invariant 3")
            // Purged documents follow those of the feed.
            precondition(
                outcome.emissions.count >= positions.count
                    && outcome.emissions.count <= positions.count + feed.purged.count, "invariant 3"
            )
            precondition(outcome.count >= positions.count, "invariant 3")
            precondition(
                outcome.failures.allSatisfy { $0.place < positions.count }, "invariant 3")
        }
    }
}
