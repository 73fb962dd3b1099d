// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// The mapping of bodies where they lie, while they are read: for indexes that need nothing else.
///
/// No document is made, and nothing is copied but the ID and the key that go into the row.
struct LentMapping {
    /// One index and what has been made for it.
    private struct Target {
        /// Which of the part's indexes it is.
        let place: Int
        let function: IndexDefinition.LentMap
        let index: IndexPart.Index
        var outcome = MappedFeed.Outcome()

        mutating func map(
            _ id: Span<UInt8>, _ item: IndexFeed.Item, _ body: Span<UInt8>, at position: Int
        ) {
            guard item.sequence > index.lastSequence else { return }
            let began: ContinuousClock.Instant? = outcome.isSampleNext ? .now : nil
            outcome.emissions.begin(id)
            if body.count > 0, !DocumentID.isDesign(id) { function(body, &outcome.emissions) }
            var isKept = true
            if index.isNew(item) {
                isKept = outcome.emissions.endLeavingOutEmpty()
            } else {
                outcome.emissions.end()
            }
            if let began { outcome.mapping += ContinuousClock.now - began }
            outcome.note(position, isKept: isKept)
        }
    }

    private var targets: [Target] = []
    /// How many documents have passed.
    private var count = 0
    /// The ID of the current document, as an index has it. The ID of a design document is kept as its text.
    private var id: [UInt8] = []

    /// Whether there are indexes that want documents.
    let leavesSome: Bool

    init(_ indexes: [IndexPart.Index]) {
        for (place, index) in indexes.enumerated() {
            guard let function = index.definition.lentMap else { continue }
            targets.append(Target(place: place, function: function, index: index))
        }
        leavesSome = targets.count < indexes.count
    }

    /// Maps the next document, which stands in a row.
    ///
    /// - Parameters:
    ///   - row: The row, for the ID.
    ///   - item: The row's item.
    ///   - body: Its packed body; empty for a tombstone.
    /// - Throws: `MalformedRow`.
    mutating func map(row: Span<UInt8>, _ item: IndexFeed.Item, _ body: Span<UInt8>) throws {
        guard !targets.isEmpty else { return }
        id.removeAll(keepingCapacity: true)
        try RevisionRow.appendRowDocumentID(row, to: &id)
        pass(item, body)
    }

    /// Maps the next document, which stands elsewhere; nil for a tombstone.
    mutating func map(_ id: DocumentID, _ item: IndexFeed.Item, _ document: Document?) {
        self.id.removeAll(keepingCapacity: true)
        RowDocumentID.append(id, to: &self.id)
        guard let document else { return pass(item, [UInt8]().span) }
        document.body.withBytes { pass(item, $0) }
    }

    private mutating func pass(_ item: IndexFeed.Item, _ body: Span<UInt8>) {
        let (id, position) = (id, count)
        for target in targets.indices {
            targets[target].map(id.span, item, body, at: position)
        }
        count += 1
    }

    /// The outcomes of mapping, by index; nil for the indexes that need documents.
    func outcomes(of indexes: Int) -> [MappedFeed.Outcome?] {
        var outcomes = [MappedFeed.Outcome?](repeating: nil, count: indexes)
        for target in targets {
            outcomes[target.place] = target.outcome
            outcomes[target.place]?.scaleSamples()
        }
        return outcomes
    }
}
