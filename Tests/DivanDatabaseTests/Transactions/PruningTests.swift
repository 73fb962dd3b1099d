// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct PruningTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// Saves a document until it has a generation.
    private func grow(_ id: DocumentID, to generation: Int) throws {
        let current = try database.document(withID: id)
        let document = current?.toMutable() ?? MutableDocument(id: id)
        for next in (current.map { Int($0.generation) } ?? 0)..<generation {
            document["n"] = Fragment(next + 1)
            try database.save(document, .failOnConflict)
        }
    }

    /// The current revision and its ancestors as far as they have more than their ID, newest first.
    private func whole(_ id: DocumentID, in database: Database) throws -> [String] {
        let nodes = try database.revisionTree(of: id)?.nodes ?? []
        return nodes.filter { $0.sequence != nil }.map(\.id.description)
    }

    @Test func `twenty revisions are kept by default`() throws {
        #expect(try database.revisionBodyLimit == 20)
        try grow("a", to: 25)
        #expect(try database.revisionHistory(of: "a").count == 25)
        let history = try whole("a", in: database)
        #expect(history.count == 20)
        #expect(history.first?.hasPrefix("25-") == true)
        #expect(history.last?.hasPrefix("6-") == true)
        #expect(try database.existing("a")["n"].int == 25)
    }

    @Test func `the twentieth revision prunes nothing and the twenty-first does`() throws {
        try grow("a", to: 20)
        #expect(try whole("a", in: database).last?.hasPrefix("1-") == true)
        try grow("a", to: 21)
        let history = try whole("a", in: database)
        #expect(history.count == 20)
        #expect(history.last?.hasPrefix("2-") == true)
    }

    @Test func `pruned revisions and their bodies are gone`() throws {
        try grow("a", to: 1)
        let first = try database.existing("a").revisionID
        try grow("a", to: 30)
        #expect(code { try database.document(withID: "a", revision: first) } == .revisionNotFound)
        var rows = 0
        try database.inspect(store: "revisions") { _ in rows += 1 }
        #expect(rows == 20)
        #expect(try database.problems() == [])
    }

    @Test func `a pruned branch is cut off and the winner stays the same`() throws {
        // A branch of revisions 3 to 7, while the main line has reached 23.
        try database.setRevisionLimit(20)
        try grow("a", to: 2)
        let base = try database.revisionHistory(of: "a")
        let branch: [RevisionID] = ["7-x", "6-x", "5-x", "4-x", "3-x"]
        try grow("a", to: 22)
        // The second generation is at the edge: the branch still hangs on it in the history sent.
        try database.putExistingRevision("a", ["branch": true], history: branch + base)
        try grow("a", to: 23)

        let tree = try #require(try database.revisionTree(of: "a"))
        try tree.checkInvariants()
        let main = try database.revisionHistory(of: "a")
        #expect(main.first?.generation == 23)
        #expect(main.last?.generation == 4)
        let history = tree.history(of: RevisionID("7-x"))
        #expect(history == branch + base)
        #expect(
            tree.commonAncestor(of: main[0], and: RevisionID("7-x")) == nil)
        #expect(try database.existing("a").generation == 23)
        #expect(try database.conflictingRevisions(of: "a").map(\.revisionID) == [main[0], "7-x"])
        #expect(try database.hasConflicts())
        #expect(try database.problems() == [])
    }

    @Test func `leaves are never pruned`() throws {
        try grow("a", to: 1)
        try database.putExistingRevision("a", ["leaf": true], history: ["1-0"])
        try grow("a", to: 40)
        #expect(try database.leafRevisions(of: "a").map(\.revisionID).last == "1-0")
        #expect(try database.document(withID: "a", revision: "1-0")?["leaf"].bool == true)
    }

    @Test func `the depth applies to later revisions and is kept with the database`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        let document = MutableDocument(id: "a")
        for number in 0..<8 {
            document["n"] = Fragment(number)
            try database.save(document)
        }
        try database.setRevisionBodyLimit(3)
        #expect(try database.revisionHistory(of: "a").count == 8)
        database.close()

        let again = try sandbox.database()
        #expect(try again.revisionBodyLimit == 3)
        try again.update("a") { $0["n"] = 9 }
        #expect(try whole("a", in: again).count == 3)
        #expect(try again.revisionHistory(of: "a").count == 9)
        #expect(try again.problems() == [])
    }

    @Test func `a depth of one keeps the leaf alone`() throws {
        try database.setRevisionBodyLimit(1)
        try grow("a", to: 5)
        #expect(try whole("a", in: database).count == 1)
        try database.setRevisionLimit(1)
        try grow("a", to: 6)
        #expect(try database.revisionTree(of: "a")?.nodes.count == 1)
        try database.delete("a")
        #expect(try database.create("a").generation == 8)
        #expect(try database.problems() == [])
    }

    @Test func `a replicated revision joins what pruning had parted`() throws {
        try database.putExistingRevision("a", [:], history: ["5-x", "4-x"])
        let history: [RevisionID] = (1...6).reversed().map { "\($0)-x" }
        try database.putExistingRevision("a", [:], history: history)
        #expect(try database.revisionHistory(of: "a") == history)
        #expect(try database.leafRevisions(of: "a").count == 1)
    }
}
