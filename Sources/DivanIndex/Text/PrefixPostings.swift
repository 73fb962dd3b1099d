// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// The postings of all terms that begin in a certain way, as if they were one term.
///
/// They are collected for a *window* of ordinals at a time, term by term, so that however many terms there are, one
/// block of one of them is held. A window is as wide as lets it have about as many postings as fit into a few
/// megabytes.
final class PrefixPostings: Postings {
    /// About how many postings a window has.
    private static let windowCount: UInt64 = 200_000

    private struct Entry {
        var ordinal: UInt64
        var frequency: UInt64
        /// Where its places lie among those of the window.
        var places: Range<Int>
    }

    private let stores: TextIndexStores
    private let reader: any StorageReader
    private let numbers: [UInt64]
    private let needsPlaces: Bool
    private let bound: UInt64
    private let width: UInt64
    private(set) var documentCount: UInt64 = 0
    /// The ordinals below this have been collected.
    private var collected: UInt64 = 1
    private var entries: [Entry] = []
    private var places: [UInt64] = []
    private var index = 0
    private(set) var ordinal: UInt64 = 0

    /// Finds out how many postings terms have. `needsPlaces` says whether their places are asked for; no
    /// ordinal is as large as the bound.
    init(
        _ numbers: [UInt64], below bound: UInt64, needsPlaces: Bool, _ stores: TextIndexStores,
        _ reader: any StorageReader
    ) throws {
        self.stores = stores
        self.reader = reader
        self.needsPlaces = needsPlaces
        self.bound = bound
        var (used, count) = ([UInt64](), UInt64(0))
        let cursor = try BlockCursor(stores.postings, reader)
        for number in numbers.sorted() {
            var key: [UInt8] = []
            PostingKey.append(number, to: &key)
            guard try cursor.seek(toAtLeast: key.span), cursor.isAt(key.span) else { continue }
            try cursor.withValue { count += min(try PostingBlock.documentCount($0), bound) }
            used.append(number)
        }
        cursor.close()
        self.numbers = used
        documentCount = count
        width = max(1, bound / (count / Self.windowCount + 1))
        if used.isEmpty { ordinal = .max }
    }

    var frequency: UInt64 { entries[index].frequency }

    func close() {
        entries = []
        places = []
    }

    func advance(to target: UInt64) throws {
        guard ordinal < target else { return }
        while true {
            while index < entries.count, entries[index].ordinal < target { index += 1 }
            if index < entries.count { return ordinal = entries[index].ordinal }
            guard max(collected, target) < bound else { return ordinal = .max }
            try collect(from: max(collected, target))
        }
    }

    func readPlaces(into places: inout [UInt64]) throws {
        places.removeAll(keepingCapacity: true)
        places.append(contentsOf: self.places[entries[index].places])
    }

    private func collect(from start: UInt64) throws {
        let end = bound - start > width ? start + width : bound
        entries.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        var own: [UInt64] = []
        for number in numbers {
            let postings = try TermPostings(number, stores, reader)
            try postings.advance(to: start)
            try postings.forEach(below: end) {
                let first = places.count
                if needsPlaces {
                    try postings.readPlaces(into: &own)
                    places.append(contentsOf: own)
                }
                entries.append(
                    Entry(
                        ordinal: postings.ordinal, frequency: postings.frequency,
                        places: first..<places.count))
            }
            postings.close()
        }
        entries.sort { $0.ordinal < $1.ordinal }
        join()
        (collected, index) = (end, 0)
    }

    /// Makes one of the entries of a document that has several of the terms.
    private func join() {
        var joined: [Entry] = []
        joined.reserveCapacity(entries.count)
        for entry in entries {
            guard let last = joined.last, last.ordinal == entry.ordinal else {
                joined.append(entry)
                continue
            }
            let first = places.count
            if needsPlaces {
                let all = (places[last.places] + places[entry.places]).sorted()
                places.append(contentsOf: all)
            }
            joined[joined.count - 1] = Entry(
                ordinal: entry.ordinal, frequency: last.frequency + entry.frequency,
                places: first..<places.count)
        }
        entries = joined
    }
}
