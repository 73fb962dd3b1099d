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
    /// Each window asks each term, so a head that counts wrong must not make many of them.
    private static let mostWindows: UInt64 = 4_096
    private static let largest = UInt64(1) << 62

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
    /// The documents of the window.
    private var ordinals: [UInt64] = []
    private var entries: [Entry] = []
    private var places: [UInt64] = []
    private var index = 0

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
        let heads = try BlockLookup(stores.postings, reader)
        for number in numbers.sorted() {
            var key: [UInt8] = []
            PostingKey.append(number, to: &key)
            let isUsed = try heads.withValue(forKey: key.span) { head in
                count = min(count + min(try PostingBlock.documentCount(head), bound), Self.largest)
            }
            if isUsed { used.append(number) }
        }
        heads.close()
        self.numbers = used
        documentCount = count
        width = max(1, bound / min(count / Self.windowCount + 1, Self.mostWindows))
        if used.isEmpty { collected = bound }
    }

    func close() {
        (entries, ordinals, places) = ([], [], [])
        collected = bound
    }

    func seek(_ ordinal: UInt64) throws -> ClosedRange<UInt64>? {
        while true {
            let ordinals = ordinals
            index = firstIndex(in: ordinals.span, from: index, notBelow: ordinal)
            if index < ordinals.count { return ordinals[index]...ordinals[ordinals.count - 1] }
            guard max(collected, ordinal) < bound else { return nil }
            try collect(from: max(collected, ordinal))
        }
    }

    func append(
        _ range: ClosedRange<UInt64>, to ordinals: inout [UInt64], _ frequencies: inout [UInt64]
    ) {
        var next = firstIndex(in: self.ordinals.span, from: index, notBelow: range.lowerBound)
        while next < entries.count, entries[next].ordinal <= range.upperBound {
            ordinals.append(entries[next].ordinal)
            frequencies.append(entries[next].frequency)
            next += 1
        }
    }

    func filter(_ ordinals: inout [UInt64]) {
        let own = self.ordinals
        keep(&ordinals, in: own.span, from: index)
    }

    func readPlaces(_ ordinals: [UInt64], into places: inout [UInt64], _ ends: inout [Int]) throws {
        var next = index
        for ordinal in ordinals {
            next = firstIndex(in: self.ordinals.span, from: next, notBelow: ordinal)
            places.append(contentsOf: self.places[entries[next].places])
            ends.append(places.count)
        }
    }

    private func collect(from start: UInt64) throws {
        let end = bound - start > width ? start + width : bound
        entries.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        for number in numbers {
            let postings = try TermPostings(number, stores, reader)
            try collect(postings, start..<end)
            postings.close()
        }
        entries.sort { $0.ordinal < $1.ordinal }
        join()
        ordinals = entries.map(\.ordinal)
        (collected, index) = (end, 0)
    }

    /// Adds the postings of one term in a window.
    private func collect(_ postings: TermPostings, _ window: Range<UInt64>) throws {
        var (own, frequencies, ends) = ([UInt64](), [UInt64](), [Int]())
        var next = window.lowerBound
        while next < window.upperBound, let stretch = try postings.seek(next),
            stretch.lowerBound < window.upperBound
        {
            own.removeAll(keepingCapacity: true)
            frequencies.removeAll(keepingCapacity: true)
            let last = min(stretch.upperBound, window.upperBound - 1)
            postings.append(stretch.lowerBound...last, to: &own, &frequencies)
            ends.removeAll(keepingCapacity: true)
            var start = places.count
            if needsPlaces { try postings.readPlaces(own, into: &places, &ends) }
            for index in own.indices {
                let end = needsPlaces ? ends[index] : start
                entries.append(
                    Entry(
                        ordinal: own[index], frequency: frequencies[index], places: start..<end))
                start = end
            }
            next = last + 1
        }
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
