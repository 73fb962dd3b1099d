// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// The postings of one term, read block by block.
final class TermPostings: Postings {
    private let number: UInt64
    private let cursor: BlockCursor
    private var block = PostingBlock()
    /// Which posting of the block it stands on.
    private var index = -1
    /// The posting whose places begin at an offset: those before have been passed over.
    private var passed = (index: 0, offset: 0)
    private(set) var ordinal: UInt64 = 0
    private(set) var documentCount: UInt64 = 0

    /// Goes to the postings of a term.
    init(_ number: UInt64, _ stores: TextIndexStores, _ reader: any StorageReader) throws {
        self.number = number
        cursor = try BlockCursor(stores.postings, reader)
        var key: [UInt8] = []
        PostingKey.append(number, to: &key)
        if try cursor.seek(toAtLeast: key.span), cursor.isAt(key.span) {
            try load()
            documentCount = block.documentCount
        } else {
            end()
        }
    }

    var frequency: UInt64 { block.frequencies[index] }

    func close() { cursor.close() }

    func advance(to target: UInt64) throws {
        guard ordinal < target else { return }
        guard block.ordinals.last ?? 0 < target else { return step(to: target) }
        // The next block is near; those behind it are found by their keys.
        guard try cursor.next(), try load() else { return end() }
        if block.ordinals.last ?? 0 < target {
            var key: [UInt8] = []
            PostingKey.append(number, target, to: &key)
            guard try cursor.seek(toAtMost: key.span), try load() else { return end() }
            // The document may be behind the last one of its block.
            if block.ordinals.last ?? 0 < target {
                guard try cursor.next(), try load() else { return end() }
            }
        }
        step(to: target)
    }

    /// Goes on within the block, which has a document that is not below the target.
    private func step(to target: UInt64) {
        var next = max(index, 0)
        let ordinals = block.ordinals
        // Steps double until one would go too far, and then halve: what is near is found at once.
        var stride = 1
        while next + stride < ordinals.count, ordinals[next + stride] < target {
            next += stride
            stride *= 2
        }
        while stride > 1 {
            stride /= 2
            if next + stride < ordinals.count, ordinals[next + stride] < target { next += stride }
        }
        if ordinals[next] < target { next += 1 }
        index = next
        ordinal = ordinals[next]
    }

    /// Takes the block apart at which the cursor stands; false when it is another term's.
    @discardableResult
    private func load() throws -> Bool {
        var isOwn = false
        try cursor.withRow { key, value in
            let parts = try PostingKey.parts(key)
            guard parts.number == number else { return }
            try block.load(value, isHead: parts.ordinal == nil)
            isOwn = true
        }
        (index, passed) = (-1, (0, block.placesStart))
        return isOwn
    }

    private func end() {
        ordinal = .max
        block.removeAll()
        cursor.close()
    }

    func readPlaces(into places: inout [UInt64]) throws {
        while passed.index < index {
            passed.offset = try block.end(
                ofPlaces: block.frequencies[passed.index], at: passed.offset)
            passed.index += 1
        }
        places.removeAll(keepingCapacity: true)
        try block.appendPlaces(frequency, at: passed.offset, to: &places)
    }

    /// Calls `body` for each document from here on.
    func forEach(below bound: UInt64, _ body: () throws -> Void) throws {
        while ordinal < bound {
            try body()
            try advance(to: ordinal + 1)
        }
    }
}
