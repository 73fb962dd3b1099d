// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// Merges the postings of a batch into those of an index, term by term in the order of their numbers.
///
///     postings     term 7:   head 1 … 90 │ 91 … 240 │ 241 … 300
///     batch        term 7:   95 says something else, 250 is gone, 301 … 420 are new
///     written      term 7:   head        │ 91 … 240 │ 241 … 330 │ 331 … 420
///
/// A block is read only where the batch has something for it, and the head, which counts. It is written only where
/// the batch says something else.
struct PostingMerge {
    /// The most bytes of blocks that wait to be written.
    private static let largestWait = 4 << 20

    private let stores: TextIndexStores
    private let writer: any StorageWriter
    private var edits = BlockEdits()
    private var bytes: [UInt8] = []
    private var cursor: BlockCursor?
    private var packer = PostingPacker()
    private var block = PostingBlock()
    /// How many terms lost their last posting.
    private(set) var emptied = 0
    /// How many terms that were known had no posting, and have now.
    private(set) var revived = 0

    /// What a batch has for one term.
    private struct Part {
        var number: UInt64
        /// The postings that are new or say something else.
        var put: Range<Int>
        /// The postings that go, among all that do.
        var gone: Range<Int>
        /// Whether the term is new in the index.
        var isNew: Bool
    }

    /// The head of a term while its other blocks change.
    private struct Head {
        var documentCount: UInt64 = 0
        var isStored = false
        /// The block without the count.
        var block = PostingPacker.emptyBlock
        var isChanged = false
    }

    init(_ stores: TextIndexStores, _ writer: any StorageWriter) {
        self.stores = stores
        self.writer = writer
    }

    /// Merges.
    ///
    /// - Parameters:
    ///   - batch: The postings to put.
    ///   - gone: The postings to remove, sorted.
    ///   - firstNew: The terms with this number or a higher one have no postings yet.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    mutating func apply(
        _ batch: InvertedBatch, _ gone: [InvertedBatch.Gone], newFrom firstNew: UInt64
    ) throws {
        let parts = batch.termsByNumber.map { term in
            let number = batch.numbers[term]
            return Part(
                number: number, put: batch.postings(term), gone: 0..<0, isNew: number >= firstNew)
        }
        for part in Self.adding(gone, to: parts) {
            try merge(part, batch, gone)
            if bytes.count > Self.largestWait { try write() }
        }
        try write()
    }

    private static func adding(_ gone: [InvertedBatch.Gone], to parts: [Part]) -> [Part] {
        var (whole, index, first) = ([Part](), 0, 0)
        while first < gone.count {
            let number = gone[first].number
            var end = first
            while end < gone.count, gone[end].number == number { end += 1 }
            while index < parts.count, parts[index].number < number {
                whole.append(parts[index])
                index += 1
            }
            var part = Part(number: number, put: 0..<0, gone: 0..<0, isNew: false)
            if index < parts.count, parts[index].number == number {
                part = parts[index]
                index += 1
            }
            part.gone = first..<end
            whole.append(part)
            first = end
        }
        return whole + parts[index...]
    }

    private mutating func write() throws {
        cursor?.close()
        cursor = nil
        edits.sort(in: bytes)
        try checked(stores.postings.edit(edits, of: bytes, writer))
        edits = BlockEdits()
        bytes.removeAll(keepingCapacity: true)
    }

    // MARK: - One term

    private mutating func merge(
        _ part: Part, _ batch: InvertedBatch, _ gone: [InvertedBatch.Gone]
    ) throws {
        if part.isNew { return putNew(part, batch) }
        var head = Head()
        let count = try mergeBlocks(part, batch, gone, &head)
        if head.isStored, count == head.documentCount, !head.isChanged { return }
        let start = bytes.count
        PostingKey.append(part.number, to: &bytes)
        let keyEnd = bytes.count
        if count > 0 {
            Varint.append(count, to: &bytes)
            bytes.append(copying: head.block.span)
        } else if head.isStored {
            emptied += 1
        }
        if !head.isStored, count > 0 { revived += 1 }
        guard count > 0 || head.isStored else { return }
        edits.append(
            count == 0 ? .remove : head.isStored ? .replace : .put, at: start,
            keySize: keyEnd - start, valueSize: bytes.count - keyEnd)
    }

    /// Stages the blocks of a term that is new in the index.
    private mutating func putNew(_ part: Part, _ batch: InvertedBatch) {
        for posting in part.put { batch.add(posting, to: &packer) }
        var isHead = true
        packer.forEachBlock(isLast: true) { ordinal, block in
            let start = bytes.count
            if isHead {
                PostingKey.append(part.number, to: &bytes)
            } else {
                PostingKey.append(part.number, ordinal, to: &bytes)
            }
            let keyEnd = bytes.count
            if isHead { Varint.append(UInt64(part.put.count), to: &bytes) }
            packer.append(block, to: &bytes)
            edits.append(
                .put, at: start, keySize: keyEnd - start, valueSize: bytes.count - keyEnd)
            isHead = false
        }
        packer.removeAll()
    }

    /// Merges into the blocks of a term that has some, and returns how many documents have it then.
    private mutating func mergeBlocks(
        _ part: Part, _ batch: InvertedBatch, _ gone: [InvertedBatch.Gone], _ head: inout Head
    ) throws -> UInt64 {
        let cursor = try self.cursor ?? BlockCursor(stores.postings, writer)
        self.cursor = cursor
        try readHead(part.number, cursor, &head)
        var count = head.documentCount
        var (put, left) = (part.put, part.gone)
        while !put.isEmpty || !left.isEmpty {
            let first = min(
                put.first.map(batch.ordinal) ?? .max, left.first.map { gone[$0].ordinal } ?? .max)
            let place = try readBlock(of: part.number, first, cursor, isStored: head.isStored)
            let next = try ordinal(after: part.number, cursor, isStored: head.isStored)
            if try passKnown(&put, left, below: next, batch, gone) { continue }
            let (before, removed) = try mergeBlock(&put, &left, below: next, batch, gone)
            // Wraps around only where an index is damaged, which is noticed below.
            count = count &+ UInt64(packer.count) &- UInt64(before)
            guard removed else { throw damage }
            pack(part.number, at: place, isLast: next == .max, &head)
        }
        guard count < PostingBlock.largest else { throw damage }
        return count
    }

    private let damage = IndexCorruption("A posting that is to be removed is missing.")

    private func readHead(_ number: UInt64, _ cursor: BlockCursor, _ head: inout Head) throws {
        var key: [UInt8] = []
        PostingKey.append(number, to: &key)
        guard try cursor.seek(toAtLeast: key.span), cursor.isAt(key.span) else { return }
        head.isStored = true
        try cursor.withValue { value in
            head.documentCount = try PostingBlock.documentCount(value)
            let start = Varint.length(of: head.documentCount)
            head.block = [UInt8](copying: value.extracting(start...))
        }
    }

    /// Reads the block that a document's posting belongs to, and returns the ordinal in its key: nil for the
    /// head, which may be still to be made.
    private mutating func readBlock(
        of number: UInt64, _ ordinal: UInt64, _ cursor: BlockCursor, isStored: Bool
    ) throws -> UInt64? {
        block.removeAll()
        guard isStored else { return nil }
        var key: [UInt8] = []
        PostingKey.append(number, ordinal, to: &key)
        guard try cursor.seek(toAtMost: key.span) else { throw damage }
        var found: UInt64?
        try cursor.withRow { key, value in
            let parts = try PostingKey.parts(key)
            guard parts.number == number else { throw damage }
            found = parts.ordinal
            try block.load(value, isHead: parts.ordinal == nil)
        }
        return found
    }

    /// The ordinal at which the next block of a term begins; the largest number when there is none.
    private func ordinal(after number: UInt64, _ cursor: BlockCursor, isStored: Bool) throws
        -> UInt64
    {
        guard isStored, try cursor.next() else { return .max }
        var next = UInt64.max
        try cursor.withKey { key in
            let parts = try PostingKey.parts(key)
            if parts.number == number { next = parts.ordinal ?? .max }
        }
        return next
    }

    /// Passes over what belongs to the block, if the block has all of it: an edit of a document leaves most of its words
    /// where they were, or all of them.
    private func passKnown(
        _ put: inout Range<Int>, _ left: Range<Int>, below next: UInt64, _ batch: InvertedBatch,
        _ gone: [InvertedBatch.Gone]
    ) throws -> Bool {
        if let first = left.first, gone[first].ordinal < next { return false }
        var (rest, position) = (put, block.start)
        while let posting = rest.first, batch.ordinal(posting) < next {
            guard try batch.isKnown(posting, to: block, from: &position) else { return false }
            rest.removeFirst()
        }
        guard rest != put else { return false }
        put = rest
        return true
    }

    /// Merges what belongs to the block into it.
    ///
    /// - Returns: How many postings it had, and whether all that were to go were there.
    private mutating func mergeBlock(
        _ put: inout Range<Int>, _ left: inout Range<Int>, below next: UInt64,
        _ batch: InvertedBatch, _ gone: [InvertedBatch.Gone]
    ) throws -> (before: Int, removed: Bool) {
        var (index, offset) = (0, block.placesStart)
        while true {
            let known = index < block.count ? block.ordinals[index] : .max
            let new = put.first.map(batch.ordinal).flatMap { $0 < next ? $0 : nil } ?? .max
            let lost = left.first.map { gone[$0].ordinal }.flatMap { $0 < next ? $0 : nil } ?? .max
            let first = min(known, new)
            guard first < .max || lost < .max else { return (block.count, true) }
            guard lost >= first else { return (block.count, false) }
            var end = offset
            if known == first {
                end = try block.end(ofPlaces: block.frequencies[index], at: offset)
            }
            if new == first {
                batch.add(put.lowerBound, to: &packer)
                put.removeFirst()
            } else if lost == first {
                left.removeFirst()
            } else {
                let bytes = block.bytes
                packer.append(
                    first, block.frequencies[index], bytes.span.extracting(offset..<end))
            }
            if known == first { (index, offset) = (index + 1, end) }
        }
    }

    /// Stages what was packed in place of a block.
    private mutating func pack(
        _ number: UInt64, at place: UInt64?, isLast: Bool, _ head: inout Head
    ) {
        var isFirst = true
        if place == nil {
            head.block = PostingPacker.emptyBlock
            head.isChanged = true
        }
        packer.forEachBlock(isLast: isLast) { ordinal, block in
            defer { isFirst = false }
            if isFirst, place == nil {
                head.block.removeAll()
                return packer.append(block, to: &head.block)
            }
            let start = bytes.count
            PostingKey.append(number, isFirst ? place ?? ordinal : ordinal, to: &bytes)
            let keyEnd = bytes.count
            packer.append(block, to: &bytes)
            edits.append(
                isFirst ? .replace : .put, at: start, keySize: keyEnd - start,
                valueSize: bytes.count - keyEnd)
        }
        if packer.isEmpty, let place {
            let start = bytes.count
            PostingKey.append(number, place, to: &bytes)
            edits.append(.remove, at: start, keySize: bytes.count - start, valueSize: 0)
        }
        packer.removeAll()
    }
}
