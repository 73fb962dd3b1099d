// SPDX-License-Identifier: Apache-2.0

// The bytes of a tree
// ===================
//
// The nodes in tree order, nothing before, between or behind them. A node is
//
//     size      content
//     1         head, see below
//     1…8       generation, a varint       only a leaf's: in a chain it falls by one
//     16        digest                     most are 128 bits, the highest first …
//     1 + n     length and UTF-8           … any other is opaque
//     1…10      sequence, a varint         if the head says so; see below
//     1…5       parent, a varint           if the head says so: a place in an earlier chain
//
// The head:
//
//     bit 7   6   5   4   3   2   1   0
//         │   │   │   └─┬─┘   │   │   └── tombstone
//         0   0   │     │     │   └────── the digest is opaque
//                 │     │     └────────── has a sequence
//                 │     └──────────────── parent: 0 the next node, 1 none, 2 in an earlier chain
//                 └────────────────────── last node
//
// The first node is a leaf, and so is each node behind one whose parent is not the next node.
//
// The first sequence is written as it is. Each further one is written as its difference to the one
// before (earlier minus later, zigzag-coded): along a chain sequences fall in small steps.
//
// The tree of a new document takes 1 + 1 + 16 + 1…4 = at most 22 bytes. An empty tree is the one
// byte 0x80.

/// The first byte of an encoded node.
private struct Head {
    var bits: UInt8

    static let tombstone: UInt8 = 0x01
    static let opaque: UInt8 = 0x02
    static let hasSequence: UInt8 = 0x04
    static let parentMask: UInt8 = 0x18
    static let parentIsNext: UInt8 = 0x00
    static let parentIsNone: UInt8 = 0x08
    static let parentIsEarlier: UInt8 = 0x10
    static let last: UInt8 = 0x20
    static let unused: UInt8 = 0xc0
    static let emptyTree: UInt8 = 0x80

    @inline(__always)
    func has(_ flag: UInt8) -> Bool { bits & flag != 0 }

    @inline(__always)
    var parent: UInt8 { bits & Self.parentMask }

    /// Whether only bits with a meaning are set, and the last node does not announce another.
    @inline(__always)
    var isValid: Bool {
        bits & Self.unused == 0 && parent != Self.parentMask
            && !(has(Self.last) && parent == Self.parentIsNext)
    }
}

extension RevisionTree {
    /// Appends the tree's compact binary encoding, described at the top of this file.
    ///
    /// Equal trees have equal encodings.
    ///
    /// - Parameter bytes: Where to append.
    public func encode(to bytes: inout [UInt8]) {
        if nodes.isEmpty {
            bytes.append(Head.emptyTree)
            return
        }
        var previousSequence: SequenceNumber = 0
        for index in nodes.indices {
            let node = nodes[index]
            let head = head(of: node, at: index)
            bytes.append(head.bits)
            if node.isLeaf { Varint.append(node.id.generation, to: &bytes) }
            node.id.appendDigest(to: &bytes)
            if node.storedSequence != 0 {
                Varint.append(
                    SequenceStep.step(from: previousSequence, to: node.storedSequence), to: &bytes)
                previousSequence = node.storedSequence
            }
            if head.parent == Head.parentIsEarlier {
                Varint.append(UInt64(node.parentIndex), to: &bytes)
            }
        }
    }

    /// Appends the encoding of the tree of one revision, as `encode(to:)` writes it.
    ///
    /// Every document begins so; this way a new one needs no tree in memory.
    ///
    /// - Parameters:
    ///   - id: The only revision.
    ///   - isTombstone: Whether it deletes the document.
    ///   - sequence: The row that holds its body.
    ///   - bytes: Where to append.
    package static func encode(
        only id: RevisionID, isTombstone: Bool, sequence: SequenceNumber, to bytes: inout [UInt8]
    ) {
        var bits = Head.hasSequence | Head.parentIsNone | Head.last
        if isTombstone { bits |= Head.tombstone }
        if case .opaque = id.storage { bits |= Head.opaque }
        bytes.append(bits)
        Varint.append(id.generation, to: &bytes)
        id.appendDigest(to: &bytes)
        Varint.append(sequence, to: &bytes)
    }

    private func head(of node: Node, at index: Int) -> Head {
        var bits: UInt8 = node.isTombstone ? Head.tombstone : 0
        if case .opaque = node.id.storage { bits |= Head.opaque }
        if node.storedSequence != 0 { bits |= Head.hasSequence }
        if node.parentIndex < 0 {
            bits |= Head.parentIsNone
        } else if Int(node.parentIndex) != index + 1 {
            bits |= Head.parentIsEarlier
        }
        if index == nodes.count - 1 { bits |= Head.last }
        return Head(bits: bits)
    }
}

/// The number that a sequence is written as.
private enum SequenceStep {
    /// The number for a sequence that follows `previous`; 0 is the sequence before the first.
    @inline(__always)
    static func step(from previous: SequenceNumber, to sequence: SequenceNumber) -> UInt64 {
        if previous == 0 { return sequence }
        let fall = Int64(bitPattern: previous &- sequence)
        return UInt64(bitPattern: fall << 1 ^ fall >> 63)
    }

    /// The sequence that was written as `step`.
    @inline(__always)
    static func sequence(from previous: SequenceNumber, step: UInt64) -> SequenceNumber {
        if previous == 0 { return step }
        return previous &- (step >> 1 ^ (0 &- (step & 1)))
    }
}

extension RevisionTree {
    /// Decodes a tree, and moves `offset` behind it.
    ///
    /// Any bytes that are accepted give a tree on which every operation ends. Damage that keeps the
    /// shape, such as a changed digest, is not noticed here; the checksum of the stored value and
    /// ``checkInvariants()`` do that.
    ///
    /// - Parameters:
    ///   - bytes: Bytes that ``encode(to:)`` wrote, or damaged ones.
    ///   - offset: Where the tree starts; unspecified after an error.
    /// - Throws: `Corruption` if the bytes are no encoded tree.
    public init(decoding bytes: Span<UInt8>, at offset: inout Int) throws(Corruption) {
        nodes = []
        if offset >= 0, offset < bytes.count, bytes[offset] == Head.emptyTree {
            offset += 1
            return
        }
        // 18: the usual size of a node. The bound keeps a tree at the head of a long span from
        // reserving for all of it.
        nodes.reserveCapacity(min((bytes.count - max(0, offset)) / 18, 256) + 2)

        var reader = NodeReader(offset: offset)
        var isLast = false
        while !isLast {
            isLast = try reader.appendNode(from: bytes, to: &nodes)
        }
        offset = reader.offset
    }

    /// Decodes only the winning revision of an encoded tree.
    ///
    /// Takes the same short time for every tree. The node's ``Node/parent`` is as in the whole
    /// tree.
    ///
    /// - Parameters:
    ///   - bytes: Bytes that ``encode(to:)`` wrote, or damaged ones.
    ///   - offset: Where the tree starts. It is moved behind the first node, not behind the tree.
    /// - Returns: The winning revision.
    /// - Throws: `Corruption` if the bytes do not start with a node. An empty tree has none.
    public static func decodeWinner(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(Corruption) -> Node {
        var reader = NodeReader(offset: offset)
        let (head, node) = try reader.readNode(from: bytes, at: 0)
        guard head.parent != Head.parentIsEarlier else {
            throw Corruption(offset: offset, expectation: "a first node without earlier nodes")
        }
        offset = reader.offset
        return node
    }
}

/// Reads the nodes of a tree one after the other.
private struct NodeReader {
    var offset: Int

    /// The generation that follows from the chain; 0 if the next node is a leaf and states its own.
    var generation: UInt64 = 0

    /// The sequence that the next one differs from; 0 before the first.
    var previousSequence: SequenceNumber = 0

    /// The place of the latest leaf, which is where the current chain starts.
    var chainStart = 0

    init(offset: Int) { self.offset = offset }

    /// Reads a node and appends it, with every check that needs the nodes before it.
    ///
    /// - Returns: Whether it was the last.
    mutating func appendNode(
        from bytes: Span<UInt8>, to nodes: inout [RevisionTree.Node]
    ) throws(ModelCorruption) -> Bool {
        let start = offset
        let place = nodes.count
        let (head, node) = try readNode(from: bytes, at: place)
        nodes.append(node)
        if node.isLeaf {
            if place > 0, !nodes[chainStart].wins(over: node) {
                throw ModelCorruption(offset: start, expectation: "a leaf that wins less")
            }
            chainStart = place
        }
        if head.parent == Head.parentIsEarlier {
            let index = try Varint.decode(bytes, at: &offset)
            guard index < UInt64(chainStart), !nodes[Int(index)].isLeaf,
                nodes[Int(index)].id.generation + 1 == node.id.generation
            else {
                throw ModelCorruption(offset: start, expectation: "a parent in an earlier chain")
            }
            nodes[place].parentIndex = Int32(index)
        }
        return head.has(Head.last)
    }

    /// Reads a node but for a parent in an earlier chain.
    @inline(__always)
    mutating func readNode(
        from bytes: Span<UInt8>, at place: Int
    ) throws(ModelCorruption) -> (Head, RevisionTree.Node) {
        guard offset >= 0, offset < bytes.count else {
            throw ModelCorruption(offset: offset, expectation: "a revision")
        }
        let head = Head(bits: bytes[offset])
        guard head.isValid else {
            throw ModelCorruption(offset: offset, expectation: "the first byte of a revision")
        }
        offset += 1

        let isLeaf = generation == 0
        if isLeaf { generation = try Varint.decode(bytes, at: &offset) }
        guard generation >= 1, generation <= RevisionID.maximumGeneration else {
            throw ModelCorruption(offset: offset, expectation: "a generation of 1 to 2^53")
        }
        let digest = try RevisionID.Storage.decode(
            bytes, at: &offset, isOpaque: head.has(Head.opaque))
        let id = RevisionID(checkedGeneration: generation, storage: digest)
        let sequence = head.has(Head.hasSequence) ? try readSequence(from: bytes) : 0

        // What follows is the parent, or the leaf of another chain.
        let isParentNext = head.parent == Head.parentIsNext
        guard !isParentNext || generation > 1 else {
            throw ModelCorruption(offset: offset, expectation: "no parent of generation 0")
        }
        generation = isParentNext ? generation - 1 : 0
        // Made in one go: filling it in piece by piece costs a third of the time of decoding.
        let node = RevisionTree.Node(
            id: id, isTombstone: head.has(Head.tombstone), isLeaf: isLeaf,
            parentIndex: isParentNext ? Int32(place + 1) : -1, storedSequence: sequence)
        return (head, node)
    }

    @inline(__always)
    private mutating func readSequence(
        from bytes: Span<UInt8>
    ) throws(ModelCorruption) -> SequenceNumber {
        let step = try Varint.decode(bytes, at: &offset)
        let sequence = SequenceStep.sequence(from: previousSequence, step: step)
        guard sequence != 0 else {
            throw ModelCorruption(offset: offset, expectation: "a sequence above 0")
        }
        previousSequence = sequence
        return sequence
    }
}
