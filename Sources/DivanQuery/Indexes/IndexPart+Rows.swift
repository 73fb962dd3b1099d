// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

extension IndexPart {
    /// What one index's map made of the documents.
    struct Rows: Sendable {
        /// What they emit. Documents that the index has seen are not in it; for a new index only those
        /// that emit something are.
        var emissions = EmissionBatch()
        /// How many documents were mapped.
        var count = 0
        /// Which item each document of the emissions is.
        var positions: [Int] = []
        /// The documents that failed, by their place in the emissions, and why.
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

        /// Makes the times of the samples those of all documents.
        mutating func scaleSamples() {
            let samples = (count + Self.sampling - 1) / Self.sampling
            guard samples > 0 else { return }
            mapping = mapping * count / samples
            encoding = encoding * count / samples
        }

        /// Adds the rows of the items that follow.
        mutating func append(_ other: Rows, offset: Int) {
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

        /// Makes room for a multiple of what it has.
        mutating func makeRoom(times factor: Double) {
            emissions.makeRoom(times: factor)
            positions.reserveCapacity(Int(Double(positions.count) * factor))
        }
    }
}
