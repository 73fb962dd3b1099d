// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@Suite struct RevisionTreeEncodingTests {
    private let a = RevisionID(generation: 1, md5: (0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10))
    private let b = RevisionID(generation: 2, md5: (0xb0, 0xb1))

    private func encoding(of tree: RevisionTree) -> [UInt8] {
        var bytes: [UInt8] = []
        tree.encode(to: &bytes)
        return bytes
    }

    private func decode(_ bytes: [UInt8]) throws -> RevisionTree {
        var offset = 0
        return try RevisionTree(decoding: bytes.span, at: &offset)
    }

    @Test func `a new document's tree has the documented bytes`() throws {
        var tree = RevisionTree()
        try tree.insert(a, parent: nil, isTombstone: false, sequence: 300)
        #expect(encoding(of: tree) == [0x2c, 1] + (1...16) + [0xac, 0x02])
    }

    @Test func `an edit adds the new revision before the old`() throws {
        var tree = RevisionTree()
        try tree.insert(a, parent: nil, isTombstone: false, sequence: 300)
        try tree.insert(b, parent: a, isTombstone: true, sequence: 303)
        let zeros = [UInt8](repeating: 0, count: 7)
        let newer = [0x05, 2] + zeros + [0xb0] + zeros + [0xb1] + [0xaf, 0x02] as [UInt8]
        // 303 - 300 = 3, which zigzag coding makes 6.
        #expect(encoding(of: tree) == newer + [0x2c] + (1...16) + [6])
    }

    @Test func `a branch names its parent's place`() throws {
        var tree = RevisionTree()
        try tree.insert(a, parent: nil, isTombstone: false, sequence: nil)
        try tree.insert(b, parent: a, isTombstone: false, sequence: nil)
        tree.insert(
            existing: try RevisionHistory([RevisionID("2-Z"), a]), isTombstone: true,
            sequence: nil)
        // Tombstone, opaque, parent in an earlier chain, last; generation 2; "Z"; place 1.
        #expect(encoding(of: tree).suffix(5) == [0x33, 2, 1, 0x5a, 1])
    }

    @Test func `a single revision takes at most 22 bytes up to sequence 2^28`() throws {
        var tree = RevisionTree()
        try tree.insert(a, parent: nil, isTombstone: false, sequence: 1 << 28 - 1)
        #expect(encoding(of: tree).count == 22)
    }

    @Test func `an empty tree is one byte, and has no winner to decode`() throws {
        let bytes = encoding(of: RevisionTree())
        #expect(bytes == [0x80])
        #expect(try decode(bytes).isEmpty)
        #expect(throws: ModelCorruption.self) {
            var offset = 0
            _ = try RevisionTree.decodeWinner(bytes.span, at: &offset)
        }
    }

    @Test func `sequences of any size and order survive`() throws {
        var tree = RevisionTree()
        try tree.insert(a, parent: nil, isTombstone: false, sequence: .max)
        try tree.insert(b, parent: a, isTombstone: false, sequence: 1)
        let c = RevisionID(generation: 3, md5: (3, 3))
        try tree.insert(c, parent: b, isTombstone: false, sequence: 1 << 63)
        try checkWhole(tree)
    }

    @Test(
        arguments: [
            [], [0x2c], [0x2c, 1], [0x80 | 0x2c, 1], [0x38, 1], [0x20, 1], [0x28, 0],
            [0x2a, 1, 0], [0x2a, 1, 1, 0xff], [0x2a, 1, 2, 0x61], [0x3a, 1, 1, 0x61, 0],
            // A leaf that wins over the one before it.
            [0x0a, 1, 1, 0x61, 0x2a, 1, 1, 0x62],
            // A parent that is a leaf; one that is no node; one of the same generation.
            [0x0a, 2, 1, 0x62, 0x32, 2, 1, 0x61, 0], [0x0a, 2, 1, 0x62, 0x32, 2, 1, 0x61, 9],
            [0x02, 2, 1, 0x62, 0x0a, 1, 0x61, 0x32, 1, 1, 0x61, 1],
            // A chain that goes below generation 1, and one that stops in the middle.
            [0x02, 1, 1, 0x61, 0x2a, 1, 0x61], [0x02, 2, 1, 0x61],
            // Sequence 0.
            [0x2e, 1, 1, 0x61, 0],
        ] as [[UInt8]])
    func `damaged bytes are refused`(bytes: [UInt8]) {
        #expect(throws: ModelCorruption.self) { try decode(bytes) }
    }

    @Test func `an opaque digest that should have been 128 bits is refused`() {
        let digits = Array("73e739f17d43286245f535443683a01a".utf8)
        #expect(throws: ModelCorruption.self) { try decode([0x2a, 1, 32] + digits) }
    }

    @Test(arguments: [
        [], [0x80], [0xff], [0x2c], [0x2c, 1, 9], [0x3a, 1, 1, 0x61, 0], [0x2a, 0],
    ])
    func `a damaged winner is refused`(bytes: [UInt8]) {
        var offset = 0
        #expect(throws: ModelCorruption.self) {
            try RevisionTree.decodeWinner(bytes.span, at: &offset)
        }
    }

    @Test func `a tree can stand between other bytes`() throws {
        var tree = RevisionTree()
        try tree.insert(a, parent: nil, isTombstone: false, sequence: 5)
        var bytes: [UInt8] = [1, 2, 3]
        tree.encode(to: &bytes)
        let end = bytes.count
        bytes += [UInt8](repeating: 0xff, count: 40)
        var offset = 3
        #expect(try RevisionTree(decoding: bytes.span, at: &offset) == tree)
        #expect(offset == end)
    }

    @Test func `an offset outside the bytes is refused`() {
        for start in [-1, 2, Int.min, Int.max - 20, Int.max] {
            var offset = start
            #expect(throws: ModelCorruption.self) {
                _ = try RevisionTree(decoding: [UInt8]([1, 1]).span, at: &offset)
            }
        }
    }

    @Test func `changed, cut and random bytes never trap, and what is accepted can be used`() throws
    {
        for round in Soak.rounds(test: 3_000, soak: 300_000) {
            var random = Soak.random(round: round, salt: 4)
            var bytes: [UInt8] = []
            if random.oneIn(4) {
                bytes = (0..<random.below(80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            } else {
                let family = RevisionFamily(count: 8, using: &random)
                try family.randomTree(using: &random).encode(to: &bytes)
                for _ in 0...random.below(3) {
                    bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
                }
                if random.oneIn(4) { bytes.removeLast(random.below(bytes.count)) }
            }
            guard var tree = try? decode(bytes) else { continue }
            use(&tree)
        }
    }

    @Test func `a tree of one revision is encoded the same without a tree`() throws {
        for text in ["1-00000000000000000000000000000abc", "1-abc"] {
            for isTombstone in [false, true] {
                let id = try RevisionID(validating: text)
                var tree = RevisionTree()
                try tree.insert(id, parent: nil, isTombstone: isTombstone, sequence: 300)
                var expected: [UInt8] = []
                tree.encode(to: &expected)
                var bytes: [UInt8] = []
                RevisionTree.encode(
                    only: id, isTombstone: isTombstone, sequence: 300, to: &bytes)
                #expect(bytes == expected)
            }
        }
    }

    /// Calls everything that walks links.
    private func use(_ tree: inout RevisionTree) {
        let copy = tree
        _ = tree.drawing()
        for node in tree.nodes.prefix(5) {
            _ = tree.history(of: node.id)
            _ = tree.commonAncestor(of: node.id, and: copy.nodes[0].id)
        }
        _ = tree.conflicts
        tree.merge(copy)
        var bytes: [UInt8] = []
        tree.encode(to: &bytes)
        tree = copy
        tree.stem(to: 2)
        if let winner = copy.winner {
            tree.purge(leaves: [winner.id])
            tree.insert(
                existing: RevisionHistory(winner.id), isTombstone: false, sequence: 1)
        }
    }
}
