// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Changes the rows of a store that keeps them in blocks, in order: see ``BlockRows``.
///
///     edits        b+    f-             x+
///     blocks     │ a c │ e f g │ h … w │ y z │
///                  ▼       ▼              ▼
///                │ a b c │ e g │       │ x y z │        a block is read and written once
///
/// A block that grows too large becomes several. One that shrinks too much takes in the one after it.
struct BlockEditor {
    /// The most bytes of a block's key and value: one that grows beyond is split. SQLite keeps up to
    /// 1,002 bytes of a row on a page of 4 kB, and half of that makes a change of single rows much
    /// cheaper and a build hardly more expensive.
    static let largestBlock = 640
    /// What rows are packed into where they become several blocks. The rest is room to grow: the next
    /// row that comes in between splits nothing.
    static let filledBlock = 480
    /// Smaller blocks are joined with the one after them.
    private static let smallestBlock = 120
    /// The key of the first block, which is below every row's.
    static let firstKey: [UInt8] = [0]

    /// The outcome of an edit.
    enum Outcome: UInt8, Sendable {
        /// There was no such row, and now there is.
        case added
        /// The row had another value.
        case changed
        /// The row was so already.
        case same
        /// The row is gone.
        case removed
        /// The row that was to be replaced or removed is not there.
        case missing
    }

    /// Gets the value that a row had before an edit, with the place of the edit among all.
    typealias Former = (_ edit: Int, _ value: Span<UInt8>) throws -> Void

    private let store: Store
    private let writer: any StorageWriter

    /// A block as it is stored.
    private struct StoredBlock {
        var key: [UInt8] = []
        var rows = BlockRows()
    }

    /// The place that is being edited: a block, or where one could be.
    private struct Region {
        var key: [UInt8]
        var isStored: Bool
        var rows = BlockRows()
        /// The next row to be copied.
        var index = 0
        /// Where the next block begins: nil inside for none, nil outside until it is asked for.
        var end: [UInt8]??
        /// The block of the first edit that does not belong here.
        var following: StoredBlock?
        var isChanged = false
        var hasTakenBlocks = false
        var packer: BlockPacker<StoredBlocks>
    }

    init(_ store: Store, _ writer: any StorageWriter) {
        self.store = store
        self.writer = writer
    }

    /// Makes changes.
    ///
    /// - Parameters:
    ///   - edits: The changes, sorted, each key once.
    ///   - bytes: The bytes that they are made of.
    ///   - former: Gets the value of each row that is there already, just before its edit.
    /// - Returns: The outcome of each.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `former` throws.
    func apply(
        _ edits: [BlockEdits.Edit], of bytes: Span<UInt8>, former: Former = { _, _ in }
    ) throws -> [Outcome] {
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(edits.count)
        var following: StoredBlock?
        while outcomes.count < edits.count {
            let found = try following ?? block(of: bytes.extracting(edits[outcomes.count].key))
            var region = region(of: found)
            repeat {
                try merge(edits, of: bytes, into: &region, &outcomes, former)
            } while try takesNextBlock(&region)
            // A block that was taken in is not there any more.
            following = region.hasTakenBlocks ? nil : region.following
            try close(&region)
        }
        return outcomes
    }

    // MARK: - Regions

    /// Reads the block that a key belongs to; nil when it would come before all blocks.
    private func block(of key: Span<UInt8>) throws -> StoredBlock? {
        let cursor = try writer.cursor(in: store)
        defer { cursor.close() }
        guard try cursor.seek(toAtMost: key) else { return nil }
        var block = StoredBlock()
        try cursor.withRow { key, rows in
            block.key = [UInt8](copying: key)
            try block.rows.load(key: key, rows)
        }
        return block
    }

    private func region(of block: StoredBlock?) -> Region {
        let key = block?.key ?? Self.firstKey
        return Region(
            key: key, isStored: block != nil, rows: block?.rows ?? BlockRows(),
            packer: BlockPacker(key, StoredBlocks(store: store, writer: writer)))
    }

    /// Where the next block begins.
    private func end(of region: inout Region) throws -> [UInt8]? {
        if let end = region.end { return end }
        let cursor = try writer.cursor(in: store)
        defer { cursor.close() }
        var end: [UInt8]?
        let isFound =
            try region.isStored
            ? cursor.seek(toAtLeast: (region.key + [0]).span) : cursor.seekToFirst()
        if isFound { try cursor.withKey { end = [UInt8](copying: $0) } }
        region.end = .some(end)
        return end
    }

    /// Copies the rows of a region with the edits that belong there.
    private func merge(
        _ edits: [BlockEdits.Edit], of bytes: Span<UInt8>, into region: inout Region,
        _ outcomes: inout [Outcome], _ former: Former
    ) throws {
        while outcomes.count < edits.count {
            let edit = edits[outcomes.count]
            let key = bytes.extracting(edit.key)
            guard try belongs(key, to: &region) else { break }
            var order = -1
            while region.index < region.rows.count {
                order = region.rows.compareKey(region.index, to: key)
                guard order < 0 else { break }
                try copyRow(&region)
            }
            let isThere = region.index < region.rows.count && order == 0
            if isThere {
                let known = region.rows.bytes
                try former(
                    outcomes.count, known.span.extracting(region.rows.value(region.index)))
            }
            outcomes.append(
                try make(edit, key, bytes.extracting(edit.value), isThere: isThere, &region))
            if region.packer.isFull {
                // What is written now must not pass for the next block.
                _ = try end(of: &region)
                try region.packer.flush()
            }
        }
        while region.index < region.rows.count { try copyRow(&region) }
    }

    private func belongs(_ key: Span<UInt8>, to region: inout Region) throws -> Bool {
        if !region.rows.isEmpty, region.rows.compareKey(region.rows.count - 1, to: key) >= 0 {
            return true
        }
        if case .some(let end) = region.end { return end.map { compare(key, $0.span) < 0 } ?? true }
        // Looking for the key's own block costs no more than asking where this one ends.
        if region.isStored, let found = try block(of: key), found.key != region.key {
            region.following = found
            return false
        }
        guard let end = try end(of: &region) else { return true }
        return compare(key, end.span) < 0
    }

    private func copyRow(_ region: inout Region) throws {
        let bytes = region.rows.bytes
        let (key, value) = (region.rows.key(region.index), region.rows.value(region.index))
        region.index += 1
        try region.packer.append(
            key: bytes.span.extracting(key), value: bytes.span.extracting(value))
    }

    private func make(
        _ edit: BlockEdits.Edit, _ key: Span<UInt8>, _ value: Span<UInt8>, isThere: Bool,
        _ region: inout Region
    ) throws -> Outcome {
        if !isThere, edit.kind != .put { return edit.kind == .clear ? .same : .missing }
        if edit.kind == .remove || edit.kind == .clear {
            region.index += 1
            region.isChanged = true
            return .removed
        }
        var isSame = false
        if isThere {
            let bytes = region.rows.bytes
            let former = bytes.span.extracting(region.rows.value(region.index))
            isSame = compare(former, value) == 0
            region.index += 1
        }
        if !isSame { region.isChanged = true }
        try region.packer.append(key: key, value: value)
        return isSame ? .same : isThere ? .changed : .added
    }

    /// Goes on into the next block when too little is left of this one.
    private func takesNextBlock(_ region: inout Region) throws -> Bool {
        guard region.isChanged, region.packer.written == 0, !region.packer.isEmpty,
            region.packer.size < Self.smallestBlock, let next = try end(of: &region)
        else { return false }
        let isFound = try writer.withValue(forKey: next.span, in: store) { block in
            try region.rows.load(key: next.span, block)
        }
        guard isFound else { return false }
        region.index = 0
        region.hasTakenBlocks = true
        region.following = nil
        region.end = .none
        // Finds where the block after it begins, while it still stands there.
        let stored = (region.key, region.isStored)
        (region.key, region.isStored) = (next, true)
        _ = try end(of: &region)
        (region.key, region.isStored) = stored
        _ = try writer.remove(key: next.span, in: store)
        return true
    }

    private func close(_ region: inout Region) throws {
        guard region.isChanged else { return }
        if region.packer.isEmpty, region.packer.written == 0 {
            if region.isStored { _ = try writer.remove(key: region.key.span, in: store) }
            return
        }
        // Where the store ends matters to rows of several blocks only.
        let isOne = region.packer.written == 0 && region.packer.fitsOneBlock
        try region.packer.finish(isAtEnd: isOne || end(of: &region) == nil)
    }
}

extension Store {
    /// Changes the rows of a store that keeps them in blocks.
    func edit(
        _ edits: BlockEdits, of bytes: [UInt8], _ writer: any StorageWriter,
        former: BlockEditor.Former = { _, _ in }
    ) throws -> [BlockEditor.Outcome] {
        guard edits.count > 0 else { return [] }
        return try BlockEditor(self, writer).apply(edits.edits, of: bytes.span, former: former)
    }
}
