// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// Puts the blocks of one term together from postings that are given in order: see ``PostingBlock``.
struct PostingPacker {
    /// The most bytes of a block, unless it has one posting. SQLite keeps five such rows on a page of 4 kB.
    static let largestBlock = 776

    private struct Posting {
        var ordinal: UInt64
        var frequency: UInt64
        /// Where its places end; they begin where those before end.
        var placesEnd: Int
        /// About how many bytes it takes.
        var size: Int
    }

    private var postings: [Posting] = []
    private var places: [UInt8] = []
    private(set) var size = 0

    var isEmpty: Bool { postings.isEmpty }
    var count: Int { postings.count }

    mutating func removeAll() {
        postings.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        size = 0
    }

    /// Adds the next posting.
    ///
    /// - Parameters:
    ///   - ordinal: The document, which stands behind those before.
    ///   - frequency: How often it has the term.
    ///   - encoded: Its places, as a block has them.
    mutating func append(_ ordinal: UInt64, _ frequency: UInt64, _ encoded: Span<UInt8>) {
        let start = places.count
        places.append(copying: encoded)
        append(ordinal, frequency, placesFrom: start)
    }

    /// Adds the next posting.
    mutating func append(_ ordinal: UInt64, _ encoded: ShortPlaces) {
        let start = places.count
        for index in 0..<encoded.size { places.append(encoded[index]) }
        append(ordinal, encoded.frequency, placesFrom: start)
    }

    private mutating func append(_ ordinal: UInt64, _ frequency: UInt64, placesFrom start: Int) {
        let gap = ordinal - (postings.last?.ordinal ?? 0)
        var size = Varint.length(of: gap << 1) + places.count - start
        if frequency > 1 { size += Varint.length(of: frequency - 2) }
        postings.append(
            Posting(
                ordinal: ordinal, frequency: frequency, placesEnd: places.count, size: size))
        self.size += size
    }

    /// Hands on the blocks.
    ///
    /// - Parameters:
    ///   - isLast: Whether no block of the term follows. Then blocks are filled, since new documents are added
    ///     behind; else they are made alike, since whatever is added comes in between.
    ///   - body: Gets the ordinal of a block's first document, and what the block is made of.
    func forEachBlock(isLast: Bool, _ body: (UInt64, Block) throws -> Void) rethrows {
        let parts = max(1, (size + Self.largestBlock - 1) / Self.largestBlock)
        let target = isLast ? Self.largestBlock : size / parts + 1
        var (first, placesStart) = (0, 0)
        while first < postings.count {
            var (end, packed) = (first, 0)
            repeat {
                packed += postings[end].size
                end += 1
            } while end < postings.count && packed < target
                && packed + postings[end].size <= Self.largestBlock
            try body(
                postings[first].ordinal, Block(postings: first..<end, placesStart: placesStart))
            (first, placesStart) = (end, postings[end - 1].placesEnd)
        }
    }

    /// The postings of a block, and where their places begin.
    struct Block {
        fileprivate var postings: Range<Int>
        fileprivate var placesStart: Int
    }

    /// Appends a block without the count of a head.
    func append(_ block: Block, to bytes: inout [UInt8]) {
        let postings = postings[block.postings]
        let placesEnd = postings.last?.placesEnd ?? block.placesStart
        var (size, before) = (0, UInt64(0))
        for posting in postings {
            size += Varint.length(of: (posting.ordinal - before) << 1)
            if posting.frequency > 1 { size += Varint.length(of: posting.frequency - 2) }
            before = posting.ordinal
        }
        Varint.append(UInt64(postings.count), to: &bytes)
        Varint.append(UInt64(size), to: &bytes)
        before = 0
        for posting in postings {
            let isSeveral = posting.frequency > 1
            Varint.append((posting.ordinal - before) << 1 | (isSeveral ? 1 : 0), to: &bytes)
            if isSeveral { Varint.append(posting.frequency - 2, to: &bytes) }
            before = posting.ordinal
        }
        bytes.append(copying: places.span.extracting(block.placesStart..<placesEnd))
    }

    /// A block without postings.
    static let emptyBlock: [UInt8] = [0, 0]
}
