// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

/// Documents that have terms which stand as they must: one term, a phrase, or terms near each other.
///
/// They are found for a stretch of documents at a time, which all terms have in memory. The places of terms are read in
/// documents that have all of them, and for one term not at all.
final class SequenceMatches: FullTextMatches {
    private let sequence: FullTextPlan.TermSequence
    /// In the order of the sequence.
    private let postings: [any Postings]
    /// The rarest first.
    private let ranked: [any Postings]
    private let weight: Double
    let cost: UInt64
    private(set) var ordinal: UInt64 = 0
    /// The documents of the stretch that match, and how often.
    private var found: [UInt64] = []
    private var counts: [UInt64] = []
    private var index = 0
    /// The stretches before this have been looked at.
    private var next: UInt64 = 1
    /// Where each term stands in the documents that have all.
    private var places: [[UInt64]]
    private var ends: [[Int]]

    init(
        _ sequence: FullTextPlan.TermSequence, in index: TextIndexReader, _ scoring: FullTextScoring
    ) throws {
        self.sequence = sequence
        let isAlone = sequence.items.count == 1
        postings = try sequence.items.map { item in
            let term = Array(item.term.utf8)
            return item.isPrefix
                ? try index.postings(ofPrefix: term, needsPlaces: !isAlone)
                : try index.postings(of: term)
        }
        ranked = postings.sorted { $0.documentCount < $1.documentCount }
        cost = ranked.first?.documentCount ?? 0
        weight = scoring.weight(of: cost)
        places = Array(repeating: [], count: postings.count)
        ends = Array(repeating: [], count: postings.count)
        if cost == 0 { ordinal = .max }
    }

    func close() { for postings in postings { postings.close() } }

    func score(damping: Double) -> Double {
        weight * FullTextScoring.gain(counts[index], damping: damping)
    }

    func advance(to ordinal: UInt64) throws {
        guard self.ordinal < ordinal else { return }
        while true {
            let found = found
            while index < found.count, found[index] < ordinal { index += 1 }
            if index < found.count { return self.ordinal = found[index] }
            guard try findStretch(from: max(next, ordinal)) else { return self.ordinal = .max }
        }
    }

    // MARK: - Stretches

    /// Finds the matches of the next stretch; false when there is none.
    private func findStretch(from start: UInt64) throws -> Bool {
        found.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        index = 0
        guard let stretch = try commonStretch(from: start) else { return false }
        next = stretch.upperBound + 1
        ranked[0].append(stretch, to: &found, &counts)
        guard ranked.count > 1 else { return true }
        for postings in ranked.dropFirst() { postings.filter(&found) }
        guard !found.isEmpty else { return true }
        for place in postings.indices {
            try postings[place].readPlaces(found, into: &places[place], &ends[place])
        }
        count()
        return true
    }

    /// Where the next documents may stand that have all terms: each has a stretch there.
    private func commonStretch(from ordinal: UInt64) throws -> ClosedRange<UInt64>? {
        var (target, last) = (ordinal, UInt64.max)
        var agreed = 0
        while agreed < ranked.count {
            guard let stretch = try ranked[agreed].seek(target) else { return nil }
            if stretch.lowerBound > target, agreed > 0 {
                (target, last, agreed) = (stretch.lowerBound, .max, 0)
            } else {
                target = stretch.lowerBound
                last = min(last, stretch.upperBound)
                agreed += 1
            }
        }
        return target...max(target, last)
    }

    // MARK: - Places

    /// Counts how often the terms stand as they must in each document, and drops those in which they do not.
    private func count() {
        let nearness = sequence.nearness.map { UInt64(clamping: $0) }
        let start = sequence.items[0].offset
        let offsets = sequence.items.map { UInt64($0.offset - start) }
        var starts = [Int](repeating: 0, count: places.count)
        var (kept, found) = (0, found)
        counts.removeAll(keepingCapacity: true)
        for document in found.indices {
            var count: UInt64 = 0
            let end = ends[0][document]
            var read = starts
            for first in starts[0]..<end {
                let place = places[0][first]
                var isThere = true
                for term in 1..<places.count where isThere {
                    let range =
                        nearness.map { (place > $0 ? place - $0 : 0)...(place &+ min($0, 1 << 50)) }
                        ?? (place + offsets[term])...(place + offsets[term])
                    let end = ends[term][document]
                    while read[term] < end, places[term][read[term]] < range.lowerBound {
                        read[term] += 1
                    }
                    isThere = read[term] < end && places[term][read[term]] <= range.upperBound
                }
                if isThere { count += 1 }
            }
            for term in starts.indices { starts[term] = ends[term][document] }
            guard count > 0 else { continue }
            found[kept] = found[document]
            counts.append(count)
            kept += 1
        }
        found.removeLast(found.count - kept)
        self.found = found
    }
}
