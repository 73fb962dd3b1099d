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
        /// What they emit; nothing of those that the index has seen.
        var emissions = EmissionBatch()
        /// Which item each document of the batch is.
        var positions: [Int] = []
        /// The documents that failed, by their place in the batch, and why.
        var failures: [(place: Int, reason: String)] = []
        /// The time that all cores spent in the map function, without the encoding of its emissions.
        var mapping = Duration.zero
        /// The time that all cores spent encoding keys and values.
        var encoding = Duration.zero

        /// Adds the outcome of the items that follow.
        mutating func append(_ other: Outcome, offset: Int) {
            let place = emissions.count
            emissions.append(other.emissions)
            for position in other.positions { positions.append(offset + position) }
            for failure in other.failures {
                failures.append((place + failure.place, failure.reason))
            }
            mapping += other.mapping
            encoding += other.encoding
        }
    }

    private static let chunkSize = 256
    /// Asking for the time costs about as much as encoding a short key, so one document in so many
    /// stands for all.
    private static let sampling = 16

    /// Maps the documents and adds the outcomes, by index, to those of the documents before.
    func run(adding whole: inout [Outcome], offset: Int) {
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
        var mapped = outcomes.withLock { $0 }
        for chunk in 0..<chunks {
            // Taken out, so that each part is freed when it has been added.
            for (index, part) in (mapped.removeValue(forKey: chunk) ?? []).enumerated() {
                whole[index].append(part, offset: offset + chunk * Self.chunkSize)
            }
        }
    }

    private static func map(
        _ items: ArraySlice<IndexFeed.Item>, _ definition: IndexDefinition,
        after sequence: SequenceNumber
    ) -> Outcome {
        var outcome = Outcome()
        outcome.positions.reserveCapacity(items.count)
        let sink = EmissionSink(definition.coder)
        let began = ContinuousClock.now
        for (number, item) in items.enumerated() where item.sequence > sequence {
            sink.isMeasuring = number.isMultiple(of: sampling)
            if let error = definition.collect(item.id, item.document, in: sink) {
                outcome.failures.append((outcome.positions.count, "\(error)"))
            }
            outcome.positions.append(number)
        }
        let all = ContinuousClock.now - began
        outcome.emissions = sink.takeBatch()
        // A sample may be unlucky.
        outcome.encoding = min(sink.encoding * sampling, all)
        outcome.mapping = all - outcome.encoding
        return outcome
    }
}

/// Tells whether the calling code runs inside a map or reduce function, which must not write.
enum MapGuard {
    @TaskLocal static var isMapping = false
}
