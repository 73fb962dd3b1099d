// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// The postings of all terms that begin in a certain way, as if they were one term.
///
/// They are collected for a *window* of ordinals at a time, term by term, so that however many terms there are, one
/// block of one of them is held. A window is as wide as lets its postings fit into a few megabytes: one that has more, since the
/// documents have the terms often, is collected again at half the width.
final class PrefixPostings: Postings {
    /// The most bytes that the windows of one search take, and that of one prefix.
    private static let mostBytes = 64 << 20
    private static let mostWindowBytes = 16 << 20
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
    /// How many ordinals a window has.
    private var width: UInt64
    /// The most bytes of a window that has more than one.
    private let windowBytes: Int
    private let check: () throws -> Void
    private(set) var documentCount: UInt64 = 0
    /// The ordinals below this have been collected.
    private var collected: UInt64 = 1
    /// The documents of the window.
    private var ordinals: [UInt64] = []
    private var entries: [Entry] = []
    private(set) var places: [UInt64] = []
    private var index = 0

    /// Finds out how many postings terms have.
    ///
    /// - Parameters:
    ///   - numbers: The terms.
    ///   - bound: No ordinal is as large.
    ///   - needsPlaces: Whether their places are asked for.
    ///   - prefixes: How many share the memory of the search.
    ///   - check: Throws when the search is to end.
    ///   - stores: Where they are.
    ///   - reader: Reads them.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    init(
        _ numbers: [UInt64], below bound: UInt64, needsPlaces: Bool, sharedBy prefixes: Int,
        _ check: @escaping () throws -> Void, _ stores: TextIndexStores,
        _ reader: any StorageReader
    ) throws {
        self.check = check
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
        windowBytes = min(Self.mostWindowBytes, Self.mostBytes / max(1, prefixes))
        // Half of the room, since postings are not spread evenly: collecting a window once more costs as much as the first time.
        let most = UInt64(windowBytes / MemoryLayout<Entry>.stride / 2 + 1)
        width = max(1, bound / min(count / most + 1, Self.mostWindows))
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
        var (end, isWhole) = (bound, false)
        repeat {
            entries.removeAll(keepingCapacity: true)
            places.removeAll(keepingCapacity: true)
            end = bound - start > width ? start + width : bound
            isWhole = try gather(start..<end)
            if !isWhole { width /= 2 }
        } while !isWhole
        entries.sort { $0.ordinal < $1.ordinal }
        join()
        ordinals = entries.map(\.ordinal)
        (collected, index) = (end, 0)
    }

    /// Adds the postings of the terms in a window; false when they take too much.
    private func gather(_ window: Range<UInt64>) throws -> Bool {
        for number in numbers {
            try check()
            let postings = try TermPostings(number, stores, reader)
            defer { postings.close() }
            guard try gather(postings, window) else { return false }
        }
        return true
    }

    private func gather(_ postings: TermPostings, _ window: Range<UInt64>) throws -> Bool {
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
            let size = entries.count * MemoryLayout<Entry>.stride + 8 * places.count
            guard size <= windowBytes || width == 1 else { return false }
        }
        return true
    }

    /// Makes one of the entries of a document that has several of the terms.
    private func join() {
        var (joined, first) = (0, 0)
        while first < entries.count {
            var entry = entries[first]
            var end = first + 1
            while end < entries.count, entries[end].ordinal == entry.ordinal { end += 1 }
            if end > first + 1 {
                let start = places.count
                for part in entries[first..<end] { places.append(contentsOf: places[part.places]) }
                places[start...].sort()
                entry.frequency = entries[first..<end].reduce(0) { $0 + $1.frequency }
                entry.places = start..<places.count
            }
            entries[joined] = entry
            (joined, first) = (joined + 1, end)
        }
        entries.removeLast(entries.count - joined)
    }
}
