// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex

/// Documents that have terms which stand as they must: one term, a phrase, or terms near each other.
///
/// They are found for a stretch of documents at a time, which all terms have in memory. Of documents that have all terms the
/// places of the first term are read, and then those of one term after the other, the rarest first, in documents where what
/// was read before stands as it must. For one term no places are read.
final class SequenceMatches: FullTextMatches {
    private let sequence: FullTextPlan.TermSequence
    /// In the order of the sequence.
    private let postings: [any Postings]
    /// The rarest first.
    private let ranked: [any Postings]
    /// The terms behind the first one, the rarest first.
    private let others: [Int]
    /// How many places a term must have near the first one: as many as the sequence has it, which may be the first one.
    private let needed: [Int]
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
    /// The places of the first term in these documents that go with the other terms so far, and where those of each end.
    private var starts: [UInt64] = []
    private var startEnds: [Int] = []
    /// The same of the term that is looked at.
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
        needed = sequence.occurrences
        let counts = postings.map(\.documentCount)
        ranked = postings.indices.sorted { counts[$0] < counts[$1] }.map { [postings] in
            postings[$0]
        }
        others = postings.indices.dropFirst().sorted { counts[$0] < counts[$1] }
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
        starts.removeAll(keepingCapacity: true)
        startEnds.removeAll(keepingCapacity: true)
        try postings[0].readPlaces(found, into: &starts, &startEnds)
        for term in others where !found.isEmpty {
            places.removeAll(keepingCapacity: true)
            ends.removeAll(keepingCapacity: true)
            try postings[term].readPlaces(found, into: &places, &ends)
            keepStarts(of: term)
        }
        counts.removeAll(keepingCapacity: true)
        var before = 0
        for end in startEnds {
            counts.append(UInt64(end - before))
            before = end
        }
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

    /// Drops the places of the first term from which a term does not stand as it must, and documents that have none left.
    private func keepStarts(of term: Int) {
        let (items, places, ends) = (sequence.items, places, ends)
        if let nearness = sequence.nearness {
            // Words that are near each other stand anywhere.
            let most = min(UInt64(clamping: nearness), Self.farthest)
            let count = needed[term]
            Self.keep(&found, &starts, &startEnds, places.span, ends.span, count) { start in
                start - min(start, most)...start + most
            }
        } else {
            let offset = UInt64(items[term].offset - items[0].offset)
            Self.keep(&found, &starts, &startEnds, places.span, ends.span, 1) { start in
                start + offset...start + offset
            }
        }
    }

    @inline(__always)
    private static func keep(
        _ documents: inout [UInt64], _ starts: inout [UInt64], _ startEnds: inout [Int],
        _ places: Span<UInt64>, _ ends: Span<Int>, _ count: Int,
        _ range: (UInt64) -> ClosedRange<UInt64>
    ) {
        var (kept, keptStarts) = (0, 0)
        // How far both have been read: all are read once.
        var (start, read) = (0, 0)
        var ids = documents.mutableSpan
        var all = starts.mutableSpan
        var allEnds = startEnds.mutableSpan
        for document in ids.indices {
            let (startEnd, end) = (allEnds[document], ends[document])
            let before = keptStarts
            while start < startEnd {
                let wanted = range(all[start])
                while read < end, places[read] < wanted.lowerBound { read += 1 }
                guard read < end else { break }
                let last = read + count - 1
                if last < end, places[last] <= wanted.upperBound {
                    all[keptStarts] = all[start]
                    keptStarts += 1
                }
                start += 1
            }
            (start, read) = (startEnd, end)
            guard keptStarts > before else { continue }
            ids[kept] = ids[document]
            allEnds[kept] = keptStarts
            kept += 1
        }
        documents.removeLast(documents.count - kept)
        starts.removeLast(starts.count - keptStarts)
        startEnds.removeLast(startEnds.count - kept)
    }

    /// More than any place is from another.
    private static let farthest = UInt64(1) << 48
}
