// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Maps documents in the order of the feed: each for one index after the other, while it is in the
/// processor's caches.
///
/// Indexes that need a body alone are lent it where it lies, while it is read. No document is made for
/// them, and nothing is copied but the ID and the key that go into the row. All others get documents.
struct IndexMapper {
    /// One index and the rows that were made for it.
    private struct Output {
        /// Which of the part's indexes it is.
        let place: Int
        let index: OutdatedIndex
        let lentMap: IndexDefinition.LentMap?
        let remembersSequences: Bool
        let sink: EmissionSink
        var rows = IndexPart.Rows()
        private let start = ContinuousClock.now

        init(_ place: Int, _ index: OutdatedIndex) {
            self.place = place
            self.index = index
            lentMap = index.definition.makeLentMap?()
            remembersSequences = index.definition.remembersSequences
            sink = EmissionSink(index.definition.coder)
            rows.emissions.leadsWithPartition = index.definition.isPartitioned
        }

        mutating func map(
            _ id: Span<UInt8>, _ item: IndexPart.Item, _ position: Int, _ body: Span<UInt8>
        ) {
            guard begin(id, item, at: item.sequence) else { return }
            if body.count > 0, !DocumentID.isDesign(id) { lentMap?(body, &rows.emissions) }
            end(item, position)
        }

        mutating func map(
            _ id: Span<UInt8>, _ item: IndexPart.Item, _ position: Int, _ document: Document?,
            _ answers: GroupAnswers?
        ) {
            guard begin(id, item, at: document?.sequence ?? 0) else { return }
            guard let document, index.definition.maps(id, document) else {
                return end(item, position)
            }
            if let lentMap {
                document.body.withBytes { lentMap($0, &rows.emissions) }
                return end(item, position)
            }
            sink.isMeasuring = rows.isSampleNext
            do {
                if let group = index.definition.group, let answers {
                    try sink.collect(answers.rows(of: group, position), into: &rows.emissions)
                } else {
                    try sink.collect(document, by: index.definition, into: &rows.emissions)
                }
                end(item, position)
            } catch { end(item, position, failedWith: error) }
        }

        private var elapsed: Duration { ContinuousClock.now - start }

        /// Begins a document; false when the index has seen it.
        private mutating func begin(
            _ id: Span<UInt8>, _ item: IndexPart.Item, at sequence: SequenceNumber
        ) -> Bool {
            guard item.sequence > index.record.lastSequence else { return false }
            // The time of a sample is subtracted here and added at its end. To keep an optional instant
            // would cost each document more than all the rest of this.
            if rows.isSampleNext { rows.mapping -= elapsed }
            rows.emissions.begin(id, sequence: remembersSequences ? sequence : nil)
            return true
        }

        private mutating func end(
            _ item: IndexPart.Item, _ position: Int, failedWith error: (any Error)? = nil
        ) {
            var isKept = true
            if error != nil {
                rows.emissions.endWithoutRows()
            } else if index.isNew(item) {
                isKept = rows.emissions.endLeavingOutEmpty()
            } else {
                rows.emissions.end()
            }
            if rows.isSampleNext { rows.mapping += elapsed }
            if let error { rows.failures.append((rows.positions.count, "\(error)")) }
            rows.count += 1
            if isKept { rows.positions.append(position) }
        }

        /// The rows, when all documents have been mapped.
        var finished: IndexPart.Rows {
            var rows = rows
            rows.encoding = sink.encoding
            rows.mapping -= sink.encoding
            rows.scaleSamples()
            return rows
        }
    }

    private var outputs: [Output] = []
    /// What groups of views have made of the documents.
    private let answers: GroupAnswers?
    /// How many documents have passed.
    private var count = 0
    /// The ID of the current document, as an index has it. The ID of a design document is kept as its text.
    private var id: [UInt8] = []

    /// - Parameters:
    ///   - indexes: The indexes of a part.
    ///   - areLent: Whether it maps for those that are lent bodies, or for those that need documents.
    ///   - answers: What groups of views have made of the documents.
    init(_ indexes: [OutdatedIndex], areLent: Bool, _ answers: GroupAnswers? = nil) {
        self.answers = answers
        for (place, index) in indexes.enumerated()
        where (index.definition.makeLentMap != nil) == areLent {
            outputs.append(Output(place, index))
        }
    }

    /// Maps the next document, whose body is lent from a row.
    ///
    /// - Parameters:
    ///   - row: The row, for the ID.
    ///   - item: The row's item.
    ///   - body: Its packed body; empty for a tombstone.
    /// - Throws: `MalformedRow`.
    mutating func map(row: Span<UInt8>, _ item: IndexPart.Item, _ body: Span<UInt8>) throws {
        guard !outputs.isEmpty else { return }
        id.removeAll(keepingCapacity: true)
        try RevisionRow.appendRowDocumentID(row, to: &id)
        lend(body, item)
    }

    /// Maps the next document, which stands elsewhere or is needed whole; nil for a tombstone.
    mutating func map(_ document: Document?, _ documentID: DocumentID, _ item: IndexPart.Item) {
        id.removeAll(keepingCapacity: true)
        RowDocumentID.append(documentID, to: &id)
        let (id, count) = (id, count)
        for output in outputs.indices {
            outputs[output].map(id.span, item, count, document, answers)
        }
        self.count += 1
    }

    private mutating func lend(_ body: Span<UInt8>, _ item: IndexPart.Item) {
        let (id, count) = (id, count)
        for output in outputs.indices { outputs[output].map(id.span, item, count, body) }
        self.count += 1
    }

    /// Hands over the rows of its indexes.
    func finish(into rows: inout [IndexPart.Rows]) {
        for output in outputs { rows[output.place] = output.finished }
    }
}
