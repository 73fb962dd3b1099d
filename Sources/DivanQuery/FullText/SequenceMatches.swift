// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
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
    private let flag = CancellationFlag.current
    /// The stretches before this have been looked at.
    private var next: UInt64 = 1
    /// Where each term stands in the documents that have all, term by term.
    private var places: [UInt64] = []
    private var ends: [Int] = []

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
        // Lists may be long that have nothing in common.
        try flag?.check()
        found.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        index = 0
        guard let stretch = try commonStretch(from: start) else { return false }
        next = stretch.upperBound + 1
        ranked[0].append(stretch, to: &found, &counts)
        guard ranked.count > 1 else { return true }
        for postings in ranked.dropFirst() { postings.filter(&found) }
        guard !found.isEmpty else { return true }
        places.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        for postings in postings { try postings.readPlaces(found, into: &places, &ends) }
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
        let nearness = sequence.nearness.map { min(UInt64(clamping: $0), Self.farthest) }
        // Words that are near each other stand anywhere: their offsets are those in texts of their own.
        let start = sequence.items[0].offset
        let offsets = sequence.items.map { nearness == nil ? UInt64($0.offset - start) : 0 }
        let (found, places, ends) = (found, places, ends)
        // How far the places of each term have been read: all are read once.
        var read = postings.indices.map { $0 == 0 ? 0 : ends[$0 * found.count - 1] }
        var kept: [UInt64] = []
        counts.removeAll(keepingCapacity: true)
        for document in found.indices {
            var count: UInt64 = 0
            while read[0] < ends[document] {
                let place = places[read[0]]
                read[0] += 1
                var isThere = true
                for term in 1..<offsets.count where isThere {
                    let end = ends[term * found.count + document]
                    var (first, last) = (place + offsets[term], place + offsets[term])
                    if let nearness {
                        (first, last) = (place - min(place, nearness), place + nearness)
                    }
                    var next = read[term]
                    while next < end, places[next] < first { next += 1 }
                    read[term] = next
                    isThere = next < end && places[next] <= last
                }
                if isThere { count += 1 }
            }
            for term in 1..<offsets.count { read[term] = ends[term * found.count + document] }
            guard count > 0 else { continue }
            kept.append(found[document])
            counts.append(count)
        }
        self.found = kept
    }

    /// More than any place is from another.
    private static let farthest = UInt64(1) << 48
}
