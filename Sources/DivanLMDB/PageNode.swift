// SPDX-License-Identifier: Apache-2.0

/// A row of a leaf, or a child of a branch, as it lies in a page of LMDB's.
///
/// ## What a page holds (LMDB 0.9, 64 bits, little-endian)
///
///      offset  size  meaning
///           0     8  the page's own number
///          10     2  1 branch, 2 leaf, 4 overflow, 8 meta
///          12     2  where the offsets of the nodes end        an overflow page: how many
///          14     2  where the nodes begin                     pages follow on it, 4 bytes
///          16     …  the offset of each node, 2 bytes
///
///      node    0     2  low half of the value's size           in a branch: of the page's number
///              2     2  high half
///              4     2  1 the value lies on overflow pages, 2 it is a database's record;
///                       in a branch: the highest 16 bits of the page's number
///              6     2  the size of the key, which follows; then the value
///
/// Nodes lie one after the other, from where they begin to the end of the page, each rounded up to an even
/// size, in the order in which they were added; the offsets are in the order of the keys.
struct PageNode {
    private static let headerSize = 16
    private static let nodeSize = 8
    /// The size of a database's record.
    private static let recordSize = 48

    /// The key: of the row, or the least one of the child.
    let key: [UInt8]
    private let flags: UInt64
    /// The size of the value.
    let size: Int
    /// The page of the child.
    let child: UInt64
    /// The value, or for one on overflow pages the number of the first.
    let value: ArraySlice<UInt8>

    /// Whether the value lies on overflow pages.
    var isLarge: Bool { flags & 1 != 0 }
    /// Whether the value is the record of a database.
    var isRecord: Bool { flags & 2 != 0 }

    /// Cuts a page into its nodes; `nil` when they do not fill its used part, or are not as LMDB makes
    /// them.
    static func nodes(of page: ArraySlice<UInt8>, isBranch: Bool) -> [PageNode]? {
        let lower = Int(page.number(at: 12, size: 2))
        let upper = Int(page.number(at: 14, size: 2))
        guard lower >= headerSize, lower <= upper, upper <= page.count, lower % 2 == 0 else {
            return nil
        }
        let count = (lower - headerSize) / 2
        guard count > (isBranch ? 1 : 0) else { return nil }
        var nodes: [PageNode] = []
        var places: [Range<Int>] = []
        for position in 0..<count {
            let offset = Int(page.number(at: headerSize + 2 * position, size: 2))
            guard offset >= upper, offset + nodeSize <= page.count,
                let (node, end) = node(of: page, at: offset, isBranch: isBranch)
            else { return nil }
            nodes.append(node)
            places.append(offset..<end + end % 2)
        }
        places.sort { $0.lowerBound < $1.lowerBound }
        var next = upper
        for place in places {
            guard place.lowerBound == next else { return nil }
            next = place.upperBound
        }
        return next == page.count ? nodes : nil
    }

    private static func node(
        of page: ArraySlice<UInt8>, at offset: Int, isBranch: Bool
    ) -> (PageNode, end: Int)? {
        let flags = page.number(at: offset + 4, size: 2)
        let low = page.number(at: offset, size: 4)
        let start = offset + nodeSize
        let end = start + Int(page.number(at: offset + 6, size: 2))
        guard end <= page.count else { return nil }
        var held = 0
        if !isBranch {
            switch flags {
            case 0: held = Int(low)
            case 1: held = 8
            case 2 where low == recordSize: held = recordSize
            default: return nil
            }
        }
        guard end + held <= page.count else { return nil }
        let node = PageNode(
            key: Array(page[(page.startIndex + start)..<(page.startIndex + end)]), flags: flags,
            size: Int(low), child: low | flags << 32,
            value: page[(page.startIndex + end)..<(page.startIndex + end + held)])
        return (node, end + held)
    }
}

/// What the file says of one of its databases: 48 bytes.
///
///      offset  size  meaning
///           0     4  of no use here
///           4     2  flags
///           6     2  how many pages lie above each other
///           8     8  branches, 8 bytes; leaves, 8 bytes; overflow pages, 8 bytes
///          32     8  rows
///          40     8  the page at the top, all ones when there is none
struct DatabaseRecord {
    let flags: UInt64
    let depth: Int
    let branches: UInt64
    let leaves: UInt64
    let overflows: UInt64
    let entries: UInt64
    let root: UInt64

    /// Reads a record.
    init(_ bytes: ArraySlice<UInt8>) {
        flags = bytes.number(at: 4, size: 2)
        depth = Int(bytes.number(at: 6, size: 2))
        branches = bytes.number(at: 8, size: 8)
        leaves = bytes.number(at: 16, size: 8)
        overflows = bytes.number(at: 24, size: 8)
        entries = bytes.number(at: 32, size: 8)
        root = bytes.number(at: 40, size: 8)
    }
}

extension ArraySlice where Element == UInt8 {
    /// A little-endian number, at an offset from the slice's beginning.
    func number(at offset: Int, size: Int) -> UInt64 {
        var number: UInt64 = 0
        for position in (0..<size).reversed() {
            number = number << 8 | UInt64(self[startIndex + offset + position])
        }
        return number
    }
}
