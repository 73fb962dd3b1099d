// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

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
        switch self {
        case .terms(let sequence): try SequenceMatches(sequence, in: index, scoring)
        case .all(let plans): AllMatches(try plans.map { try $0.matches(in: index, scoring) })
        case .any(let plans): AnyMatches(try plans.map { try $0.matches(in: index, scoring) })
        case .except(let wanted, let unwanted):
            ExceptMatches(
                try wanted.matches(in: index, scoring), try unwanted.matches(in: index, scoring))
        }
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
