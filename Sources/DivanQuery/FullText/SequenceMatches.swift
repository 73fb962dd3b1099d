// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

/// Documents that have terms which stand as they must: one term, a phrase, or terms near each other.
///
/// The places of terms are read in documents that have all of them, and for one term not at all.
final class SequenceMatches: FullTextMatches {
    private let sequence: FullTextPlan.TermSequence
    /// In the order of the sequence.
    private let postings: [any Postings]
    /// The rarest first.
    private let ranked: [any Postings]
    private let weight: Double
    let cost: UInt64
    private(set) var ordinal: UInt64 = 0
    /// How often the terms stand so in the document.
    private var count: UInt64 = 0
    /// Where each stands in the document.
    private var places: [[UInt64]]

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
        if cost == 0 { ordinal = .max }
    }

    func close() { for postings in postings { postings.close() } }

    func score(damping: Double) -> Double {
        weight * FullTextScoring.gain(count, damping: damping)
    }

    func advance(to ordinal: UInt64) throws {
        guard self.ordinal < ordinal else { return }
        var target = ordinal
        while true {
            guard let found = try common(from: target) else { return self.ordinal = .max }
            count = try occurrences()
            if count > 0 { return self.ordinal = found }
            target = found + 1
        }
    }

    /// The first document that has all terms; nil when there is none.
    private func common(from ordinal: UInt64) throws -> UInt64? {
        var target = ordinal
        var agreed = 0
        while agreed < ranked.count {
            let postings = ranked[agreed]
            try postings.advance(to: target)
            let found = postings.ordinal
            guard found < .max else { return nil }
            (target, agreed) = found > target && agreed > 0 ? (found, 0) : (found, agreed + 1)
        }
        return target
    }

    /// How often the terms stand as they must in the document.
    private func occurrences() throws -> UInt64 {
        guard postings.count > 1 else { return postings[0].frequency }
        for index in postings.indices { try postings[index].readPlaces(into: &places[index]) }
        return sequence.nearness.map(countNear) ?? countInSequence()
    }

    private func countInSequence() -> UInt64 {
        let start = sequence.items[0].offset
        // How far each list has been read: all are read once.
        var read = [Int](repeating: 0, count: places.count)
        var count: UInt64 = 0
        for place in places[0] {
            var isThere = true
            for index in 1..<places.count where isThere {
                let wanted = place + UInt64(sequence.items[index].offset - start)
                while read[index] < places[index].count, places[index][read[index]] < wanted {
                    read[index] += 1
                }
                isThere = read[index] < places[index].count && places[index][read[index]] == wanted
            }
            if isThere { count += 1 }
        }
        return count
    }

    private func countNear(_ nearness: Int) -> UInt64 {
        let nearness = UInt64(clamping: nearness)
        var read = [Int](repeating: 0, count: places.count)
        var count: UInt64 = 0
        for place in places[0] {
            var isThere = true
            for index in 1..<places.count where isThere {
                let first = place > nearness ? place - nearness : 0
                while read[index] < places[index].count, places[index][read[index]] < first {
                    read[index] += 1
                }
                isThere =
                    read[index] < places[index].count
                    && places[index][read[index]]
                        <= place.addingReportingOverflow(nearness)
                        .partialValue
            }
            if isThere { count += 1 }
        }
        return count
    }
}
