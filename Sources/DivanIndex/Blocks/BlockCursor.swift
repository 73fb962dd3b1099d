// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// A place among the rows of a store that keeps them in blocks: see ``BlockRows``.
///
/// It stands on a row or nowhere, as a `StorageCursor` does. Seeking a row of the block that it stands
/// in does not ask the engine, so it sees no change that is made to its store meanwhile. Make a new
/// cursor after changes.
final class BlockCursor {
    private let blocks: any StorageCursor
    private var rows = BlockRows()
    private var index = 0

    init(_ store: Store, _ reader: any StorageReader) throws {
        blocks = try reader.cursor(in: store)
    }

    // MARK: - Moving

    /// Goes to the first row whose key is not below a key.
    func seek(toAtLeast key: Span<UInt8>) throws -> Bool {
        if !rows.isEmpty, rows.compareKey(0, to: key) <= 0,
            rows.compareKey(rows.count - 1, to: key) >= 0
        {
            index = rows.lowerBound(key)
            return true
        }
        guard try blocks.seekAscending(toAtMost: key) else { return try seekToFirst() }
        try load()
        index = rows.lowerBound(key)
        return try index < rows.count || toNextBlock()
    }

    /// Goes to the last row whose key is not above a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - ascending: Whether `next()` is to follow rather than `previous()`.
    /// - Returns: Whether there is one; if not, it stands nowhere.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    func seek(toAtMost key: Span<UInt8>, ascending: Bool = false) throws -> Bool {
        let isHere =
            !rows.isEmpty && rows.compareKey(0, to: key) <= 0
            && rows.compareKey(rows.count - 1, to: key) >= 0
        if !isHere {
            let isFound =
                try ascending
                ? blocks.seekAscending(toAtMost: key) : blocks.seek(toAtMost: key)
            guard isFound else { return nowhere() }
            try load()
        }
        index = rows.lowerBound(key)
        if index < rows.count, rows.compareKey(index, to: key) == 0 { return true }
        index -= 1
        return try index >= 0 || toPreviousBlock()
    }

    func seekToFirst() throws -> Bool {
        guard try blocks.seekToFirst() else { return nowhere() }
        try load()
        index = 0
        return true
    }

    func seekToLast() throws -> Bool {
        guard try blocks.seekToLast() else { return nowhere() }
        try load()
        index = rows.count - 1
        return true
    }

    func next() throws -> Bool {
        guard !rows.isEmpty else { return false }
        index += 1
        return try index < rows.count || toNextBlock()
    }

    func previous() throws -> Bool {
        guard !rows.isEmpty else { return false }
        index -= 1
        return try index >= 0 || toPreviousBlock()
    }

    func close() {
        blocks.close()
        rows.removeAll()
    }

    private func toNextBlock() throws -> Bool {
        guard try blocks.next() else { return nowhere() }
        try load()
        index = 0
        return true
    }

    private func toPreviousBlock() throws -> Bool {
        guard try blocks.previous() else { return nowhere() }
        try load()
        index = rows.count - 1
        return true
    }

    private func nowhere() -> Bool {
        rows.removeAll()
        return false
    }

    private func load() throws {
        try blocks.withRow { key, block in try rows.load(key: key, block) }
    }

    // MARK: - The row

    /// Lends the key of the row.
    func withKey(_ body: (Span<UInt8>) throws -> Void) throws {
        try requireRow()
        let bytes = rows.bytes
        try body(bytes.span.extracting(rows.key(index)))
    }

    /// Lends the value of the row.
    func withValue(_ body: (Span<UInt8>) throws -> Void) throws {
        try requireRow()
        let bytes = rows.bytes
        try body(bytes.span.extracting(rows.value(index)))
    }

    /// Lends key and value of the row.
    @inline(__always)
    func withRow(_ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void) throws {
        try requireRow()
        let bytes = rows.bytes
        try body(
            bytes.span.extracting(rows.key(index)), bytes.span.extracting(rows.value(index)))
    }

    /// Whether the row's key is this.
    func isAt(_ key: Span<UInt8>) -> Bool {
        rows.indices.contains(index) && rows.compareKey(index, to: key) == 0
    }

    private func requireRow() throws {
        guard !rows.isEmpty else {
            throw StorageError.misuse("A cursor that stands nowhere has no key and no value.")
        }
    }
}

extension BlockRows {
    var indices: Range<Int> { 0..<count }
}

extension BlockCursor {
    /// Lends all rows of a store, and sees whether they stand in order; for verification.
    static func forEachRow(
        of store: Store, _ reader: any StorageReader,
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void
    ) throws {
        let cursor = try BlockCursor(store, reader)
        defer { cursor.close() }
        var last: [UInt8] = []
        var found = try cursor.seekToFirst()
        while found {
            try cursor.withRow { key, value in
                guard last.isEmpty || compare(last.span, key) < 0 else {
                    throw IndexCorruption("The rows of an index are not in order.")
                }
                last = [UInt8](copying: key)
                try body(key, value)
            }
            found = try cursor.next()
        }
    }
}
