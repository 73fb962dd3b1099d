// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Finds and ranks the documents of a plan, in one snapshot.
///
/// Ranking is BM25: a document counts for more the more often it has a term, the rarer the term is
/// among all documents, and the shorter the document is. A phrase is as rare as the rarest of its
/// words, and the beginning of a word as all rows of terms with it.
struct FullTextRun {
    /// What the index keeps of a term in one document.
    private struct Posting {
        /// How many words the document has.
        var length: Int
        /// Where the term stands, ascending.
        var places: [Int]
    }

    /// The usual constants of BM25: how soon more of a term stops mattering, and how much length does.
    static let saturation = 1.2
    static let lengthWeight = 0.75
    /// Looking up single documents beats reading all rows of a term when they are this much fewer.
    private static let lookupGain = 16

    let index: IndexReader
    let coder: RowKeyCoder
    private let documentCount: Int
    private let meanLength: Double

    init(_ index: IndexReader, _ coder: RowKeyCoder) throws {
        self.index = index
        self.coder = coder
        let lengths = Self.range(of: .null, coder)
        let (total, count) = try index.reduce(lengths, with: WordCountReducer())
        documentCount = count
        meanLength = count > 0 ? Double(total?.int64 ?? 0) / Double(count) : 1
    }

    var totalDocuments: Int { documentCount }

    /// The scores of the documents that match, by their IDs, among those that matter; nil for all.
    func scores(_ plan: FullTextPlan, among candidates: NameSet? = nil) throws
        -> NameMap<Double>
    {
        switch plan {
        case .terms(let sequence): return try scores(sequence, among: candidates)
        case .any(let plans):
            return try plans.reduce(into: [:]) { sum, plan in
                sum.merge(try scores(plan, among: candidates)) { $0 + $1 }
            }
        case .except(let wanted, let unwanted):
            let found = try scores(wanted, among: candidates)
            guard !found.isEmpty else { return [:] }
            let without = try scores(unwanted, among: NameSet(found.keys))
            return found.filter { without[$0.key] == nil }
        case .all(let plans): return try scoresOfAll(plans, among: candidates)
        }
    }

    private func scoresOfAll(_ plans: [FullTextPlan], among candidates: NameSet?) throws
        -> NameMap<Double>
    {
        // The rarest first: what it leaves is all that the others are asked about.
        let costs = try plans.map { try cost($0) }
        var left = candidates
        var parts: [Int: NameMap<Double>] = [:]
        for place in plans.indices.sorted(by: { (costs[$0], $0) < (costs[$1], $1) }) {
            let found = try scores(plans[place], among: left)
            guard !found.isEmpty else { return [:] }
            parts[place] = found
            left = NameSet(found.keys)
        }
        // Added in the order of the expression, so that equal questions give equal scores.
        var scores: NameMap<Double> = [:]
        for id in left ?? [] {
            scores[id] = plans.indices.reduce(0) { $0 + (parts[$1]?[id] ?? 0) }
        }
        return scores
    }

    /// About how many rows a plan reads.
    private func cost(_ plan: FullTextPlan) throws -> Int {
        switch plan {
        case .terms(let sequence): try rarity(sequence)
        case .all(let plans): try plans.map { try cost($0) }.min() ?? 0
        case .any(let plans): try plans.reduce(0) { $0 + (try cost($1)) }
        case .except(let plan, _): try cost(plan)
        }
    }

    // MARK: - Terms

    private func rarity(_ sequence: FullTextPlan.TermSequence) throws -> Int {
        try sequence.items.map { try index.count(in: range(of: $0)) }.min() ?? 0
    }

    private func scores(
        _ sequence: FullTextPlan.TermSequence, among candidates: NameSet?
    ) throws -> NameMap<Double> {
        let counts = try sequence.items.map { try index.count(in: range(of: $0)) }
        guard let rarest = counts.min(), rarest > 0 else { return [:] }
        let (documents, frequency) = (Double(documentCount), Double(rarest))
        // A beginning may have more rows than there are documents.
        let weight = log(1 + max(0, documents - frequency + 0.5) / (frequency + 0.5))
        var left = candidates
        var postings: [Int: NameMap<Posting>] = [:]
        for place in counts.indices.sorted(by: { (counts[$0], $0) < (counts[$1], $1) }) {
            let found = try self.postings(sequence.items[place], counts[place], among: left)
            guard !found.isEmpty else { return [:] }
            postings[place] = found
            left = NameSet(found.keys)
        }
        var scores: NameMap<Double> = [:]
        for id in left ?? [] {
            let own = sequence.items.indices.compactMap { postings[$0]?[id] }
            guard own.count == sequence.items.count, let length = own.first?.length else {
                continue
            }
            let count = Self.occurrences(sequence, own.map(\.places))
            guard count > 0 else { continue }
            scores[id] = weight * gain(Double(count), length: Double(length))
        }
        return scores
    }

    private func gain(_ count: Double, length: Double) -> Double {
        let k = Self.saturation
        let b = Self.lengthWeight
        return count * (k + 1) / (count + k * (1 - b + b * length / meanLength))
    }

    /// How often the terms stand as they must.
    private static func occurrences(
        _ sequence: FullTextPlan.TermSequence, _ places: [[Int]]
    ) -> Int {
        guard let first = places.first, let start = sequence.items.first?.offset else { return 0 }
        if places.count == 1 { return first.count }
        if let nearness = sequence.nearness {
            return first.count { place in
                places.dropFirst().allSatisfy { $0.contains { abs($0 - place) <= nearness } }
            }
        }
        let sets = places.map(Set.init)
        return first.count { place in
            sequence.items.indices.dropFirst().allSatisfy {
                sets[$0].contains(place + sequence.items[$0].offset - start)
            }
        }
    }

    // MARK: - Rows

    private func postings(
        _ item: FullTextPlan.TermSequence.Item, _ count: Int, among candidates: NameSet?
    ) throws -> NameMap<Posting> {
        var postings: NameMap<Posting> = [:]
        if let candidates, !item.isPrefix, candidates.count * Self.lookupGain < count {
            var key: [UInt8] = []
            coder.append(JSONValue.string(item.term), to: &key)
            for id in candidates {
                var first = key
                RowDocumentID.append(id, to: &first)
                try add(RowRange(prefix: first + [0]), nil, to: &postings)
            }
        } else {
            try add(range(of: item), candidates, to: &postings)
        }
        return postings
    }

    private func add(
        _ range: RowRange, _ candidates: NameSet?, to postings: inout NameMap<Posting>
    ) throws {
        try index.forEachRow(in: range) { key, value in
            var offset = 0
            do { try coder.skip(key, at: &offset) } catch {
                throw IndexCorruption("A row's key is damaged.")
            }
            let id = try RowKey.documentID(in: key, at: offset).text
            if let candidates, !candidates.contains(id) { return true }
            guard case .array(let numbers) = RowValue.decode(value).jsonValue(),
                let length = numbers.first?.int64
            else { throw IndexCorruption("A row of a term is damaged.") }
            let places = numbers.dropFirst().compactMap { $0.int64.map { Int($0) } }
            if let known = postings[id] {
                // Several terms with one beginning.
                postings[id]?.places = (known.places + places).sorted()
            } else {
                postings[id] = Posting(length: Int(length), places: places)
            }
            return true
        }
    }

    private func range(of item: FullTextPlan.TermSequence.Item) -> RowRange {
        guard item.isPrefix else { return Self.range(of: .string(item.term), coder) }
        let first = Self.range(of: .string(item.term), coder)
        // Nothing that begins so comes after this, in the order of bytes.
        let last = Self.range(of: .string(item.term + "\u{10FFFF}"), coder)
        return RowRange(lower: first.lower, upper: last.upper)
    }

    private static func range(of key: JSONValue, _ coder: RowKeyCoder) -> RowRange {
        var bytes: [UInt8] = []
        coder.append(key, to: &bytes)
        return RowRange(emittedKey: bytes)
    }
}
