// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// Adds up what the records of documents say: documents, words, and fields that have words.
///
///     [documents, words, fields]
struct SearchTotals: ViewReducer {
    func reduce(keys: [[UInt8]], values: [PackedValue]) -> PackedValue {
        var (documents, words, fields) = (Int64(0), Int64(0), Int64(0))
        for value in values {
            guard let counts = value["w"] else { continue }
            documents += 1
            words &+= counts[0]?.int64 ?? 0
            fields &+= counts[1]?.int64 ?? 0
        }
        return PackedValue([.integer(documents), .integer(words), .integer(fields)])
    }

    func rereduce(_ values: [PackedValue]) -> PackedValue {
        let sums = (0..<3).map { index in
            values.reduce(Int64(0)) { $0 &+ ($1[index]?.int64 ?? 0) }
        }
        return PackedValue(.array(sums.map { .integer($0) }))
    }
}

/// How much a match counts: BM25 for words, as in ``FullTextScoring``, and 1 for all else.
struct SearchScoring: Sendable {
    private let documents: Double
    private let meanLength: Double
    /// Whether scores tell nothing of documents that did not match, for a user who may not see all.
    private let isBlind: Bool

    /// - Parameters:
    ///   - totals: What ``SearchTotals`` has added up; nil for an empty index.
    ///   - isBlind: Whether to leave out how many documents have a word.
    init(_ totals: JSONValue?, isBlind: Bool) {
        documents = totals?[0]?.double ?? 0
        let (words, fields) = (totals?[1]?.double ?? 0, totals?[2]?.double ?? 0)
        meanLength = fields > 0 && words > 0 ? words / fields : 1
        self.isBlind = isBlind
    }

    /// How much it counts that a document has something which a number of documents have.
    func weight(of count: Int) -> Double {
        isBlind ? 1 : FullTextScoring.weight(of: UInt64(clamping: count), among: documents)
    }

    /// How much it counts that a field of a length has something so often.
    func gain(_ count: Int, length: Int) -> Double {
        let weight = FullTextScoring.lengthWeight
        let relative = isBlind ? 1 : Double(length) / meanLength
        return FullTextScoring.gain(
            UInt64(clamping: count),
            damping: FullTextScoring.saturation * (1 - weight + weight * relative))
    }
}
