// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Where packed blocks go, in the order of their keys.
protocol BlockTarget {
    mutating func set(_ block: Span<UInt8>, forKey key: Span<UInt8>) throws
}

/// Blocks that are written at once.
struct StoredBlocks: BlockTarget {
    let store: Store
    let writer: any StorageWriter

    func set(_ block: Span<UInt8>, forKey key: Span<UInt8>) throws {
        try writer.set(block, forKey: key, in: store)
    }
}

/// Blocks that are written later: they were packed outside a transaction.
struct PackedBlocks: BlockTarget, Sendable {
    private var bytes: [UInt8] = []
    /// Where each block's key ends, and where the block does.
    private var ends: [(key: Int, block: Int)] = []

    /// - Parameter capacity: About how many bytes they will have.
    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
        ends.reserveCapacity(capacity / BlockEditor.filledBlock)
    }

    mutating func set(_ block: Span<UInt8>, forKey key: Span<UInt8>) {
        bytes.append(copying: key)
        let keyEnd = bytes.count
        bytes.append(copying: block)
        ends.append((keyEnd, bytes.count))
    }

    /// Writes them.
    ///
    /// - Throws: `StorageError`.
    func write(to store: Store, _ writer: any StorageWriter) throws {
        let bytes = bytes.span
        var start = 0
        for end in ends {
            try writer.set(
                bytes.extracting(end.key..<end.block), forKey: bytes.extracting(start..<end.key),
                in: store)
            start = end.block
        }
    }
}

extension BlockPacker {
    /// Packs for a store that is empty.
    init(first target: Target) { self.init(BlockEditor.firstKey, target) }

    /// Adds the next row of many.
    mutating func add(key: Span<UInt8>, value: Span<UInt8>) throws {
        try append(key: key, value: value)
        if isFull { try flush() }
    }

    /// Packs what is left, and returns where it went.
    mutating func finished() throws -> Target {
        if !isEmpty { try finish(isAtEnd: true) }
        return target
    }
}
