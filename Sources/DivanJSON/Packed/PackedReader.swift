// SPDX-License-Identifier: Apache-2.0

/// The head of a packed value within its bytes.
struct PackedNode {
    var tag: UInt8
    /// Where the tag stands.
    var offset: Int
    /// Where the payload begins: a text's bytes, a number's bytes, a container's first entry.
    var start: Int
    /// Where the value ends.
    var end: Int
    /// How many entries a container has.
    var count = 0
    /// The width of a container's table entries; the table ends where the payload begins.
    var tableWidth = 0

    @inline(__always)
    var isString: Bool { tag <= 0x3F || (tag >= PackedTag.string8 && tag <= PackedTag.string32) }
    @inline(__always)
    var isObject: Bool { tag & 0xE0 == PackedTag.object }
    @inline(__always)
    var isArray: Bool { tag & 0xE0 == PackedTag.array }
    @inline(__always)
    var length: Int { end - start }
}

/// Reads packed bytes that may be corrupt.
///
/// ## Invariants
///
/// `checkInvariants()` tests the second and the third for each offset. `MemoryInvariantsTests` call it with any bytes, and show
/// the first by bytes behind the end, which change nothing.
///
/// 1. `base` points at `count` readable bytes while the reader lives, which is within one
///    `withUnsafeBufferPointer` closure.
/// 2. `node(at:limit:)` returns only nodes with `offset < start <= end <= limit`, where the limit is
///    at most `count`. So a walk from node to node moves forward, stays inside, and ends.
/// 3. A container's `count` is at most its length, so it is safe to make room by it.
@safe struct PackedReader {
    private let base: UnsafePointer<UInt8>
    let count: Int

    @inline(__always)
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        // An empty buffer may have no address; then `count` is 0 and nothing is read.
        unsafe base = bytes.baseAddress ?? UnsafePointer(bitPattern: 1).unsafelyUnwrapped
        count = bytes.count
    }

    /// The byte at an offset inside.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        // SAFETY: callers compare with a limit first (invariant 2).
        unsafe base[offset]
    }

    /// Reads a little-endian number of 1 to 8 bytes, which are known to be inside.
    @inline(__always)
    func fixed(at offset: Int, width: Int) -> UInt64 {
        if offset + 8 <= count {
            // SAFETY: eight bytes are left; those beyond the width are masked away.
            let word = unsafe UInt64(
                littleEndian: UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self))
            return width >= 8 ? word : word & ((1 << UInt64(8 * width)) &- 1)
        }
        var value: UInt64 = 0
        for index in 0..<width { value |= UInt64(byte(at: offset + index)) << UInt64(8 * index) }
        return value
    }

    /// Lends the payload of a node.
    @inline(__always)
    func payload(_ node: PackedNode) -> UnsafeBufferPointer<UInt8> {
        // SAFETY: invariant 2: `start <= end <= count`.
        unsafe UnsafeBufferPointer(start: base + node.start, count: node.end - node.start)
    }

    /// Lends the bytes of a range that is known to be inside.
    @inline(__always)
    func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        // SAFETY: the caller has found the range by walking nodes (invariant 2).
        unsafe UnsafeBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// The root's value; `nil` if the version is unknown or the value does not fill the bytes.
    @inline(__always)
    var root: PackedNode? {
        hasVersion ? node(at: 1, limit: count) : nil
    }

    /// Whether the bytes begin with the version of this form, and a value may follow.
    @inline(__always)
    var hasVersion: Bool { count >= 2 && byte(at: 0) == PackedTag.version }

    /// Reads the head of the value at an offset.
    ///
    /// - Returns: `nil` when there is no value that ends at or before the limit.
    @inline(__always)
    func node(at offset: Int, limit: Int) -> PackedNode? {
        guard offset < limit else { return nil }
        let tag = byte(at: offset)
        let length: Int
        switch tag {
        case 0..<0x40: length = Int(tag)
        case 0x40..<0x83: length = 0
        default: return longNode(tag, at: offset, limit: limit)
        }
        guard length < limit - offset else { return nil }
        return PackedNode(tag: tag, offset: offset, start: offset + 1, end: offset + 1 + length)
    }

    private func longNode(_ tag: UInt8, at offset: Int, limit: Int) -> PackedNode? {
        if tag >= 0xC0 { return container(tag, at: offset, limit: limit) }
        var start = offset + 1
        let length: Int
        switch tag {
        case PackedTag.double: length = 8
        case 0x90..<0xA0: length = Int(tag & 7) + 1
        case 0xA0..<0xA6: length = Int(tag - PackedTag.decimal) + 2
        case PackedTag.string8, PackedTag.number8, PackedTag.string16, PackedTag.string32,
            PackedTag.number32:
            let width =
                tag == PackedTag.string8 || tag == PackedTag.number8
                ? 1 : (tag == PackedTag.string16 ? 2 : 4)
            guard width <= limit - start else { return nil }
            let base = tag == PackedTag.string8 ? PackedTag.string8Base : 0
            length = Int(fixed(at: start, width: width)) + base
            start += width
        default: return nil
        }
        guard length <= limit - start else { return nil }
        return PackedNode(tag: tag, offset: offset, start: start, end: start + length)
    }

    private func container(_ tag: UInt8, at offset: Int, limit: Int) -> PackedNode? {
        let low = tag & 0x0F
        let isWide = tag & PackedTag.wideBit != 0
        if low != 0, low != PackedTag.explicitCount {
            guard let content = smallContent(tag, at: offset, limit: limit) else { return nil }
            return PackedNode(
                tag: tag, offset: offset, start: content.lowerBound, end: content.upperBound,
                count: Int(low), tableWidth: isWide ? 2 : 1)
        }
        if low == 0, !isWide {
            return PackedNode(tag: tag, offset: offset, start: offset + 1, end: offset + 1)
        }
        let width = isWide ? (low == 0 ? 4 : 2) : 1
        var position = offset + 1
        guard 2 * width <= limit - position else { return nil }
        let count = Int(fixed(at: position, width: width))
        let size = Int(fixed(at: position + width, width: width))
        position += 2 * width
        let table = count > PackedTag.stride ? PackedTag.tableCount(count) * width : 0
        // An entry takes a byte at least, so a count beyond what the table leaves is a lie.
        guard size <= limit - position, count <= size - table else { return nil }
        return PackedNode(
            tag: tag, offset: offset, start: position + table, end: position + size, count: count,
            tableWidth: width)
    }

    /// Where the content of a container lies that has 1 to 14 entries, and so no table; `nil` when it
    /// does not end at or before the limit.
    @inline(__always)
    func smallContent(_ tag: UInt8, at offset: Int, limit: Int) -> Range<Int>? {
        let isWide = tag & PackedTag.wideBit != 0
        let start = offset + (isWide ? 3 : 2)
        guard start <= limit else { return nil }
        var size = Int(byte(at: offset + 1))
        if isWide { size |= Int(byte(at: offset + 2)) << 8 }
        // An entry takes a byte at least, so a count beyond the size is a lie.
        guard size >= Int(tag & 0x0F), size <= limit - start else { return nil }
        return unsafe Range(uncheckedBounds: (start, start + size))
    }

    /// Where entry `16 * block` of a container begins; `nil` outside of its content.
    @inline(__always)
    func blockStart(_ block: Int, of node: PackedNode) -> Int? {
        if block == 0 { return node.start }
        let blocks = PackedTag.tableCount(node.count)
        guard block <= blocks else { return nil }
        let entry = node.start - (blocks - block + 1) * node.tableWidth
        let start = node.start + Int(fixed(at: entry, width: node.tableWidth))
        return start < node.end ? start : nil
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        for limit in [count, count / 2] {
            for offset in 0..<limit {
                guard let node = node(at: offset, limit: limit) else { continue }
                precondition(offset == node.offset && offset < node.start, "invariant 2")
                precondition(node.start <= node.end && node.end <= limit, "invariant 2")
                precondition(node.count >= 0 && node.count <= node.length, "invariant 3")
                guard node.isArray || node.isObject else { continue }
                for block in 0...PackedTag.tableCount(node.count) {
                    let start = blockStart(block, of: node) ?? node.start
                    precondition(node.start <= start && start <= node.end, "invariant 2")
                }
            }
        }
    }
}
