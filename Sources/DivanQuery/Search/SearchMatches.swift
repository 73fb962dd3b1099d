// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// Documents that match something, in the order of their IDs.
protocol SearchMatches: AnyObject {
    /// The document that it stands at; nil behind the last one.
    var id: DocumentID? { get }
    /// How much the document at which it stands matches. It is read for those alone whose order asks for it.
    var score: Double { get throws }
    /// Goes on to the first document that is not before an ID; stays where it is if that is it.
    func skip(to id: DocumentID) throws
    /// Goes on to the next document.
    func next() throws
}

/// The rows of one key, read as they are needed.
///
/// Rows with long values come in smaller pages. What a page holds is kept by the search's budget until the next one is
/// loaded, and where a search has many cursors their pages are small.
final class SearchCursor {
    private let reader: SearchReader
    let key: JSONValue
    private var page: [QueryRow] = []
    private var place = 0
    /// Few at first: a row may have megabytes of places.
    private var size = 4
    private var isLast = false
    /// The bytes that the budget keeps for the page.
    private var kept = 0
    private(set) var id: DocumentID?

    /// The bytes that a page should have at most, as far as the rows before tell.
    private static let pageBytes = 256 << 10
    /// The rows of all cursors of a search together, but for sixteen that each one may have.
    private static let allRows = 16_384

    init(_ reader: SearchReader, _ key: JSONValue) throws {
        self.reader = reader
        self.key = key
        reader.budget.cursors += 1
        try load(from: nil, skipping: 0)
    }

    deinit {
        reader.budget.giveBack(kept)
        reader.budget.cursors -= 1
    }

    /// The value of the row at which it stands.
    var value: PackedValue? { place < page.count ? page[place].packedValue : nil }

    func next() throws {
        guard id != nil else { return }
        place += 1
        try settle()
    }

    func skip(to target: DocumentID) throws {
        guard let current = id, current < target else { return }
        if let last = page.last?.sourceDocumentID, last < target, !isLast {
            // Far away: what lies between is not read.
            size = min(size, 16)
            return try load(from: target, skipping: 0)
        }
        while let current = id, current < target {
            place += 1
            try settle()
        }
    }

    private func settle() throws {
        if place < page.count {
            id = page[place].sourceDocumentID
        } else if isLast {
            id = nil
        } else {
            try load(from: page.last?.sourceDocumentID, skipping: 1)
        }
    }

    private func load(from start: DocumentID?, skipping: Int) throws {
        let found = try reader.rows(of: key, from: start, skipping: skipping, limit: size)
        reader.budget.giveBack(kept)
        kept = 0
        page = Array(found)
        let bytes = page.reduce(0) { $0 + $1.byteCount + 32 }
        try reader.budget.keep(bytes)
        kept = bytes
        place = 0
        isLast = page.count < size
        let mean = max(1, bytes / max(1, page.count))
        size = min(
            1_024, size * 4, max(1, Self.pageBytes / mean),
            max(16, Self.allRows / max(1, reader.budget.cursors)))
        id = page.first?.sourceDocumentID
    }
}

/// All documents of the index.
final class EveryDocument: SearchMatches {
    private let cursor: SearchCursor

    init(_ reader: SearchReader) throws { cursor = try SearchCursor(reader, SearchKey.documents) }

    var id: DocumentID? { cursor.id }
    var score: Double { 1 }
    func skip(to id: DocumentID) throws { try cursor.skip(to: id) }
    func next() throws { try cursor.next() }
}

/// Documents with a term in a field.
final class TermMatches: SearchMatches {
    private let cursor: SearchCursor
    private let budget: SearchBudget
    private let scoring: SearchScoring
    private let weight: Double

    init(_ reader: SearchReader, _ key: JSONValue, _ scoring: SearchScoring) throws {
        budget = reader.budget
        cursor = try SearchCursor(reader, key)
        self.scoring = scoring
        weight = scoring.weight(of: cursor.id == nil ? 0 : try reader.count(of: key))
    }

    var id: DocumentID? { cursor.id }
    var score: Double {
        get throws {
            // A number has no places, and counts as all numbers do.
            guard let value = cursor.value else { return 1 }
            let posting = try SearchPosting(value, budget)
            return weight * posting.boost
                * scoring.gain(posting.places.count, length: posting.length)
        }
    }
    func skip(to id: DocumentID) throws { try cursor.skip(to: id) }
    func next() throws { try cursor.next() }
}

/// The value of a term's row.
struct SearchPosting {
    var length = 0
    var boost = 1.0
    var places: [Int] = []

    /// Reads a row's value. That costs as reading rows does, in proportion to its places.
    init(_ value: PackedValue?, _ budget: SearchBudget) throws {
        try budget.read((value?.count ?? 0) / 16)
        var index = 0
        value?.forEachElement { item in
            switch index {
            case 0: length = item.int64.map { Int(clamping: $0) } ?? 0
            case 1: boost = item.double ?? 1
            default: if let place = item.int64.map({ Int(clamping: $0) }) { places.append(place) }
            }
            index += 1
        }
    }
}

/// Documents with the words of a phrase in a field.
final class PhraseMatches: SearchMatches {
    /// One for each different word.
    private let cursors: [SearchCursor]
    /// Which of them each word of the phrase has, and where it stands in the phrase.
    private let (members, offsets): ([Int], [Int])
    private let budget: SearchBudget
    private let slop: Int
    private let scoring: SearchScoring
    private let weight: Double
    private(set) var id: DocumentID?
    private(set) var score = 0.0

    /// - Parameters:
    ///   - reader: Reads the index.
    ///   - words: The keys of the words, with their places in the phrase. No word stands twice where there is slop.
    ///   - slop: How many places words may be away from where they should be, all together.
    ///   - scoring: How much matches count.
    /// - Throws: `DatabaseError`.
    init(
        _ reader: SearchReader, _ words: [(key: JSONValue, place: Int)], slop: Int,
        _ scoring: SearchScoring
    ) throws {
        var (cursors, members): ([SearchCursor], [Int]) = ([], [])
        for word in words {
            if let known = cursors.firstIndex(where: { $0.key == word.key }) {
                members.append(known)
            } else {
                members.append(cursors.count)
                cursors.append(try SearchCursor(reader, word.key))
            }
        }
        self.cursors = cursors
        self.members = members
        offsets = words.map(\.place)
        budget = reader.budget
        self.slop = slop
        self.scoring = scoring
        let isAnywhere = cursors.allSatisfy { $0.id != nil }
        let counts = isAnywhere ? try cursors.map { try reader.count(of: $0.key) } : []
        // As rare as its rarest word.
        weight = scoring.weight(of: counts.min() ?? 0)
        try settle()
    }

    func skip(to target: DocumentID) throws {
        guard let id, id < target else { return }
        try cursors[0].skip(to: target)
        try settle()
    }

    func next() throws {
        guard id != nil else { return }
        try cursors[0].next()
        try settle()
    }

    /// Goes on to a document that has all words, in their places.
    private func settle() throws {
        id = nil
        search: while let target = cursors[0].id {
            for cursor in cursors.dropFirst() {
                try cursor.skip(to: target)
                guard let found = cursor.id else { return }
                if target < found {
                    try cursors[0].skip(to: found)
                    continue search
                }
            }
            let postings = try cursors.map { try SearchPosting($0.value, budget) }
            let count = Self.count(members.map { postings[$0].places }, offsets, slop: slop)
            if count > 0 {
                id = target
                score =
                    weight * postings[0].boost * scoring.gain(count, length: postings[0].length)
                return
            }
            try cursors[0].next()
        }
    }

    /// How often words stand where a phrase has them; with slop, whether they do. Places are in ascending order.
    static func count(_ places: [[Int]], _ offsets: [Int], slop: Int) -> Int {
        // Where the phrase would begin, for each place of each word.
        let starts = zip(places, offsets).map { places, offset in places.map { $0 - offset } }
        guard slop > 0 else {
            guard var common = starts.first else { return 0 }
            for list in starts.dropFirst() where !common.isEmpty {
                common = Self.common(common, list)
            }
            return common.count
        }
        var (nexts, best) = ([Int](repeating: 0, count: starts.count), Int.max)
        while true {
            var (low, high, lowest) = (Int.max, Int.min, 0)
            for (word, next) in nexts.enumerated() {
                guard next < starts[word].count else { return best <= slop ? 1 : 0 }
                let start = starts[word][next]
                if start < low { (low, lowest) = (start, word) }
                high = max(high, start)
            }
            best = min(best, high - low)
            if best <= slop { return 1 }
            nexts[lowest] += 1
        }
    }

    /// What is in both of two lists in ascending order.
    private static func common(_ left: [Int], _ right: [Int]) -> [Int] {
        var found: [Int] = []
        var (place, other) = (0, 0)
        while place < left.count, other < right.count {
            if left[place] < right[other] {
                place += 1
            } else if left[place] > right[other] {
                other += 1
            } else {
                found.append(left[place])
                place += 1
                other += 1
            }
        }
        return found
    }
}

/// Documents that were collected.
final class CollectedMatches: SearchMatches {
    private let ids: [DocumentID]
    private let budget: SearchBudget
    private let kept: Int
    private var place = 0

    /// - Parameters:
    ///   - ids: In ascending order, each once.
    ///   - budget: What they are kept of.
    ///   - kept: How many bytes of it, which are given back in the end: a search of several pages collects anew for each.
    init(_ ids: [DocumentID], _ budget: SearchBudget, kept: Int) {
        self.ids = ids
        self.budget = budget
        self.kept = kept
    }

    deinit { budget.giveBack(kept) }

    var id: DocumentID? { place < ids.count ? ids[place] : nil }
    var score: Double { 1 }

    func next() { place += 1 }

    func skip(to target: DocumentID) {
        var (low, high) = (place, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < target { low = middle + 1 } else { high = middle }
        }
        place = low
    }
}

/// What a boost makes of matches.
final class BoostedMatches: SearchMatches {
    private let inner: any SearchMatches
    private let boost: Double

    /// The highest score that a boost makes. Boosts in boosts would go on to infinity, of which zero times is no number.
    private static let mostScore = 1e100

    init(_ inner: any SearchMatches, _ boost: Double) {
        self.inner = inner
        self.boost = boost
    }

    var id: DocumentID? { inner.id }
    var score: Double { get throws { try min(boost * inner.score, Self.mostScore) } }
    func skip(to id: DocumentID) throws { try inner.skip(to: id) }
    func next() throws { try inner.next() }
}

/// Documents that match all clauses of some, none of others, and at least one of the rest if nothing is required.
final class BooleanMatches: SearchMatches {
    private let required: [any SearchMatches]
    private let optional: [any SearchMatches]
    private let excluded: [any SearchMatches]
    private(set) var id: DocumentID?

    init(
        required: [any SearchMatches], optional: [any SearchMatches],
        excluded: [any SearchMatches]
    ) throws {
        self.required = required
        self.optional = optional
        self.excluded = excluded
        try settle()
    }

    var score: Double {
        get throws {
            var sum = 0.0
            for one in required where one.id == id { sum += try one.score }
            for one in optional where one.id == id { sum += try one.score }
            return sum
        }
    }

    func skip(to target: DocumentID) throws {
        guard let id, id < target else { return }
        let leading = required.isEmpty ? optional : [required[0]]
        for one in leading { try one.skip(to: target) }
        try settle()
    }

    func next() throws {
        guard let id else { return }
        let leading = required.isEmpty ? optional : [required[0]]
        for one in leading where one.id == id { try one.next() }
        try settle()
    }

    /// Goes on from where the leading clauses stand to the first document that matches.
    private func settle() throws {
        while let candidate = try candidate() {
            if try !isExcluded(candidate) {
                id = candidate
                for one in optional where !required.isEmpty { try one.skip(to: candidate) }
                return
            }
            let leading = required.isEmpty ? optional : [required[0]]
            for one in leading where Self.isAt(candidate, one) { try one.next() }
        }
        id = nil
    }

    private static func isAt(_ id: DocumentID, _ matches: any SearchMatches) -> Bool {
        matches.id == id
    }

    private func candidate() throws -> DocumentID? {
        guard let first = required.first else { return optional.compactMap(\.id).min() }
        search: while let target = first.id {
            for one in required.dropFirst() {
                try one.skip(to: target)
                guard let found = one.id else { return nil }
                if target < found {
                    try first.skip(to: found)
                    continue search
                }
            }
            return target
        }
        return nil
    }

    private func isExcluded(_ candidate: DocumentID) throws -> Bool {
        for one in excluded {
            try one.skip(to: candidate)
            if Self.isAt(candidate, one) { return true }
        }
        return false
    }
}
