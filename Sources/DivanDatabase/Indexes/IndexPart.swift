// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanModel

/// A part of the feed that was read at once, and what has been mapped of it on the way.
struct IndexPart: Sendable {
    /// An index, and up to where it has seen the feed.
    typealias Index = (definition: IndexDefinition, lastSequence: SequenceNumber)

    /// What was read; without documents, if all indexes have been mapped.
    let feed: IndexFeed
    private let indexes: [Index]
    /// The outcomes of the indexes that were lent the bodies.
    private let outcomes: [MappedFeed.Outcome?]

    /// Asking for the time costs about as much as encoding a short key, so one document in so many
    /// stands for all.
    static let sampling = 16

    /// Reads a part, in a snapshot of its own.
    init(
        _ core: DatabaseCore, for indexes: [Index], after sequence: SequenceNumber, purge: UInt64?,
        through bound: SequenceNumber?, count: Int, bytes: Int
    ) throws {
        var lent = LentMapping(indexes)
        feed = try core.read {
            try $0.indexFeed(
                after: sequence, purge: purge, through: bound, count: count, bytes: bytes,
                lendingTo: &lent)
        }
        self.indexes = indexes
        outcomes = lent.outcomes(of: indexes.count)
    }

    /// Maps its documents for the indexes that want them.
    func mapped() -> MappedFeed {
        var mapped = MappedFeed(indexes: indexes.count)
        mapped.lastSequence = feed.lastSequence
        mapped.seen = feed.state.lastSequence
        mapped.bytes = feed.bytes
        for (place, index) in indexes.enumerated() {
            mapped.outcomes[place] =
                outcomes[place] ?? map(for: index.definition, after: index.lastSequence)
        }
        mapped.items = feed.items
        return mapped
    }

    private func map(
        for definition: IndexDefinition, after sequence: SequenceNumber
    ) -> MappedFeed.Outcome {
        var outcome = MappedFeed.Outcome()
        outcome.positions.reserveCapacity(feed.items.count)
        let sink = EmissionSink(definition.coder)
        let began = ContinuousClock.now
        for (number, item) in feed.items.enumerated() where item.sequence > sequence {
            sink.isMeasuring = number.isMultiple(of: Self.sampling)
            let (id, document) = feed.documents[number]
            if let error = definition.collect(id, document, in: sink) {
                outcome.failures.append((outcome.positions.count, "\(error)"))
            }
            outcome.positions.append(number)
        }
        let all = ContinuousClock.now - began
        outcome.emissions = sink.takeBatch()
        // A sample may be unlucky.
        outcome.encoding = min(sink.encoding * Self.sampling, all)
        outcome.mapping = all - outcome.encoding
        return outcome
    }
}
