// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// How to get from one result of a query to the next: what a list on a screen animates.
///
/// A row is the same one as before when it comes from the same emission, else when it is the same
/// document's; a group is the same when its key is. So a row whose key changed is moved or updated,
/// not removed and inserted.
///
/// To apply it: take out the rows at ``removed`` and those of ``moved``, by their places in the old
/// result, the last first. Put in the rows at ``inserted`` and the moved ones, by their places in the
/// new result, the first first. Then show the rows of ``updated`` again.
public struct RowDifference: Sendable, Equatable {
    /// A row in both results.
    public struct Pair: Sendable, Hashable {
        /// Its place in the old result.
        public var old: Int
        /// Its place in the new result.
        public var new: Int

        /// Makes a pair.
        public init(old: Int, new: Int) {
            self.old = old
            self.new = new
        }
    }

    /// Places in the old result of the rows that are gone, ascending.
    public var removed: [Int] = []
    /// Places in the new result of the rows that are new, ascending.
    public var inserted: [Int] = []
    /// Rows that stand elsewhere among those that stayed, ascending by their new places; no more of
    /// them than must be moved.
    public var moved: [Pair] = []
    /// Rows with another key or value, or another document where it came along; they may be moved,
    /// too. Ascending by their new places.
    public var updated: [Pair] = []

    /// Whether the results are equal.
    public var isEmpty: Bool {
        removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty
    }

    /// Compares two results.
    ///
    /// - Parameters:
    ///   - old: The rows before.
    ///   - new: The rows now.
    init(from old: [QueryRow], to new: [QueryRow]) {
        self.init(from: old, to: new, by: \.identity, orBy: \.sourceDocumentID)
    }

    /// Compares any rows, which belong together when their identities are equal, or else, where they
    /// have one, their second identities.
    init<Row: Equatable, First: Hashable, Second: Hashable>(
        from old: [Row], to new: [Row], by first: (Row) -> First, orBy second: (Row) -> Second?
    ) {
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var tail = 0
        while tail < min(old.count, new.count) - start,
            old[old.count - 1 - tail] == new[new.count - 1 - tail]
        {
            tail += 1
        }
        let former = Array(start..<(old.count - tail))
        let current = Array(start..<(new.count - tail))
        var pairing = RowPairing(old: former, new: current)
        pairing.pair({ first(old[$0]) }, and: { first(new[$0]) })
        pairing.pair({ second(old[$0]) }, and: { second(new[$0]) })
        removed = pairing.unpairedOld
        inserted = pairing.unpairedNew
        moved = pairing.moved
        updated = pairing.pairs.filter { old[$0.old] != new[$0.new] }
    }
}

extension QueryRow {
    /// What makes a row of one result the same as a row of another.
    fileprivate enum Identity: Hashable {
        case emission(ArraySlice<UInt8>)
        case key(JSONValue, DocumentID?)
    }

    fileprivate var identity: Identity {
        switch content {
        case .index(let row): .emission(row.rowKey)
        case .made(let made): .key(made.key, made.documentID)
        }
    }
}

/// Finds which rows of two results belong together.
private struct RowPairing {
    private let old: [Int]
    private let new: [Int]
    /// The old place that belongs to each of `new`.
    private var partners: [Int?]
    private var isTaken: [Bool]

    init(old: [Int], new: [Int]) {
        self.old = old
        self.new = new
        partners = Array(repeating: nil, count: new.count)
        isTaken = Array(repeating: false, count: old.count)
    }

    /// Pairs what is left by equal keys, in order; a row without a key stays alone.
    mutating func pair<Key: Hashable>(_ oldKey: (Int) -> Key?, and newKey: (Int) -> Key?) {
        // The last comes first, so that each is taken from the end.
        var places: [Key: [Int]] = [:]
        for index in old.indices.reversed() where !isTaken[index] {
            if let key = oldKey(old[index]) { places[key, default: []].append(index) }
        }
        guard !places.isEmpty else { return }
        for index in new.indices where partners[index] == nil {
            guard let key = newKey(new[index]), let partner = places[key]?.popLast() else {
                continue
            }
            partners[index] = partner
            isTaken[partner] = true
        }
    }

    var unpairedOld: [Int] { old.indices.filter { !isTaken[$0] }.map { old[$0] } }

    var unpairedNew: [Int] { new.indices.filter { partners[$0] == nil }.map { new[$0] } }

    var pairs: [RowDifference.Pair] {
        new.indices.compactMap { index in
            partners[index].map { RowDifference.Pair(old: old[$0], new: new[index]) }
        }
    }

    /// The pairs that are not in a longest run of pairs whose order has stayed.
    var moved: [RowDifference.Pair] {
        let pairs = pairs
        let stays = Self.longestAscent(pairs.map(\.old))
        return pairs.indices.filter { !stays[$0] }.map { pairs[$0] }
    }

    /// Marks the elements of a longest ascending subsequence: patience sorting, O(n log n).
    private static func longestAscent(_ values: [Int]) -> [Bool] {
        var ends: [Int] = []
        var before = [Int?](repeating: nil, count: values.count)
        for (index, value) in values.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
            }
            before[index] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var isIn = [Bool](repeating: false, count: values.count)
        var place = ends.last
        while let index = place {
            isIn[index] = true
            place = before[index]
        }
        return isIn
    }
}
