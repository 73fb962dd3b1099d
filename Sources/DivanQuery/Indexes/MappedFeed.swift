// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanModel

/// Mapped documents: which they are, and what each index's map made of them.
struct MappedFeed: Sendable {
    /// The outcome of mapping the documents for one index.
    struct Outcome: Sendable {
        /// What they emit. Documents that the index has seen are not in it; for a new index only those
        /// that emit something are.
        var emissions = EmissionBatch()
        /// How many documents were mapped.
        var count = 0
        /// Which item each document of the batch is.
        var positions: [Int] = []
        /// The documents that failed, by their place in the batch, and why.
        var failures: [(place: Int, reason: String)] = []
        /// The time that all cores spent in the map function, without the encoding of its emissions; at
        /// first of the samples only, until they are scaled.
        var mapping = Duration.zero
        /// The time that all cores spent encoding keys and values.
        var encoding = Duration.zero

        /// Asking for the time costs about as much as encoding a short key, so the times of one
        /// document in this many stand for all.
        private static let sampling = 16

        /// Whether the time that the next document takes is to be measured.
        var isSampleNext: Bool { count.isMultiple(of: Self.sampling) }

        /// Notes that a document was mapped.
        ///
        /// - Parameters:
        ///   - position: Which item it is.
        ///   - isKept: Whether it is in the batch.
        mutating func note(_ position: Int, isKept: Bool) {
            count += 1
            if isKept { positions.append(position) }
        }

        /// Makes the times of the samples those of all documents.
        mutating func scaleSamples() {
            let samples = (count + Self.sampling - 1) / Self.sampling
            guard samples > 0 else { return }
            mapping = mapping * count / samples
            encoding = encoding * count / samples
        }

        /// Adds the outcome of the items that follow.
        mutating func append(_ other: Outcome, offset: Int) {
            let place = emissions.count
            count += other.count
            emissions.append(other.emissions)
            for position in other.positions { positions.append(offset + position) }
            for failure in other.failures {
                failures.append((place + failure.place, failure.reason))
            }
            mapping += other.mapping
            encoding += other.encoding
        }
    }

    var items: [IndexFeed.Item] = []
    /// By index.
    var outcomes: [Outcome]
    /// Every change up to here is in it.
    var lastSequence: SequenceNumber = 0
    /// Where the database stood when the last part was read.
    var seen: SequenceNumber = 0
    /// The bytes of the bodies of the documents.
    var bytes = 0

    /// Makes one for a number of indexes.
    init(indexes: Int) {
        outcomes = Array(repeating: Outcome(), count: indexes)
    }

    /// Makes room for a multiple of what it has.
    mutating func makeRoom(times factor: Double) {
        items.reserveCapacity(Int(Double(items.count) * factor))
        for index in outcomes.indices {
            outcomes[index].emissions.makeRoom(times: factor)
            outcomes[index].positions.reserveCapacity(
                Int(Double(outcomes[index].positions.count) * factor))
        }
    }

    /// Adds the documents that follow.
    mutating func append(_ other: MappedFeed) {
        for index in outcomes.indices {
            outcomes[index].append(other.outcomes[index], offset: items.count)
        }
        items += other.items
        lastSequence = other.lastSequence
        seen = max(seen, other.seen)
        bytes += other.bytes
    }
}
