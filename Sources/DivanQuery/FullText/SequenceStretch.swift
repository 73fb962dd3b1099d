// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

/// The documents of a stretch in which terms stand as they must, and where.
///
/// Of documents that have all terms the places of one term are read, and then those of one term after the other, the rarest
/// first, in documents where what was read before stands as it must.
struct SequenceStretch {
    private(set) var documents: [UInt64] = []
    /// The places of the term that is read first, in these documents, that go with the other terms so far.
    private(set) var starts: [UInt64] = []
    /// Where those of each document end.
    private(set) var startEnds: [Int] = []
    /// The same of the term that is looked at.
    private var places: [UInt64] = []
    private var ends: [Int] = []
    /// How often each document has the rarest term, which is not asked for.
    private var frequencies: [UInt64] = []

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
        postings[0].append(range, to: &documents, &frequencies)
        for index in 1..<postings.count { postings[index].filter(&documents) }
        try order[0].postings.readPlaces(documents, into: &starts, &startEnds)
        for term in order.dropFirst() where !documents.isEmpty {
            places.removeAll(keepingCapacity: true)
            ends.removeAll(keepingCapacity: true)
            try term.postings.readPlaces(documents, into: &places, &ends)
            let (places, ends) = (places, ends)
            Self.keep(&documents, &starts, &startEnds, places.span, ends.span, term)
        }
    }

    mutating func removeAll() {
        documents.removeAll(keepingCapacity: true)
        frequencies.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        startEnds.removeAll(keepingCapacity: true)
    }

    /// Drops the places of the first term from which another term does not stand as it must, and documents that have none left.
    private static func keep(
        _ documents: inout [UInt64], _ starts: inout [UInt64], _ startEnds: inout [Int],
        _ places: Span<UInt64>, _ ends: Span<Int>, _ term: PlacedTerm
    ) {
        let (lead, shift, before, after) = (term.lead, term.shift, term.before, term.after)
        var (kept, keptStarts) = (0, 0)
        // How far both have been read: all are read once.
        var (start, read) = (0, 0)
        var ids = documents.mutableSpan
        var all = starts.mutableSpan
        var allEnds = startEnds.mutableSpan
        for document in ids.indices {
            let (startEnd, end) = (allEnds[document], ends[document])
            let first = keptStarts
            while start < startEnd {
                let wanted = all[start] + shift
                let lowest = wanted - min(wanted, before)
                while read < end, places[read] + lead < lowest { read += 1 }
                guard read < end else { break }
                let last = read + term.count - 1
                if last < end, places[last] + lead <= wanted + after {
                    all[keptStarts] = all[start]
                    keptStarts += 1
                }
                start += 1
            }
            (start, read) = (startEnd, end)
            guard keptStarts > first else { continue }
            ids[kept] = ids[document]
            allEnds[kept] = keptStarts
            kept += 1
        }
        documents.removeLast(documents.count - kept)
        starts.removeLast(starts.count - keptStarts)
        startEnds.removeLast(startEnds.count - kept)
    }
}

/// A term of a sequence, and where it must stand beside the one that is read first.
///
/// Of a place p of that one and a place q of this one, q + lead is at most so much before p + shift, or after it.
struct PlacedTerm {
    let postings: any Postings
    var lead: UInt64 = 0
    var shift: UInt64 = 0
    var before: UInt64 = 0
    var after: UInt64 = 0
    /// How many such places it must have.
    var count = 1
}
