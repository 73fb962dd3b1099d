// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ConflictTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// Copies the current revision of a document with its history, as a push does.
    private func push(_ id: DocumentID, from source: Database, to target: Database) throws {
        for leaf in try source.leafRevisions(of: id) {
            let tree = try #require(try source.revisionTree(of: id))
            try target.putExistingRevision(
                id, leaf.properties,
                history: tree.history(of: leaf.revisionID), isDeleted: leaf.isDeleted)
        }
    }

    @Test func `two devices that create the same ID meet in one document in conflict`() throws {
        let (phone, tablet) = try (Database.inMemory(), Database.inMemory())
        try phone.create("isbn:0262510871", ["shelf": "office"])
        try tablet.create("isbn:0262510871", ["shelf": "home"])
        try push("isbn:0262510871", from: phone, to: tablet)
        try push("isbn:0262510871", from: tablet, to: phone)
        for device in [phone, tablet] {
            #expect(try device.documentCount == 1)
            let leaves = try device.conflictingRevisions(of: "isbn:0262510871")
            #expect(Set(leaves.compactMap { $0["shelf"].string }) == ["office", "home"])
        }
        #expect(
            try phone.existing("isbn:0262510871") == tablet.existing("isbn:0262510871"))
    }

    @Test func `Molly and Naomi edit the same document offline and meet`() throws {
        // Both have the document; each edits it without a connection; both push.
        let (molly, naomi, server) = try (
            Database.inMemory(), Database.inMemory(), Database.inMemory()
        )
        try molly.create("contact", ["name": "Nina", "phone": "1"])
        try push("contact", from: molly, to: server)
        try push("contact", from: server, to: naomi)
        #expect(try naomi.existing("contact") == molly.existing("contact"))

        try molly.update("contact") { $0["phone"] = "2" }
        try naomi.update("contact") { $0["email"] = "nina@example.org" }
        try push("contact", from: molly, to: server)
        try push("contact", from: naomi, to: server)
        #expect(try server.conflictingRevisions(of: "contact").count == 2)

        // After pulling, all three show the same revision, without having talked about it.
        try push("contact", from: server, to: molly)
        try push("contact", from: server, to: naomi)
        let winner = try server.existing("contact")
        #expect(try molly.existing("contact") == winner)
        #expect(try naomi.existing("contact") == winner)
        for database in [molly, naomi, server] {
            let bodies = try database.conflictingRevisions(of: "contact")
            #expect(Set(bodies.map { $0["phone"].string ?? "" }) == ["1", "2"])
        }

        // Naomi merges in one transaction: the merged body on the winner, the loser deleted.
        try naomi.inBatch {
            let leaves = try naomi.conflictingRevisions(of: "contact")
            let merged = leaves[0].toMutable()
            for leaf in leaves.dropFirst() {
                for (key, value) in leaf.properties where !merged.contains(key) || key == "phone" {
                    merged.setValue(value, forKey: key)
                }
                try naomi.delete(leaf, .failOnConflict)
            }
            merged["phone"] = "2"
            try naomi.save(merged, .failOnConflict)
        }
        try push("contact", from: naomi, to: server)
        try push("contact", from: server, to: molly)
        for database in [molly, naomi, server] {
            #expect(try !database.hasConflicts())
            #expect(
                try database.existing("contact").properties
                    == ["name": "Nina", "phone": "2", "email": "nina@example.org"])
            #expect(try database.problems() == [])
        }
    }

    @Test func `a live leaf beats a longer deleted branch`() throws {
        try database.putExistingRevision("a", ["n": 1], history: ["1-a"])
        try database.putExistingRevision("a", ["n": 9], history: ["9-z"], isDeleted: true)
        #expect(try database.existing("a").revisionID == "1-a")
    }

    @Test func `the longest live branch wins`() throws {
        try database.putExistingRevision("a", ["n": 2], history: ["2-zzz", "1-a"])
        try database.putExistingRevision("a", ["n": 10], history: ["10-a"])
        try database.putExistingRevision("a", ["n": 9], history: ["9-zzz"])
        #expect(try database.existing("a").revisionID == "10-a")
        #expect(
            try database.conflictingRevisions(of: "a").map(\.revisionID)
                == ["10-a", "9-zzz", "2-zzz"])
    }

    @Test func `a tie goes to the higher digest by ASCII`() throws {
        for digest in ["877", "54a", "A", "a"] {
            try database.putExistingRevision("a", [:], history: ["2-\(digest)", "1-x"])
        }
        #expect(
            try database.leafRevisions(of: "a").map(\.revisionID)
                == ["2-a", "2-A", "2-877", "2-54a"])
    }

    @Test func `with tombstones only the longest branch stands for the document`() throws {
        try database.putExistingRevision("a", [:], history: ["2-b", "1-a"], isDeleted: true)
        try database.putExistingRevision("a", ["last": true], history: ["5-a"], isDeleted: true)
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.leafRevisions(of: "a").first?.revisionID == "5-a")
        #expect(try database.delete("a")["last"].bool == true)
    }

    @Test func `the winner does not depend on the order of arrival`() throws {
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 11)
            let revisions = (0..<6).map { _ in
                (id: "\(1 + random.below(3))-\(random.below(50))", isDeleted: random.oneIn(3))
            }
            var unique: [String: Bool] = [:]
            for revision in revisions { unique[revision.id] = revision.isDeleted }
            var winners: Set<RevisionID> = []
            for name in ["x", "y", "z"] {
                for (id, isDeleted) in unique.shuffled(using: &random) {
                    try database.putExistingRevision(
                        "\(name)\(round)", [:], history: [RevisionID(id)], isDeleted: isDeleted)
                }
                winners.insert(
                    try database.leafRevisions(of: "\(name)\(round)").first?.revisionID ?? "")
            }
            #expect(winners.count == 1, "seed \(Soak.seed), round \(round)")
        }
    }

    @Test func `a document in conflict counts once`() throws {
        try database.create("a")
        try database.putExistingRevision("a", [:], history: ["1-0"])
        #expect(try database.documentCount == 1)
        #expect(try database.changes().changes.count == 1)
        #expect(try database.changes().changes.first?.revisions.count == 2)
        #expect(try database.allDocuments().map(\.isConflicted) == [true])
    }

    @Test func `nothing is merged by itself and the loser's body stays`() throws {
        try database.create("a", ["mine": 1])
        try database.putExistingRevision("a", ["theirs": 1], history: ["1-0"])
        try database.update("a") { $0["more"] = 2 }
        #expect(try database.existing("a").properties == ["mine": 1, "more": 2])
        #expect(try database.document(withID: "a", revision: "1-0")?.properties == ["theirs": 1])
    }

    @Test func `the common ancestor is known and readable until compaction`() throws {
        let first = try database.create("a", ["n": 1])
        let mine = try database.update("a") { $0["n"] = 2 }
        try database.putExistingRevision("a", ["n": 3], history: ["2-0", first.revisionID])
        let tree = try #require(try database.revisionTree(of: "a"))
        let ancestor = tree.commonAncestor(
            of: mine.revisionID, and: RevisionID("2-0"))
        #expect(ancestor == first.revisionID)
        #expect(try database.document(withID: "a", revision: first.revisionID)?["n"].int == 1)
        try database.compact()
        #expect(
            code { try database.document(withID: "a", revision: first.revisionID) }
                == .revisionNotFound)
    }

    @Test func `every leaf of a conflict can be edited by itself`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        let leaves = try database.conflictingRevisions(of: "a")
        for leaf in leaves {
            let copy = leaf.toMutable()
            copy["edited"] = true
            #expect(try !database.save(copy, .failOnConflict).overrode)
        }
        #expect(try database.conflictingRevisions(of: "a").map(\.generation) == [2, 2])
        #expect(try database.problems() == [])
    }

    @Test func `hundreds of conflicting leaves are all kept`() throws {
        let count = Soak.count(test: 300, soak: 10_000)
        try database.inBatch {
            for number in 0..<count {
                try database.putExistingRevision("a", ["n": 1], history: ["1-\(number)"])
            }
        }
        #expect(try database.existing("a").generation == 1)
        #expect(try database.conflictingRevisions(of: "a").count == count)
        #expect(try database.problems() == [])
    }

    @Test func `deleting a leaf whose tombstone is known without its parent ends the conflict`()
        throws
    {
        try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        let leaf = try #require(try database.document(withID: "a"))
        let earlier = try database.revisionHistory(of: "a")
        let tombstone = try database.delete("a")
        try database.create("a", ["n": 4])

        // Somewhere else only the newest two are known; then a peer brings the deleted branch.
        let other = try Database.inMemory()
        let newest = try #require(try database.document(withID: "a"))
        let known = [newest.revisionID, tombstone.revisionID]
        try other.putExistingRevision("a", newest.properties, history: known)
        try other.putExistingRevision("a", leaf.properties, history: earlier)
        #expect(try other.conflictingRevisions(of: "a").count == 2)

        let losing = try #require(try other.document(withID: "a", revision: leaf.revisionID))
        let sequence = try other.lastSequence
        #expect(try other.delete(losing).revisionID == tombstone.revisionID)
        #expect(try other.conflictingRevisions(of: "a").map(\.revisionID) == [newest.revisionID])
        #expect(try other.hasConflicts() == false)
        #expect(try other.changes(since: sequence).changes.map(\.id) == ["a"])
        #expect(try other.verify().isEmpty)
    }

    @Test func `a leaf that becomes an ancestor beyond the depth is dead and not shadowed`() throws
    {
        // A short depth cuts the new branch at once, while an older branch still has the leaf.
        try database.putExistingRevision("a", ["n": 3], history: ["3-c", "2-b"])
        try database.putExistingRevision("a", ["n": 1], history: ["1-a"])
        try database.setRevisionBodyLimit(2)
        try database.putExistingRevision("a", ["n": 4], history: ["4-d", "3-c", "2-b", "1-a"])
        #expect(try database.verify().isEmpty)
        try database.compact()
        #expect(try database.verify().isEmpty)
    }
}
