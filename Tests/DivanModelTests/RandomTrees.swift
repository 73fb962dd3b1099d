// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport

/// A family of revisions from which random trees are cut, so that they overlap.
///
/// Every revision has one parent, as with digests that cover the parent. Generations are low and
/// digests few, so that ties, branches and gaps are frequent.
struct RevisionFamily {
    struct Member {
        var id: RevisionID
        var parent: Int?
        var isTombstone: Bool
    }

    private(set) var members: [Member] = []

    init(count: Int, using random: inout SeededRandom) {
        while members.count < count {
            let parent = members.isEmpty || random.oneIn(12) ? nil : pickParent(using: &random)
            let generation = parent.map { members[$0].id.generation + 1 } ?? 1
            let id = Self.randomID(generation: generation, using: &random)
            if members.contains(where: { $0.id == id }) { continue }
            members.append(Member(id: id, parent: parent, isTombstone: random.oneIn(4)))
        }
    }

    /// Half of the time the newest member, so that branches grow long.
    private func pickParent(using random: inout SeededRandom) -> Int {
        random.oneIn(2) ? members.count - 1 : random.below(members.count)
    }

    /// Mostly MD5s; some texts, of which two differ from hexadecimal digits by a hair.
    static func randomID(generation: UInt64, using random: inout SeededRandom) -> RevisionID {
        guard random.oneIn(5) else {
            return RevisionID(generation: generation, md5: (random.next(), random.next()))
        }
        let texts = [
            "a", "B", "z9", "e\u{301}", "\u{e9}", "ABCDEF00ABCDEF00ABCDEF00ABCDEF00",
            "abcdef00abcdef00abcdef00abcdef0", String(repeating: "x", count: 255),
        ]
        let text = random.element(of: texts) + (random.oneIn(2) ? "" : "\(random.below(9))")
        guard let id = try? RevisionID(generation: generation, digest: text.prefix(255)) else {
            preconditionFailure("The digest is 1 to 255 bytes.")
        }
        return id
    }

    /// A member's history, newest first, as far back as `length`.
    func history(of member: Int, length: Int = .max) -> [RevisionID] {
        var ids: [RevisionID] = []
        var next: Int? = member
        while let index = next, ids.count < length {
            ids.append(members[index].id)
            next = members[index].parent
        }
        return ids
    }

    /// A tree of some members, some without bodies or their older ancestors.
    func randomTree(using random: inout SeededRandom) throws -> RevisionTree {
        var tree = RevisionTree()
        for _ in 0..<random.below(members.count + 1) {
            let member = random.below(members.count)
            let length = random.oneIn(3) ? 1 + random.below(4) : Int.max
            tree.insert(
                existing: try RevisionHistory(history(of: member, length: length)),
                isTombstone: members[member].isTombstone, sequence: UInt64(member + 1))
        }
        return tree
    }
}

/// Checks every invariant, and that encoding and decoding give the same tree.
func checkWhole(_ tree: RevisionTree) throws {
    try tree.checkInvariants()
    var bytes: [UInt8] = [0xff]
    tree.encode(to: &bytes)
    var offset = 1
    let copy = try RevisionTree(decoding: bytes.span, at: &offset)
    guard copy == tree, offset == bytes.count else { throw EncodingMismatch(tree: tree) }
    guard let winner = tree.winner else { return }
    offset = 1
    guard try RevisionTree.decodeWinner(bytes.span, at: &offset) == winner else {
        throw EncodingMismatch(tree: tree)
    }
}

/// A tree that another one came back for.
struct EncodingMismatch: Error {
    var tree: RevisionTree
}
