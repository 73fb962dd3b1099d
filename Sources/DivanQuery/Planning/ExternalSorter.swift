// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel
internal import DivanSystem

/// Sorts more than memory should hold: runs that are sorted go to a file and are merged at the end.
///
///     add, add, …     64 MB in memory ──► sorted, written as a run
///     …               64 MB in memory ──► sorted, written as a run
///     forEach         the runs and what is in memory, merged
///
/// The file has no name, is encrypted with a key that is nowhere else, and is removed with the sorter. With a limit,
/// items that cannot be among the first ones are dropped, so there is seldom anything to write.
struct ExternalSorter {
    /// What is sorted: bytes to sort by, and what belongs to them.
    struct Item {
        var key: [UInt8]
        var payload: [UInt8]

        fileprivate var cost: Int { key.count + payload.count + 64 }
    }

    /// How much is held in memory.
    static let largestMemory = 64 << 20

    private let limit: Int?
    private let memory: Int
    private var items: [Item] = []
    private var cost = 0
    private var file: SealedScratch?
    private var runs: [Range<Int>] = []

    /// How many runs went to the file.
    var spilledRuns: Int { runs.count }

    /// Makes a sorter.
    ///
    /// - Parameters:
    ///   - limit: How many of the first items are wanted; nil for all.
    ///   - memory: How many bytes to hold.
    init(limit: Int? = nil, memory: Int = largestMemory) {
        self.limit = limit
        self.memory = memory
    }

    mutating func add(_ item: Item) throws {
        items.append(item)
        cost += item.cost
        if let limit, items.count / 2 >= max(limit, 512) { keepFirst(limit) }
        if cost > memory { try spill() }
    }

    private mutating func sortItems() { items.sort { $0.key.precedes($1.key) } }

    private mutating func keepFirst(_ limit: Int) {
        sortItems()
        items.removeLast(items.count - limit)
        cost = items.reduce(0) { $0 + $1.cost }
    }

    private mutating func spill() throws {
        sortItems()
        var bytes: [UInt8] = []
        do {
            let file = try file ?? SealedScratch()
            self.file = file
            let start = file.length
            for item in items {
                for part in [item.key, item.payload] {
                    Varint.append(UInt64(part.count), to: &bytes)
                    bytes.append(contentsOf: part)
                }
                if bytes.count > 1 << 20 { try write(&bytes, to: file) }
            }
            try write(&bytes, to: file)
            runs.append(start..<file.length)
        } catch let error as SystemError {
            throw DatabaseError.io(error)
        }
        items.removeAll()
        cost = 0
    }

    private func write(_ bytes: inout [UInt8], to file: SealedScratch) throws {
        try file.write(bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    /// Calls `body` with the items in order, until it returns false. Nothing can be added afterwards.
    mutating func forEach(_ body: (Item) throws -> Bool) throws {
        sortItems()
        guard let scratch = file, !runs.isEmpty else {
            for item in items { guard try body(item) else { return } }
            return
        }
        let file: ContentFile
        do { file = try scratch.finish() } catch { throw DatabaseError.io(error) }
        var sources = runs.map { SortedRun(file: file, range: $0) }
        sources.append(SortedRun(items: items))
        items.removeAll()
        var heads: [Item?] = []
        for index in sources.indices { heads.append(try sources[index].next()) }
        // There are few runs, so the least of their heads is looked for one by one.
        while let least = Self.least(heads), let item = heads[least] {
            guard try body(item) else { return }
            heads[least] = try sources[least].next()
        }
    }

    private static func least(_ heads: [Item?]) -> Int? {
        var least: (index: Int, key: [UInt8])?
        for (index, head) in heads.enumerated() {
            guard let head else { continue }
            if let found = least, !head.key.precedes(found.key) { continue }
            least = (index, head.key)
        }
        return least?.index
    }
}

/// A sorted run, read from the file in pieces, or from memory.
private struct SortedRun {
    private static let pieceSize = 256 << 10

    private var file: ContentFile?
    private var range = 0..<0
    private var buffer: [UInt8] = []
    private var offset = 0
    private var items: ArraySlice<ExternalSorter.Item> = []

    init(file: ContentFile, range: Range<Int>) {
        self.file = file
        self.range = range
    }

    init(items: [ExternalSorter.Item]) { self.items = items[...] }

    mutating func next() throws -> ExternalSorter.Item? {
        guard file != nil else { return items.popFirst() }
        guard offset < buffer.count || !range.isEmpty else { return nil }
        return ExternalSorter.Item(key: try part(), payload: try part())
    }

    private mutating func part() throws -> [UInt8] {
        try fill(Varint.maximumLength, isNeeded: false)
        var end = offset
        let length: UInt64
        do { length = try Varint.decode(buffer.span, at: &end) } catch {
            throw DatabaseError.corrupted("A temporary file of a query", nil, error)
        }
        offset = end
        guard length <= UInt64(Int32.max) else {
            throw DatabaseError.corrupted("A temporary file of a query", nil)
        }
        try fill(Int(length), isNeeded: true)
        defer { offset += Int(length) }
        return Array(buffer[offset..<offset + Int(length)])
    }

    /// Makes at least this many bytes available, as far as the run has them.
    private mutating func fill(_ count: Int, isNeeded: Bool) throws {
        guard buffer.count - offset < count, let file else { return }
        buffer.removeFirst(offset)
        offset = 0
        while buffer.count < count, !range.isEmpty {
            let wanted = min(range.count, max(Self.pieceSize, count))
            let piece: [UInt8]
            do { piece = try file.read(at: range.lowerBound, upTo: wanted) } catch {
                throw DatabaseError.io(error)
            }
            guard !piece.isEmpty else { break }
            buffer += piece
            range = range.lowerBound + piece.count..<range.upperBound
        }
        if isNeeded, buffer.count < count {
            throw DatabaseError.corrupted("A temporary file of a query", nil)
        }
    }
}
