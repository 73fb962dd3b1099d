// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex

/// Documents that have terms which stand as they must: one term, a phrase, or terms near each other.
///
/// They are found for a stretch of documents at a time, which all terms have in memory: see ``SequenceStretch``.
final class SequenceMatches: FullTextMatches {
    /// The rarest first.
    private let ranked: [any Postings]
    /// The order in which the places of the terms are read; empty for one term.
    private let order: [PlacedTerm]
    private let weight: Double
    let cost: UInt64
    private(set) var ordinal: UInt64 = 0
    private var stretch = SequenceStretch()
    private var index = 0
    private let flag = CancellationFlag.current
    /// The stretches before this have been looked at.
    private var next: UInt64 = 1

    init(
        _ sequence: FullTextPlan.TermSequence, in index: TextIndexReader, _ scoring: FullTextScoring
    ) throws {
        let isAlone = sequence.items.count == 1
        let postings = try sequence.items.map { item in
            let term = Array(item.term.utf8)
            return item.isPrefix
                ? try index.postings(ofPrefix: term, needsPlaces: !isAlone)
                : try index.postings(of: term)
        }
        let counts = postings.map(\.documentCount)
        let rarestFirst = postings.indices.sorted { counts[$0] < counts[$1] }
        ranked = rarestFirst.map { postings[$0] }
        let needed = sequence.occurrences
        let terms = sequence.items.indices.map { item in
            PlacedTerm(
                postings: postings[item], offset: UInt64(sequence.items[item].offset),
                nearness: sequence.nearness, count: needed[item])
        }
        // What is near the first term is asked of the first term. A phrase may be read from any.
        order =
            isAlone
            ? []
            : sequence.nearness == nil
                ? rarestFirst.map { terms[$0] }
                : [terms[0]] + rarestFirst.filter { $0 > 0 }.map { terms[$0] }
        cost = ranked.first?.documentCount ?? 0
        weight = scoring.weight(of: cost)
        if cost == 0 { ordinal = .max }
    }

    func close() { for postings in ranked { postings.close() } }

    func score(damping: Double) -> Double {
        weight * FullTextScoring.gain(stretch.counts[index], damping: damping)
    }

    func advance(to ordinal: UInt64) throws {
        guard self.ordinal < ordinal else { return }
        while true {
            let found = stretch.documents
            while index < found.count, found[index] < ordinal { index += 1 }
            if index < found.count { return self.ordinal = found[index] }
            guard try findStretch(from: max(next, ordinal)) else { return self.ordinal = .max }
        }
    }

    // MARK: - Stretches

    /// Finds the matches of the next stretch; false when there is none.
    private func findStretch(from start: UInt64) throws -> Bool {
        // Lists may be long that have nothing in common.
        try flag?.check()
        stretch.removeAll()
        index = 0
        guard let range = try commonStretch(from: start) else { return false }
        next = range.upperBound + 1
        try stretch.find(in: range, ranked, order)
        return true
    }

    /// Where the next documents may stand that have all terms: each has a stretch there.
    private func commonStretch(from ordinal: UInt64) throws -> ClosedRange<UInt64>? {
        var (target, last) = (ordinal, UInt64.max)
        var agreed = 0
        while agreed < ranked.count {
            guard let own = try ranked[agreed].seek(target) else { return nil }
            if own.lowerBound > target, agreed > 0 {
                (target, last, agreed) = (own.lowerBound, .max, 0)
            } else {
                target = own.lowerBound
                last = min(last, own.upperBound)
                agreed += 1
            }
        }
        return target...max(target, last)
    }
}
