// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import DivanIndex

/// BM25: a document counts for more the more often it has a term, the rarer the term is among all documents, and the
/// shorter the document is. A phrase is as rare as the rarest of its words, and the beginning of a word as all terms
/// with it, added up.
struct FullTextScoring: Sendable {
    /// The usual constants: how soon more of a term stops mattering, and how much length does.
    static let saturation = 1.2
    static let lengthWeight = 0.75

    private let documentCount: Double
    private let meanLength: Double

    init(_ totals: TextIndexTotals) {
        documentCount = Double(totals.documents)
        meanLength = totals.documents > 0 ? Double(totals.words) / Double(totals.documents) : 1
    }

    /// How much it counts that a document has something which a number of documents have.
    func weight(of count: UInt64) -> Double {
        Self.weight(of: count, among: documentCount)
    }

    /// The same among a number of documents.
    static func weight(of count: UInt64, among documents: Double) -> Double {
        // A beginning may be in more terms of documents than there are documents.
        log(1 + max(0, documents - Double(count) + 0.5) / (Double(count) + 0.5))
    }

    /// What the length of a document does to its scores.
    func damping(length: UInt64) -> Double {
        let weight = Self.lengthWeight
        return Self.saturation * (1 - weight + weight * Double(length) / meanLength)
    }

    /// How much it counts that a document has something so often.
    static func gain(_ count: UInt64, damping: Double) -> Double {
        Double(count) * (saturation + 1) / (Double(count) + damping)
    }
}
