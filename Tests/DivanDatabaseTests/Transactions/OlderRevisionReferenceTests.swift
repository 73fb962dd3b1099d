// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanModel

/// Recent trees and blocks against one whole tree, through long random histories.
///
/// Soak slices: 4.
@Suite struct OlderRevisionReferenceTests {
    @Test func `two parts answer what the whole tree does`() throws {
        for round in Soak.rounds(test: 12, soak: 400) {
            var pair = try TwoParts(
                depth: [1, 3, 20][round % 3], limit: 100_000,
                random: Soak.random(round: round, salt: 21))
            for step in 0..<60 {
                try pair.step()
                guard try pair.agree() else {
                    Issue.record("Seed \(Soak.seed), round \(round), step \(step): \(pair.last)")
                    return
                }
            }
            #expect(try pair.database.problems() == [])
        }
    }

    @Test func `within a limit the two parts know every branch as far as the whole tree`() throws {
        for round in Soak.rounds(test: 8, soak: 200) {
            let limit = [1, 5, 30, 64][round % 4]
            var pair = try TwoParts(
                depth: 4, limit: limit, random: Soak.random(round: round, salt: 22))
            for step in 0..<60 {
                try pair.editAny()
                guard try pair.reaches(limit) else {
                    Issue.record("Seed \(Soak.seed), round \(round), step \(step): \(pair.last)")
                    return
                }
            }
            #expect(try pair.database.problems() == [])
        }
    }
}

/// A database with one document, and the tree that it would have if nothing were ever left out.
private struct TwoParts {
    let database: Database
    var whole = RevisionTree()
    var random: SeededRandom
    var last = ""
    private static let id: DocumentID = "doc"
    private var count = 0

    init(depth: Int, limit: Int, random: SeededRandom) throws {
        database = try Database.inMemory()
        try database.setRevisionBodyLimit(depth)
        try database.setRevisionLimit(limit)
        self.random = random
        try edit()
    }

    mutating func step() throws {
        switch random.below(12) {
        case 0..<5: try editAny()
        case 5..<9: try receive()
        case 9: try receiveAgain()
        case 10: try resolve()
        default: if random.oneIn(3) { try purge() }
        }
    }

    /// Edits some leaf, live or not, a number of times.
    mutating func editAny() throws {
        for _ in 0..<1 + random.below(random.oneIn(3) ? 40 : 5) { try edit() }
    }

    private mutating func edit() throws {
        count += 1
        let leaves = whole.leaves
        let parent = random.oneIn(4) && !leaves.isEmpty ? random.element(of: leaves) : whole.winner
        let isDeleted = parent != nil && random.oneIn(12)
        last = "edit \(parent.map { "\($0.id)" } ?? "nothing")"
        let saved = try database.put(
            Self.id, ["n": .integer(Int64(count))], parent: parent?.id,
            options: isDeleted ? .tombstone : [])
        try whole.insert(
            saved.revisionID, parent: parent?.id, isTombstone: isDeleted, sequence: nil)
    }

    /// Takes a revision that was made elsewhere, of any revision that there has been.
    private mutating func receive() throws {
        let base = random.element(of: whole.nodes)
        var ids = whole.history(of: base.id)
        for _ in 0..<1 + random.below(random.oneIn(2) ? 40 : 3) {
            ids.insert(
                RevisionID(
                    generation: ids[0].generation + 1, md5: (random.next(), UInt64(count))), at: 0)
        }
        // Now and then what is told ends early, and the branch has a root of its own.
        if random.oneIn(5) { ids = Array(ids.prefix(1 + random.below(ids.count))) }
        try take(ids, isDeleted: random.oneIn(6))
    }

    private mutating func take(_ ids: [RevisionID], isDeleted: Bool) throws {
        last = "take \(ids[0]) with \(ids.count)"
        let isNew = try database.putExistingRevision(
            Self.id, [:], history: ids, isDeleted: isDeleted)
        let expected = whole.insert(
            existing: try RevisionHistory(ids), isTombstone: isDeleted, sequence: nil)
        #expect(isNew == expected, "\(last)")
    }

    /// Takes a revision that is here, with a history of any length.
    private mutating func receiveAgain() throws {
        let known = random.element(of: whole.nodes)
        let ids = whole.history(of: known.id)
        try take(Array(ids.prefix(1 + random.below(ids.count))), isDeleted: known.isTombstone)
    }

    private mutating func resolve() throws {
        guard let conflict = try database.conflict(of: Self.id) else { return }
        last = "resolve"
        try database.resolve(conflict, by: .keep(conflict.winner))
        let tree = try #require(try database.revisionTree(of: Self.id))
        for leaf in tree.leaves where whole.node(leaf.id) == nil {
            let parent = leaf.parent.map { tree.nodes[$0].id }
            try whole.insert(
                leaf.id, parent: parent, isTombstone: leaf.isTombstone, sequence: nil)
        }
    }

    private mutating func purge() throws {
        guard whole.leaves.count > 1 else { return }
        let leaf = random.element(of: whole.leaves).id
        last = "purge \(leaf)"
        let gone = try database.purge(Self.id, revisions: [leaf])
        #expect(gone == [leaf])
        whole.purge(leaves: [leaf])
    }

    // MARK: - Comparing

    private func links(_ tree: RevisionTree) -> [RevisionID: RevisionID?] {
        var links: [RevisionID: RevisionID?] = [:]
        for node in tree.nodes { links[node.id] = node.parent.map { tree.nodes[$0].id } }
        return links
    }

    func agree() throws -> Bool {
        guard let tree = try database.revisionTree(of: Self.id) else { return false }
        try tree.checkInvariants()
        let recent = try #require(try database.recentRevisionTree(of: Self.id))
        try recent.checkInvariants()
        let isSame =
            links(tree) == links(whole) && tree.leaves.map(\.id) == whole.leaves.map(\.id)
            && tree.leaves.map(\.isTombstone) == whole.leaves.map(\.isTombstone)
        let ids = whole.nodes.map(\.id)
        let missing = try database.read { transaction in
            try transaction.missingRevisions(
                of: ids + [RevisionID("3-unknown")], in: recent, of: Self.id)
        }
        let leaf = whole.nodes[0].id
        let history = try database.read { transaction in
            try transaction.history(of: leaf, in: recent, of: Self.id, downTo: [])
        }
        return isSame && missing.count == 1 && history == whole.history(of: leaf)
    }

    /// Whether each leaf's history is known up to the limit, and nothing but what was.
    func reaches(_ limit: Int) throws -> Bool {
        guard let tree = try database.revisionTree(of: Self.id) else { return false }
        try tree.checkInvariants()
        guard tree.leaves.map(\.id) == whole.leaves.map(\.id) else { return false }
        return whole.leaves.allSatisfy { leaf in
            let known = tree.history(of: leaf.id)
            let all = whole.history(of: leaf.id)
            return known.count >= min(limit, all.count)
                && known == Array(all.prefix(known.count))
        }
    }
}
