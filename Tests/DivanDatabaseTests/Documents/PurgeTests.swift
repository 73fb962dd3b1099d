// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct PurgeTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `a purged document leaves no trace`() throws {
        try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        try database.create("b")
        #expect(try database.purge("a"))
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.revisionTree(of: "a") == nil)
        #expect(try database.revisionHistory(of: "a") == [])
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        #expect(try database.allDocuments(options).map(\.id) == ["b"])
        #expect(try database.changes().changes.map(\.id) == ["b"])
        #expect(try database.documentCount == 1)
        var rows = 0
        try database.inspect(store: "revisions") { _ in rows += 1 }
        #expect(rows == 1)
        #expect(try database.problems() == [])
    }

    @Test func `a document can be purged as it was read`() throws {
        let read = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        #expect(try database.purge(read))
        #expect(try database.revisionTree(of: "a") == nil)
        #expect(try !database.purge(read))
    }

    @Test func `purging what is not there does nothing`() throws {
        #expect(try !database.purge("a"))
        #expect(try database.purge("a", revisions: ["1-a"]) == [])
        try database.create("a")
        try database.purge("a")
        #expect(try !database.purge("a"))
    }

    @Test func `sequences are not used again after a purge`() throws {
        try database.create("a")
        try database.create("b")
        try database.purge("b")
        #expect(try database.lastSequence == 2)
        #expect(try database.create("c").sequence == 3)
    }

    @Test func `a purged document can be created and replicated anew`() throws {
        let first = try database.create("a", ["n": 1])
        try database.purge("a")
        #expect(try database.create("a", ["n": 1]) == first)
        try database.purge("a")
        #expect(try database.putExistingRevision("a", ["n": 5], history: ["5-e", "4-d"]))
        #expect(try database.existing("a").generation == 5)
        #expect(try database.problems() == [])
    }

    @Test func `deleted and conflicted documents are purged whole`() throws {
        try database.create("deleted")
        try database.delete("deleted")
        try database.create("torn")
        try database.putExistingRevision("torn", [:], history: ["3-c", "2-b"])
        try database.putExistingRevision("torn", [:], history: ["1-0"], isDeleted: true)
        #expect(try database.purge("deleted"))
        #expect(try database.purge("torn"))
        #expect(try database.documentCount == 0)
        #expect(try !database.hasConflicts())
        #expect(try database.problems() == [])
    }

    // MARK: - Single revisions

    @Test func `purging a losing leaf resolves the conflict`() throws {
        let winner = try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        #expect(try database.purge("a", revisions: ["1-0"]) == ["1-0"])
        #expect(try database.existing("a") == winner)
        #expect(try database.leafRevisions(of: "a").count == 1)
        #expect(try !database.hasConflicts())
        #expect(try database.problems() == [])
    }

    @Test func `purging the winner lets the loser stand with a new place in the feed`() throws {
        try database.putExistingRevision("a", ["n": 0], history: ["1-0"])
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", "1-a"])
        try database.create("b")
        #expect(try database.purge("a", revisions: ["2-b"]) == ["2-b"])
        #expect(try database.existing("a")["n"].int == 0)
        let changes = try database.changes(since: 3).changes
        #expect(changes == [Change(sequence: 4, id: "a", revisions: ["1-0"], isDeleted: false)])
        #expect(try database.changes().changes.map(\.id) == ["b", "a"])
        #expect(try database.revisionTree(of: "a")?.nodes.count == 1)
        #expect(try database.problems() == [])
    }

    @Test func `shared ancestors stay as long as another branch needs them`() throws {
        try database.putExistingRevision("a", ["n": 3], history: ["3-c", "2-b", "1-a"])
        try database.putExistingRevision("a", ["n": 4], history: ["3-d", "2-b", "1-a"])
        try database.purge("a", revisions: ["3-d"])
        #expect(try database.revisionHistory(of: "a") == ["3-c", "2-b", "1-a"])
        try database.purge("a", revisions: ["3-c"])
        #expect(try database.revisionTree(of: "a") == nil)
        #expect(try database.problems() == [])
    }

    @Test func `a revision that is no leaf or not there is left alone`() throws {
        let first = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        #expect(try database.purge("a", revisions: [first.revisionID, "1-x"]) == [])
        #expect(try database.revisionHistory(of: "a").count == 2)
        #expect(code { try database.purge("a", revisions: ["nonsense"]) } == .invalidID)
    }

    @Test func `purging the live leaf of a document with a tombstone deletes it`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", [:], history: ["1-0"], isDeleted: true)
        let live = try database.existing("a")
        try database.purge("a", revisions: [live.revisionID])
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.documentCount == 0)
        #expect(try database.changes().changes.map(\.isDeleted) == [true])
        #expect(try database.problems() == [])
    }

    @Test func `a document goes on after a purge of its revisions`() throws {
        try database.putExistingRevision("a", ["n": 0], history: ["1-0"])
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", "1-a"])
        try database.purge("a", revisions: ["2-b"])
        try database.update("a") { $0["n"] = 1 }
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", "1-a"])
        try database.compact()
        #expect(try database.conflictingRevisions(of: "a").count == 2)
        #expect(try database.problems() == [])
    }

    @Test func `a purge in a batch that fails is undone`() throws {
        try database.create("a", ["n": 1])
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.purge("a")
                throw Whim()
            }
        }
        #expect(try database.existing("a")["n"].int == 1)
        #expect(try database.problems() == [])
    }

    @Test func `a large body goes with its document`() throws {
        let text = String(repeating: "x", count: 600_000)
        try database.create("a", ["text": .string(text)])
        try database.purge("a")
        var rows = 0
        try database.inspect(store: "largeBodies") { _ in rows += 1 }
        #expect(rows == 0)
    }
}
