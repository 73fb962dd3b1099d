// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// The postings of one term. A stretch is a block.
final class TermPostings: Postings {
    private let number: UInt64
    private let cursor: BlockCursor
    private var block = PostingBlock()
    /// The first posting of the block that has not been passed.
    private var index = 0
    /// Where the places are read.
    private var position = PostingBlock.Position()
    private var isAtEnd = false
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
            close()
        }
    }

    func seek(_ ordinal: UInt64) throws -> ClosedRange<UInt64>? {
        guard try !isAtEnd && (reaches(ordinal) || loadBlock(with: ordinal)) else {
            close()
            return nil
        }
        let ordinals = block.ordinals
        index = firstIndex(in: ordinals.span, from: index, notBelow: ordinal)
        return ordinals[index]...ordinals[ordinals.count - 1]
    }

    private func reaches(_ ordinal: UInt64) -> Bool {
        block.ordinals.last.map { $0 >= ordinal } ?? false
    }

    /// Takes the block apart that has the first document which is not before one behind this block.
    private func loadBlock(with ordinal: UInt64) throws -> Bool {
        // The next block is at hand; those behind it are found by their keys, instead of taking each apart.
        if isNear(ordinal) {
            guard try cursor.next(), try load() else { return false }
            if reaches(ordinal) { return true }
        }
        var key: [UInt8] = []
        PostingKey.append(number, ordinal, to: &key)
        guard try cursor.seek(toAtMost: key.span, ascending: true), try load() else { return false }
        // The document may be behind the last one of its block.
        while !reaches(ordinal) {
            guard try cursor.next(), try load() else { return false }
        }
        return true
    }

    /// Whether a document may be in the next block: if that reaches about as far as this one.
    private func isNear(_ ordinal: UInt64) -> Bool {
        guard let first = block.ordinals.first, let last = block.ordinals.last else { return true }
        return ordinal - last <= last - first
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
        index = 0
        position = block.start
        return isOwn
    }

    func append(
        _ range: ClosedRange<UInt64>, to ordinals: inout [UInt64], _ frequencies: inout [UInt64]
    ) {
        let own = block.ordinals
        let first = firstIndex(in: own.span, from: index, notBelow: range.lowerBound)
        var end = first
        while end < own.count, own[end] <= range.upperBound { end += 1 }
        ordinals.append(contentsOf: own[first..<end])
        frequencies.append(contentsOf: block.frequencies[first..<end])
    }

    func filter(_ ordinals: inout [UInt64]) {
        let own = block.ordinals
        keep(&ordinals, in: own.span, from: index)
    }

    func readPlaces(_ ordinals: [UInt64], into places: inout [UInt64], _ ends: inout [Int]) throws {
        try block.readPlaces(ordinals.span, from: &position, into: &places, &ends)
    }

    func close() {
        isAtEnd = true
        block.removeAll()
        cursor.close()
    }
}
