// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanIndex
internal import DivanModel
internal import Synchronization

/// The mapping of one piece: each document by each index that has not seen it, on all cores.
struct IndexMapping {
    let items: [IndexFeed.Item]
    let indexes: [(definition: IndexDefinition, lastSequence: SequenceNumber)]

    /// What became of the documents, for one index.
    struct Outcome: Sendable {
        /// In the order of the documents; nil where the index has seen the document.
        var results: [Result<Emissions, any Error>?] = []
        /// The time that all cores spent in the map function, without the encoding of its emissions.
        var mapping = Duration.zero
        /// The time that all cores spent encoding keys and values.
        var encoding = Duration.zero
    }

    private static let chunkSize = 256
    /// Asking for the time costs about as much as encoding a short key, so one document in so many
    /// stands for all.
    private static let sampling = 16

    /// The outcomes by index.
    func run() -> [Outcome] {
        let chunks = (items.count + Self.chunkSize - 1) / Self.chunkSize
        let outcomes = Mutex<[Int: [Outcome]]>([:])
        let (items, indexes) = (items, indexes)
        DispatchQueue.concurrentPerform(iterations: chunks) { chunk in
            let start = chunk * Self.chunkSize
            let piece = items[start..<min(start + Self.chunkSize, items.count)]
            let mapped = MapGuard.$isMapping.withValue(true) {
                indexes.map { Self.map(piece, $0.definition, after: $0.lastSequence) }
            }
            outcomes.withLock { $0[chunk] = mapped }
        }
        let mapped = outcomes.withLock { $0 }
        return indexes.indices.map { index in
            (0..<chunks).reduce(into: Outcome()) { whole, chunk in
                guard let part = mapped[chunk]?[index] else { return }
                whole.results += part.results
                whole.mapping += part.mapping
                whole.encoding += part.encoding
            }
        }
    }

    private static func map(
        _ items: ArraySlice<IndexFeed.Item>, _ definition: IndexDefinition,
        after sequence: SequenceNumber
    ) -> Outcome {
        var outcome = Outcome()
        outcome.results.reserveCapacity(items.count)
        let began = ContinuousClock.now
        for (number, item) in items.enumerated() {
            guard item.sequence > sequence else {
                outcome.results.append(nil)
                continue
            }
            guard number.isMultiple(of: sampling) else {
                outcome.results.append(definition.emissions(of: item.document))
                continue
            }
            outcome.results.append(
                definition.emissions(of: item.document) { outcome.encoding += $0 * sampling })
        }
        let all = ContinuousClock.now - began
        // A sample may be unlucky.
        outcome.encoding = min(outcome.encoding, all)
        outcome.mapping = all - outcome.encoding
        return outcome
    }
}

/// Tells whether the calling code runs inside a map or reduce function, which must not write.
enum MapGuard {
    @TaskLocal static var isMapping = false
}
