// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel

/// Finds and ranks the documents of a plan, in one snapshot.
///
/// Documents that match are counted all, since a result says how many there are. Those that come before the limit are
/// kept by their ordinals, and get their IDs at the end, or where IDs decide which come first.
struct FullTextRun {
    /// A document that was found.
    struct Found {
        var id: DocumentID
        var score: Double
    }

    private struct Candidate {
        var ordinal: UInt64
        var score: Double
    }

    /// So many documents more than are wanted are kept before some are dropped, which are as many as are
    /// sorted for it.
    private let slack: Int
    private static let leastSlack = 4_096
    private static let checkInterval = 1_024

    let index: TextIndexReader
    private let isRanked: Bool
    /// How many documents are wanted at most.
    private let limit: Int
    private var kept: [Candidate] = []
    /// No document with a lower score is wanted any more.
    private var least = -Double.infinity
    /// How many documents match.
    private(set) var total = 0

    init(_ index: TextIndexReader, isRanked: Bool, limit: Int?) {
        self.index = index
        self.isRanked = isRanked
        self.limit = limit ?? .max
        slack = max(Self.leastSlack, min(self.limit, 1 << 20))
    }

    /// The documents that match, in order, and no more than are wanted.
    mutating func find(_ plan: FullTextPlan) throws -> [Found] {
        let scoring = FullTextScoring(index.totals)
        let matches = try plan.matches(in: index, scoring)
        defer { matches.close() }
        var lengths = index.lengths()
        let flag = CancellationFlag.current
        try matches.advance(to: 1)
        while matches.ordinal < .max {
            let ordinal = matches.ordinal
            let damping = scoring.damping(length: try lengths.length(of: ordinal))
            try add(Candidate(ordinal: ordinal, score: matches.score(damping: damping)))
            if total.isMultiple(of: Self.checkInterval) { try flag?.check() }
            try matches.advance(to: ordinal + 1)
        }
        return Array(try ordered(kept).prefix(limit))
    }

    private mutating func add(_ candidate: Candidate) throws {
        total += 1
        guard limit > 0, candidate.score >= least else { return }
        kept.append(candidate)
        guard limit < .max - slack, kept.count >= limit + slack else { return }
        try drop()
    }

    /// Drops those that cannot be among the wanted ones.
    private mutating func drop() throws {
        if isRanked {
            let scores = kept.map(\.score).sorted(by: >)
            least = scores[limit - 1]
            kept.removeAll { $0.score < least }
            guard kept.count >= limit + slack / 2 else { return }
        }
        // So many score alike that their IDs have to tell, as they do without a ranking.
        let wanted = try Set(places(kept).prefix(limit))
        kept = kept.indices.filter { wanted.contains($0) }.map { kept[$0] }
    }

    /// The places of documents in the order of the result.
    private func places(_ candidates: [Candidate]) throws -> [Int] {
        try places(candidates, index.documentIDs(candidates.map(\.ordinal)))
    }

    private func places(_ candidates: [Candidate], _ ids: [DocumentID]) -> [Int] {
        candidates.indices.sorted { left, right in
            let (one, other) = (candidates[left].score, candidates[right].score)
            if isRanked, one != other { return one > other }
            return ids[left] < ids[right]
        }
    }

    private func ordered(_ candidates: [Candidate]) throws -> [Found] {
        let ids = try index.documentIDs(candidates.map(\.ordinal))
        return places(candidates, ids).map { Found(id: ids[$0], score: candidates[$0].score) }
    }
}
