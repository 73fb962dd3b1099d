// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB

/// What each byte of a sound file of LMDB's is for, as its newest commit sees it.
///
/// It follows the file from its first pages by itself, and looks at the bytes only.
struct FileMap {
    enum Use: UInt8 {
        /// Nothing refers to it: an unused page, or room between or after what is used.
        case nothing
        /// Where a change moves the database to another sound state, or changes nothing: keys of
        /// branches, the numbers of commits and of unused pages, the number of the last page.
        case soft
        /// Pages, nodes, records, and keys.
        case structure
        /// A value or its checksum.
        case value
    }

    private static let pageSize = 4_096
    private let file: [UInt8]
    private(set) var uses: [Use]
    /// Where the stored values of all rows of stores lie, checksums included.
    private(set) var values: [Range<Int>] = []

    init(_ file: [UInt8]) {
        self.file = file
        uses = Array(repeating: .nothing, count: file.count)
        let numbers = (0..<2).map { page($0).number(at: 144, size: 8) }
        let meta = numbers[0] > numbers[1] ? 0 : 1
        let start = meta * Self.pageSize
        for page in 0..<2 {
            mark(page * Self.pageSize + 16..<page * Self.pageSize + 24, .structure)
            mark(page * Self.pageSize + 144..<page * Self.pageSize + 152, .soft)
        }
        // Without the addresses, what is of no use in a record, and the last page.
        mark(start + 40..<start + 88, .structure)
        mark(start + 92..<start + 136, .structure)
        mark(start + 136..<start + 144, .soft)
        for (place, kind) in [(start + 40, Kind.unused), (start + 88, .main)] {
            follow(DatabaseRecord(file[place..<place + 48]), kind)
        }
    }

    func use(_ byte: Int) -> Use { uses[byte] }

    private enum Kind {
        case unused, main, rows
    }

    private func page(_ number: Int) -> ArraySlice<UInt8> {
        file[number * Self.pageSize..<(number + 1) * Self.pageSize]
    }

    private mutating func mark(_ bytes: Range<Int>, _ use: Use) {
        for byte in bytes { uses[byte] = use }
    }

    private mutating func follow(_ record: DatabaseRecord, _ kind: Kind) {
        if record.root != .max { follow(Int(record.root), depth: record.depth, kind) }
    }

    private mutating func follow(_ number: Int, depth: Int, _ kind: Kind) {
        let page = page(number)
        let start = page.startIndex
        mark(start..<start + 8, .structure)
        mark(start + 10..<start + 16 + 2 * count(page), .structure)
        for node in PageNode.nodes(of: page, isBranch: depth > 1) ?? [] {
            let value = node.value.startIndex..<node.value.endIndex
            let key = value.lowerBound - node.key.count..<value.lowerBound
            mark(key.lowerBound - 8..<key.lowerBound, .structure)
            if depth > 1 {
                mark(key, .soft)
                follow(Int(node.child), depth: depth - 1, kind)
            } else {
                // Numbers of commits, which may be any earlier ones.
                mark(key, kind == .unused ? .soft : .structure)
                mark(node, value, kind)
            }
        }
    }

    private func count(_ page: ArraySlice<UInt8>) -> Int {
        (Int(page.number(at: 12, size: 2)) - 16) / 2
    }

    private mutating func mark(_ node: PageNode, _ place: Range<Int>, _ kind: Kind) {
        var value = place
        if node.isLarge {
            mark(place, .structure)
            let start = Int(node.value.number(at: 0, size: 8)) * Self.pageSize
            mark(start..<start + 8, .structure)
            mark(start + 10..<start + 16, .structure)
            value = start + 16..<start + 16 + node.size
        }
        switch kind {
        case .rows:
            mark(value, .value)
            values.append(value)
        case .main:
            mark(value.lowerBound + 4..<value.upperBound, .structure)
            follow(DatabaseRecord(file[value]), .rows)
        case .unused:
            // A list says first how many there are, and may have room for more. Where it names fewer than
            // there are, the others are never used again, and nothing else comes of it.
            let count = Int(file[value].number(at: 0, size: 8))
            mark(value.lowerBound..<value.lowerBound + 8 * (count + 1), .structure)
            mark(value.lowerBound..<value.lowerBound + 8, .soft)
        }
    }
}
