// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel

/// A part of the feed that was read at once, and what has been mapped of it on the way.
struct IndexPart: Sendable {
    /// An index that documents are mapped for.
    struct Index: Sendable {
        var definition: IndexDefinition
        /// How far it has seen the feed.
        var lastSequence: SequenceNumber
        /// Up to which sequence documents of the feed cannot have rows in it.
        var newThrough: SequenceNumber = 0

        /// Whether a document cannot have rows in it, so that it is left out if it emits none. A document
        /// that is consulted may have been brought by another row, as it stood then.
        func isNew(_ item: IndexFeed.Item) -> Bool {
            item.sequence <= newThrough && !item.isConsulted
        }
    }

    /// What was read; without documents, if all indexes have been mapped.
    let feed: IndexFeed
    private let indexes: [Index]
    /// The outcomes of the indexes that were lent the bodies.
    private let outcomes: [MappedFeed.Outcome?]

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
        for (place, outcome) in outcomes.enumerated() {
            if let outcome { mapped.outcomes[place] = outcome }
        }
        if !feed.documents.isEmpty { mapDocuments(&mapped) }
        mapped.items = feed.items
        return mapped
    }

    /// Maps each document for one index after the other, while it is in the processor's caches.
    private func mapDocuments(_ mapped: inout MappedFeed) {
        var targets = indexes.indices.filter { outcomes[$0] == nil }.map {
            MapTarget(place: $0, index: indexes[$0])
        }
        var id: [UInt8] = []
        for (number, item) in feed.items.enumerated() {
            let (documentID, document) = feed.documents[number]
            id.removeAll(keepingCapacity: true)
            RowDocumentID.append(documentID, to: &id)
            for target in targets.indices {
                targets[target].map(id.span, document, item, number)
            }
        }
        for target in targets { mapped.outcomes[target.place] = target.finished() }
    }
}

/// One index that documents are mapped for, and what has been made for it.
private struct MapTarget {
    /// Which of the part's indexes it is.
    let place: Int
    private let index: IndexPart.Index
    private let sink: EmissionSink
    private var outcome = MappedFeed.Outcome()

    init(place: Int, index: IndexPart.Index) {
        self.place = place
        self.index = index
        sink = EmissionSink(index.definition.coder)
    }

    mutating func map(
        _ id: Span<UInt8>, _ document: Document?, _ item: IndexFeed.Item, _ position: Int
    ) {
        guard item.sequence > index.lastSequence else { return }
        let isNew = index.isNew(item)
        sink.isMeasuring = outcome.isSampleNext
        let ending: EmissionSink.Ending
        if sink.isMeasuring {
            let began = ContinuousClock.now
            ending = index.definition.collect(id, document, in: sink, leavingOutEmpty: isNew)
            outcome.mapping += ContinuousClock.now - began
        } else {
            ending = index.definition.collect(id, document, in: sink, leavingOutEmpty: isNew)
        }
        if case .failed(let error) = ending {
            outcome.failures.append((outcome.positions.count, "\(error)"))
        }
        if case .leftOut = ending {
            outcome.note(position, isKept: false)
        } else {
            outcome.note(position, isKept: true)
        }
    }

    /// The outcomes of mapping the documents.
    func finished() -> MappedFeed.Outcome {
        var outcome = outcome
        outcome.emissions = sink.takeBatch()
        outcome.encoding = sink.encoding
        outcome.mapping -= sink.encoding
        outcome.scaleSamples()
        return outcome
    }
}
