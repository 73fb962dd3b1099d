// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

/// The documents of a stretch in which terms stand as they must, and how often.
///
/// Of documents that have all terms the places of one term are read, and then those of one term after the other, the rarest
/// first, in documents where what was read before stands as it must. For one term no places are read.
struct SequenceStretch {
    private(set) var documents: [UInt64] = []
    /// How often the terms stand so in each.
    private(set) var counts: [UInt64] = []
    /// The places of the term that is read first, in these documents, that go with the other terms so far, and where those of
    /// each document end.
    private var starts: [UInt64] = []
    private var startEnds: [Int] = []
    /// The same of the term that is looked at.
    private var places: [UInt64] = []
    private var ends: [Int] = []

    /// Finds the documents of a range, which all terms have in memory.
    ///
    /// - Parameters:
    ///   - range: Their ordinals.
    ///   - postings: The postings of the terms, the rarest first.
    ///   - order: The terms in the order in which their places are read.
    /// - Throws: `IndexCorruption`.
    mutating func find(
        in range: ClosedRange<UInt64>, _ postings: [any Postings], _ order: [PlacedTerm]
    ) throws {
        removeAll()
        postings[0].append(range, to: &documents, &counts)
        guard let first = order.first, postings.count > 1 else { return }
        for index in 1..<postings.count { postings[index].filter(&documents) }
        try first.postings.readPlaces(documents, into: &starts, &startEnds)
        for term in order.dropFirst() where !documents.isEmpty {
            places.removeAll(keepingCapacity: true)
            ends.removeAll(keepingCapacity: true)
            try term.postings.readPlaces(documents, into: &places, &ends)
            keepStarts(of: term, beside: first)
        }
        counts.removeAll(keepingCapacity: true)
        var before = 0
        for end in startEnds {
            counts.append(UInt64(end - before))
            before = end
        }
    }

    mutating func removeAll() {
        documents.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        startEnds.removeAll(keepingCapacity: true)
    }

    /// Drops the places of the first term from which a term does not stand as it must, and documents that have none left.
    private mutating func keepStarts(of term: PlacedTerm, beside first: PlacedTerm) {
        let (places, ends) = (places, ends)
        if let nearness = term.nearness {
            // Words that are near each other stand anywhere.
            let most = min(UInt64(clamping: nearness), Self.farthest)
            Self.keep(&documents, &starts, &startEnds, places.span, 0, ends.span, term.count) {
                start in start - min(start, most)...start + most
            }
        } else {
            // Either may stand before the other, so both places are told from where the phrase begins.
            let lead = first.offset
            Self.keep(&documents, &starts, &startEnds, places.span, lead, ends.span, 1) {
                start in start + term.offset...start + term.offset
            }
        }
    }

    /// Keeps the places around which enough places of another term stand, to which a lead is added.
    @inline(__always)
    private static func keep(
        _ documents: inout [UInt64], _ starts: inout [UInt64], _ startEnds: inout [Int],
        _ places: Span<UInt64>, _ lead: UInt64, _ ends: Span<Int>, _ count: Int,
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
                while read < end, places[read] + lead < wanted.lowerBound { read += 1 }
                guard read < end else { break }
                let last = read + count - 1
                if last < end, places[last] + lead <= wanted.upperBound {
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

/// A term of a sequence, and how it must stand.
struct PlacedTerm {
    let postings: any Postings
    /// Where it stands in a phrase.
    let offset: UInt64
    /// How far from the first one it may stand; nil in a phrase.
    let nearness: Int?
    /// How many places it must have that near: as many as the sequence has it, which may be the first one.
    let count: Int
}
