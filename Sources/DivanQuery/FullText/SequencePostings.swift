// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex

/// The documents that have several terms which stand as they must, as if these were one term: a phrase, or phrases near each
/// other. Its places are those of the first term.
///
/// They are found for a stretch of documents at a time, which all terms have in memory: see ``SequenceStretch``.
final class SequencePostings: Postings {
    /// The rarest first.
    private let ranked: [any Postings]
    /// The order in which the places of the terms are read.
    private let order: [PlacedTerm]
    /// How far the term that is read first stands behind the first one.
    private let lead: UInt64
    /// As many as the rarest term has, of which some match.
    let documentCount: UInt64
    private var stretch = SequenceStretch()
    private var index = 0
    private let flag = CancellationFlag.current
    /// The stretches before this have been looked at.
    private var next: UInt64 = 1

    private init(ranked: [any Postings], order: [PlacedTerm], lead: UInt64) {
        (self.ranked, self.order, self.lead) = (ranked, order, lead)
        documentCount = ranked.first?.documentCount ?? 0
    }

    /// Finds terms that stand at their offsets, which may be read in any order: the rarest first.
    convenience init(phrase terms: [(postings: any Postings, offset: Int)]) {
        let ranked = terms.sorted { $0.postings.documentCount < $1.postings.documentCount }
        let first = terms.first?.offset ?? 0
        let lead = UInt64((ranked.first?.offset ?? 0) - first)
        self.init(
            ranked: ranked.map(\.postings),
            order: ranked.map {
                PlacedTerm(postings: $0.postings, lead: lead, shift: UInt64($0.offset - first))
            }, lead: lead)
    }

    /// Finds phrases near the first one of them.
    ///
    /// - Parameters:
    ///   - phrases: Each with how far its last word stands behind its first, and with how often it is asked for.
    ///   - distance: How many words there may be from one to the other, the last of which counts.
    convenience init(
        near phrases: [(postings: any Postings, length: UInt64, count: Int)],
        within distance: UInt64
    ) {
        let terms = phrases.map { phrase in
            PlacedTerm(
                postings: phrase.postings, before: distance + phrase.length,
                after: distance + (phrases.first?.length ?? 0), count: phrase.count)
        }
        let others = terms.dropFirst().sorted {
            $0.postings.documentCount < $1.postings.documentCount
        }
        self.init(
            ranked: terms.map(\.postings).sorted { $0.documentCount < $1.documentCount },
            order: terms.prefix(1) + others, lead: 0)
    }

    func close() { for postings in ranked { postings.close() } }

    func seek(_ ordinal: UInt64) throws -> ClosedRange<UInt64>? {
        while true {
            let found = stretch.documents
            index = firstIndex(in: found.span, from: index, notBelow: ordinal)
            if index < found.count { return found[index]...found[found.count - 1] }
            guard try findStretch(from: max(next, ordinal)) else { return nil }
        }
    }

    func append(
        _ range: ClosedRange<UInt64>, to ordinals: inout [UInt64], _ frequencies: inout [UInt64]
    ) {
        let (found, ends) = (stretch.documents, stretch.startEnds)
        let first = firstIndex(in: found.span, from: index, notBelow: range.lowerBound)
        var before = first > 0 ? ends[first - 1] : 0
        for place in first..<found.count where found[place] <= range.upperBound {
            ordinals.append(found[place])
            frequencies.append(UInt64(ends[place] - before))
            before = ends[place]
        }
    }

    func filter(_ ordinals: inout [UInt64]) {
        let found = stretch.documents
        keep(&ordinals, in: found.span, from: index)
    }

    func readPlaces(_ ordinals: [UInt64], into places: inout [UInt64], _ ends: inout [Int]) {
        let (found, starts, startEnds) = (stretch.documents, stretch.starts, stretch.startEnds)
        var place = index
        for ordinal in ordinals {
            place = firstIndex(in: found.span, from: place, notBelow: ordinal)
            for start in (place > 0 ? startEnds[place - 1] : 0)..<startEnds[place] {
                places.append(starts[start] - lead)
            }
            ends.append(places.count)
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
