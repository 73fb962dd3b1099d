// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// The documents that match a plan, or a part of one, in the order of their ordinals.
///
/// As ``Postings`` it stands on a document, at first on none. What a plan's parts find is merged while it is read, so
/// nothing is held of documents that were passed.
protocol FullTextMatches: AnyObject {
    /// The document it stands on: 0 at first, `UInt64.max` at the end.
    var ordinal: UInt64 { get }
    /// About how many postings it reads.
    var cost: UInt64 { get }

    /// Goes on to the first match whose ordinal is not below one.
    func advance(to ordinal: UInt64) throws

    /// How well the document matches, given what its length does.
    func score(damping: Double) -> Double

    /// Gives up what it holds.
    func close()
}

extension FullTextPlan {
    /// Finds the documents that match.
    func matches(in index: TextIndexReader, _ scoring: FullTextScoring) throws
        -> any FullTextMatches
    {
        try matches(PostingSource(index, prefixes: prefixCount), scoring)
    }

    private func matches(_ source: PostingSource, _ scoring: FullTextScoring) throws
        -> any FullTextMatches
    {
        switch self {
        case .phrase(let items): PostingsMatches(try source.postings(of: items), scoring)
        case .near(let phrases, let distance):
            PostingsMatches(try source.postings(of: phrases, within: distance), scoring)
        case .all(let plans): AllMatches(try plans.map { try $0.matches(source, scoring) })
        case .any(let plans): AnyMatches(try plans.map { try $0.matches(source, scoring) })
        case .except(let wanted, let unwanted):
            ExceptMatches(
                try wanted.matches(source, scoring), try unwanted.matches(source, scoring))
        }
    }
}

/// Opens the lists of a plan.
private struct PostingSource {
    private let index: TextIndexReader
    private let prefixes: Int
    private let flag = CancellationFlag.current

    init(_ index: TextIndexReader, prefixes: Int) {
        (self.index, self.prefixes) = (index, prefixes)
    }

    /// The postings of one term, or of a phrase.
    func postings(of items: [FullTextPlan.Item], needsPlaces: Bool = false) throws -> any Postings {
        let needsPlaces = needsPlaces || items.count > 1
        let terms = try items.map { (try postings(of: $0, needsPlaces), $0.offset) }
        return terms.count == 1 ? terms[0].0 : SequencePostings(phrase: terms)
    }

    private func postings(of item: FullTextPlan.Item, _ needsPlaces: Bool) throws -> any Postings {
        let term = Array(item.term.utf8)
        return item.isPrefix
            ? try index.postings(
                ofPrefix: term, needsPlaces: needsPlaces, sharedBy: prefixes, flag?.check ?? {})
            : try index.postings(of: term)
    }

    /// The postings of phrases that are near the first one. Nothing is as far as the next text of the document.
    func postings(of phrases: [[FullTextPlan.Item]], within distance: Int) throws -> any Postings {
        SequencePostings(
            near: try phrases.map { phrase in
                let length = (phrase.last?.offset ?? 0) - (phrase.first?.offset ?? 0)
                return (
                    try postings(of: phrase, needsPlaces: true), UInt64(length),
                    phrases.count { $0.isSame(as: phrase) }
                )
            }, within: min(UInt64(distance), FullTextIndex.gap - 1))
    }
}

extension [FullTextPlan.Item] {
    /// Whether another phrase has the same words at the same distances.
    fileprivate func isSame(as other: Self) -> Bool {
        guard let first, let start = other.first else { return isEmpty && other.isEmpty }
        return elementsEqual(other) { left, right in
            left.isPrefix == right.isPrefix && left.term.hasSameBytes(as: right.term)
                && left.offset - first.offset == right.offset - start.offset
        }
    }
}

/// Documents that have a term, or terms that stand as they must.
private final class PostingsMatches: FullTextMatches {
    private let postings: any Postings
    private let weight: Double
    let cost: UInt64
    private(set) var ordinal: UInt64 = 0
    private let flag = CancellationFlag.current
    /// The documents of the stretch, and how often each has them.
    private var documents: [UInt64] = []
    private var counts: [UInt64] = []
    private var index = 0

    init(_ postings: any Postings, _ scoring: FullTextScoring) {
        self.postings = postings
        cost = postings.documentCount
        weight = scoring.weight(of: cost)
        if cost == 0 { ordinal = .max }
    }

    func close() { postings.close() }

    func score(damping: Double) -> Double {
        weight * FullTextScoring.gain(counts[index], damping: damping)
    }

    func advance(to ordinal: UInt64) throws {
        guard self.ordinal < ordinal else { return }
        while index < documents.count, documents[index] < ordinal { index += 1 }
        if index == documents.count {
            // Lists may be long, and read by words that they have not in common.
            try flag?.check()
            documents.removeAll(keepingCapacity: true)
            counts.removeAll(keepingCapacity: true)
            index = 0
            guard let stretch = try postings.seek(ordinal) else { return self.ordinal = .max }
            postings.append(stretch, to: &documents, &counts)
        }
        self.ordinal = documents[index]
    }
}

/// Documents that match all parts.
private final class AllMatches: FullTextMatches {
    /// In the order of the plan, so that equal questions give equal scores.
    private let parts: [any FullTextMatches]
    /// The rarest first: where that is not, the others are not looked at.
    private let ranked: [any FullTextMatches]
    private(set) var ordinal: UInt64 = 0

    init(_ parts: [any FullTextMatches]) {
        self.parts = parts
        ranked = parts.sorted { $0.cost < $1.cost }
    }

    var cost: UInt64 { ranked.first?.cost ?? 0 }

    func advance(to ordinal: UInt64) throws {
        guard self.ordinal < ordinal else { return }
        var target = ordinal
        var agreed = 0
        while agreed < ranked.count {
            let part = ranked[agreed]
            try part.advance(to: target)
            if part.ordinal > target, agreed > 0 {
                (target, agreed) = (part.ordinal, 0)
            } else {
                target = part.ordinal
                agreed += 1
            }
            guard target < .max else { break }
        }
        self.ordinal = ranked.isEmpty ? .max : target
    }

    func score(damping: Double) -> Double { parts.reduce(0) { $0 + $1.score(damping: damping) } }

    func close() { for part in parts { part.close() } }
}

/// Documents that match at least one part.
private final class AnyMatches: FullTextMatches {
    private let parts: [any FullTextMatches]
    private(set) var ordinal: UInt64 = 0

    init(_ parts: [any FullTextMatches]) { self.parts = parts }

    var cost: UInt64 { parts.reduce(0) { $0 &+ $1.cost } }

    func advance(to ordinal: UInt64) throws {
        guard self.ordinal < ordinal else { return }
        var next = UInt64.max
        for part in parts {
            try part.advance(to: ordinal)
            next = min(next, part.ordinal)
        }
        self.ordinal = next
    }

    func score(damping: Double) -> Double {
        parts.reduce(0) { $1.ordinal == ordinal ? $0 + $1.score(damping: damping) : $0 }
    }

    func close() { for part in parts { part.close() } }
}

/// Documents that match one part and not another.
private final class ExceptMatches: FullTextMatches {
    private let wanted: any FullTextMatches
    private let unwanted: any FullTextMatches

    init(_ wanted: any FullTextMatches, _ unwanted: any FullTextMatches) {
        self.wanted = wanted
        self.unwanted = unwanted
    }

    var ordinal: UInt64 { wanted.ordinal }
    var cost: UInt64 { wanted.cost }

    func advance(to ordinal: UInt64) throws {
        try wanted.advance(to: ordinal)
        while wanted.ordinal < .max {
            try unwanted.advance(to: wanted.ordinal)
            guard unwanted.ordinal == wanted.ordinal else { return }
            try wanted.advance(to: wanted.ordinal + 1)
        }
    }

    func score(damping: Double) -> Double { wanted.score(damping: damping) }

    func close() {
        wanted.close()
        unwanted.close()
    }
}
