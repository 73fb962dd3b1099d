// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanModel

/// Mapped pieces that are written at once.
struct IndexBatch {
    /// An index that a piece of the feed is for, as it stood when that was read.
    struct Behind {
        var definition: IndexDefinition
        var record: IndexRecord
    }

    /// A mapped document.
    struct Item {
        var id: DocumentID
        var sequence: SequenceNumber
        var isConsulted: Bool
    }

    let indexes: [Behind]
    /// Where the first piece began.
    let start: SequenceNumber
    /// The first piece's feed, without its items.
    var feed: IndexFeed
    var items: [Item] = []
    /// What each index's map made of the documents.
    var mapped: [IndexMapping.Outcome]

    /// Fewer documents are not worth a piece.
    private static let leastCount = 64
    /// What a document is supposed to emit into an index before that is known: most emit a tenth.
    private static let supposedSize = 1_024

    /// About what it takes in memory.
    var size: Int { mapped.reduce(0) { $0 + $1.emissions.size } }

    var bound: SequenceNumber { feed.state.lastSequence }

    init(_ indexes: [Behind], _ feed: IndexFeed, after start: SequenceNumber) {
        self.indexes = indexes
        self.start = start
        self.feed = feed
        (self.feed.items, self.feed.bytes) = ([], 0)
        mapped = Array(repeating: IndexMapping.Outcome(), count: indexes.count)
    }

    mutating func add(_ feed: IndexFeed, _ mapping: IndexMapping) {
        mapping.run(adding: &mapped, offset: items.count)
        for item in feed.items {
            items.append(
                Item(id: item.id, sequence: item.sequence, isConsulted: item.isConsulted))
        }
        self.feed.lastSequence = feed.lastSequence
        self.feed.bytes += feed.bytes
    }

    /// How many documents the next piece may have, so that what they emit fits into memory.
    func nextCount(memory: Int) -> Int {
        guard size > 0 else { return IndexFeed.largestCount }
        let fitting = max(0, memory - size) / max(1, size / max(1, items.count))
        return min(IndexFeed.largestCount, max(Self.leastCount, fitting))
    }

    /// How many documents the first piece may have, when nothing is known of what they emit.
    static func firstCount(_ indexes: Int, memory: Int) -> Int {
        min(1_024, max(leastCount, memory / (max(1, indexes) * supposedSize)))
    }

    /// The documents of an index's part, each once, as the last piece that had it says; nil for
    /// all of them.
    func places(_ index: Int) -> [Int]? {
        guard items.contains(where: \.isConsulted) else { return nil }
        var seen: Set<DocumentID> = []
        let positions = mapped[index].positions
        var places: [Int] = []
        for place in positions.indices.reversed()
        where seen.insert(items[positions[place]].id).inserted {
            places.append(place)
        }
        // Those that were purged are behind them.
        let rest = positions.count..<mapped[index].emissions.count
        return places.reversed() + rest
    }

    /// Adds the documents that are gone to an index's part, without rows.
    mutating func addPurged(after purge: UInt64, to index: Int) {
        guard !feed.purged.isEmpty else { return }
        // A document purged before the index last looked may be back, and its rows right.
        let gone = Set(feed.purged.filter { $0.purge > purge }.map(\.id))
        for id in gone.subtracting(items.map(\.id)) {
            mapped[index].emissions.begin(id)
            mapped[index].emissions.end()
        }
    }

    /// The documents of an index's part that the map function failed for.
    func failures(_ index: Int, _ places: [Int]?) -> [IndexingFailure] {
        let mapped = mapped[index]
        guard !mapped.failures.isEmpty else { return [] }
        let written = places.map { Set($0) }
        return mapped.failures.filter { written?.contains($0.place) ?? true }.map {
            IndexingFailure(
                documentID: items[mapped.positions[$0.place]].id.text, reason: $0.reason)
        }
    }
}
