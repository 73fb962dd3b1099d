// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLMDB
import DivanTestSupport
import Testing

@testable import DivanDatabase

/// The IDs of revisions that are older than what is kept whole.
@Suite struct OlderRevisionTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func edit(_ id: DocumentID, _ times: Int, in database: Database) throws {
        try database.inBatch {
            for n in 0..<times {
                try database.put(
                    id, ["n": .integer(Int64(n))],
                    parent: database.document(withID: id)?.revisionID)
            }
        }
    }

    private func rows(_ store: String, in database: Database) throws -> [InspectedRow] {
        var rows: [InspectedRow] = []
        try database.inspect(store: store) { rows.append($0) }
        return rows
    }

    @Test func `a thousand IDs are kept by default, and bodies of the newest twenty`() throws {
        #expect(try database.revisionLimit == 1_000)
        try edit("a", 1_100, in: database)
        let history = try database.revisionHistory(of: "a")
        #expect(history.count == 1_000)
        #expect(history.first?.generation == 1100)
        #expect(history.last?.generation == 101)
        let tree = try #require(try database.revisionTree(of: "a"))
        try tree.checkInvariants()
        #expect(tree.nodes.filter { $0.sequence != nil }.count == 20)
        #expect(try rows("revisions", in: database).count == 20)
        #expect(try database.problems() == [])
    }

    @Test func `the row of a document stays short, and blocks are written once`() throws {
        try edit("a", 500, in: database)
        #expect(try rows("documents", in: database)[0].byteCount < 700)
        let before = try rows("olderRevisions", in: database)
        #expect(before.map(\.key) == (0..<before.count).map { "a \($0)" })
        #expect(before.allSatisfy { $0.byteCount < 300 })
        try edit("a", 40, in: database)
        let after = try rows("olderRevisions", in: database)
        #expect(after.prefix(before.count).map(\.summary) == before.map(\.summary))
        #expect(after.count > before.count)
    }

    @Test func `a short document has no older revisions`() throws {
        try edit("a", 20, in: database)
        try database.putExistingRevision("b", [:], history: ["5-e", "4-d"])
        #expect(try rows("olderRevisions", in: database).isEmpty)
    }

    @Test(arguments: [true, false])
    func `a row that becomes whole again leaves no blocks behind`(isNamed: Bool) throws {
        try edit("a", 40, in: database)
        #expect(try !rows("olderRevisions", in: database).isEmpty)
        if isNamed {
            // A conflict with its parent by name, among the older revisions.
            let base = try #require(try database.revisionHistory(of: "a").last)
            try database.put("a", ["branch": true], parent: base, options: .allowConflict)
        } else {
            let branch: [RevisionID] = (1...16).reversed().map { "\($0)-c\($0)" }
            #expect(try database.putExistingRevision("a", ["branch": true], history: branch))
        }
        #expect(try database.problems() == [])
        let leaves = try database.revisionTree(of: "a")?.leaves.count
        #expect(leaves == 2)
        try database.purge("a")
        #expect(try rows("olderRevisions", in: database).isEmpty)
        // What a peer sends to the next document of the name is not taken for what the former one had.
        let old = (1...15).reversed().map { RevisionID("\($0)-e\($0)") }
        try edit("a", 40, in: database)
        let leaf = isNamed ? old : (1...15).reversed().map { RevisionID("\($0)-c\($0)") }
        #expect(try database.putExistingRevision("a", ["again": true], history: leaf))
        #expect(try database.problems() == [])
    }

    @Test func `blocks that a former release left behind are no damage and go with a purge`() throws
    {
        try edit("a", 40, in: database)
        let block = try database.core.read { snapshot in
            try #require(try snapshot.olderBlock(0, of: "a"))
        }
        let branch: [RevisionID] = (1...16).reversed().map { "\($0)-c\($0)" }
        try database.putExistingRevision("a", [:], history: branch)
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            var row: [UInt8] = []
            block.tree.encode(to: &row)
            try writer.set(
                row.span, forKey: OlderRevisionsKey("a", 0).bytes.span,
                in: snapshot.core.stores.olderRevisions)
        }
        #expect(try database.problems() == [])
        try database.purge("a")
        #expect(try rows("olderRevisions", in: database).isEmpty)
    }

    @Test func `a branch that begins among the older revisions meets them`() throws {
        try edit("a", 100, in: database)
        let main = try database.revisionHistory(of: "a")
        let base = Array(main.drop { $0.generation != 30 })
        let branch: [RevisionID] = (31...60).reversed().map { "\($0)-b\($0)" }
        #expect(try database.putExistingRevision("a", ["branch": true], history: branch + base))
        let tree = try #require(try database.revisionTree(of: "a"))
        try tree.checkInvariants()
        #expect(tree.history(of: branch[0]) == branch + base)
        #expect(tree.history(of: main[0]) == main)
        #expect(tree.commonAncestorOfLiveLeaves?.id == base[0])
        #expect(try database.conflict(of: "a")?.ancestorRevisionID == base[0])
        #expect(try database.leafRevisions(of: "a").map(\.revisionID) == [main[0], branch[0]])
        #expect(try database.problems() == [])
    }

    @Test func `a history that goes back farther than the one here is learnt`() throws {
        let history: [RevisionID] = (1...200).reversed().map { "\($0)-x" }
        try database.putExistingRevision("a", [:], history: Array(history[50...70]))
        try database.putExistingRevision("a", [:], history: Array(history[20...55]))
        #expect(try database.revisionHistory(of: "a") == Array(history[20...70]))
        try database.putExistingRevision("a", [:], history: history)
        #expect(try database.revisionHistory(of: "a") == history)
        #expect(try database.leafRevisions(of: "a").count == 1)
        #expect(try database.problems() == [])
    }

    @Test func `an edit below an older revision makes a branch when that is allowed`() throws {
        try edit("a", 60, in: database)
        let old = try database.revisionHistory(of: "a")[50]
        #expect(code { try database.put("a", ["b": 1], parent: old) } == .conflict)
        let branch = try database.put("a", ["b": 1], parent: old, options: .allowConflict)
        let tree = try #require(try database.revisionTree(of: "a"))
        #expect(tree.history(of: branch.revisionID)[1] == old)
        #expect(try database.leafRevisions(of: "a").count == 2)
        #expect(try database.problems() == [])
    }

    @Test func `the older revisions of a purged document go with it`() throws {
        try edit("a", 100, in: database)
        try edit("b", 100, in: database)
        _ = try database.purge("a")
        #expect(try rows("olderRevisions", in: database).allSatisfy { $0.key.hasPrefix("b ") })
        try edit("a", 100, in: database)
        #expect(try database.revisionHistory(of: "a").count == 100)
        #expect(try database.problems() == [])
    }

    @Test func `a purged branch leaves no older revisions, and what it shares stays`() throws {
        try edit("a", 100, in: database)
        let main = try database.revisionHistory(of: "a")
        let base = Array(main.drop { $0.generation != 30 })
        let branch: [RevisionID] = (31...90).reversed().map { "\($0)-b" }
        try database.putExistingRevision("a", ["branch": true], history: branch + base)
        let leaf = try database.revisionHistory(of: "a")[0]
        #expect(try database.purge("a", revisions: [leaf]) == [leaf])
        #expect(try database.revisionHistory(of: "a") == branch + base)
        let text = try rows("olderRevisions", in: database).map(\.summary).joined()
        #expect(!text.contains(main[60].description) && !text.contains(main[10].description))
        #expect(text.contains(base[10].description))
        #expect(try database.problems() == [])
    }

    @Test func `a lower limit forgets what is beyond it, and a higher one goes on from there`()
        throws
    {
        try edit("a", 300, in: database)
        try database.setRevisionLimit(100)
        #expect(try database.revisionHistory(of: "a").count == 100)
        try edit("a", 40, in: database)
        let kept = try rows("olderRevisions", in: database).count
        #expect(kept <= 100 / 16 + 1)
        try database.setRevisionLimit(5)
        try edit("a", 1, in: database)
        #expect(try database.revisionHistory(of: "a").count == 5)
        #expect(try rows("olderRevisions", in: database).isEmpty)
        #expect(try rows("revisions", in: database).count == 5)
        try database.setRevisionLimit(1_000)
        try edit("a", 95, in: database)
        #expect(try database.revisionHistory(of: "a").count == 100)
        #expect(try database.problems() == [])
    }

    @Test func `a stale branch does not keep the past of the others`() throws {
        try database.setRevisionLimit(50)
        try edit("a", 2, in: database)
        let first = try database.revisionHistory(of: "a")[1]
        try database.putExistingRevision("a", [:], history: ["2-0", first], isDeleted: true)
        try edit("a", 500, in: database)
        #expect(try rows("olderRevisions", in: database).count < 10)
        #expect(try database.revisionHistory(of: "a").count == 50)
        #expect(try database.problems() == [])
    }

    @Test func `the limit is kept with the database`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        try database.setRevisionLimit(70)
        try edit("a", 200, in: database)
        database.close()
        let again = try sandbox.database()
        #expect(try again.revisionLimit == 70)
        #expect(try again.revisionHistory(of: "a").count == 70)
        again.close()
    }

    @Test func `salvage brings older revisions over, and does without damaged ones`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        try edit("a", 200, in: database)
        try edit("b", 200, in: database)
        let history = try database.revisionHistory(of: "a")
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let key = OlderRevisionsKey("b", 3).bytes
            let damage: [UInt8] = [0xFF]
            try writer.set(
                damage.span, forKey: key.span, in: snapshot.core.stores.olderRevisions)
        }
        #expect(try database.problems().count == 1)
        // The newest revisions can be read and edited all the same.
        try edit("b", 5, in: database)
        database.close()
        let result = try Database.salvage(from: sandbox.url(), to: sandbox.url("copy"))
        #expect(result.documentsCopied == 2)
        let copy = try sandbox.database("copy")
        #expect(try copy.revisionHistory(of: "a") == history)
        #expect(try copy.revisionHistory(of: "b").count >= 20)
        #expect(try copy.problems() == [])
        copy.close()
    }

    @Test func `damage among older revisions is named`() throws {
        try edit("a", 100, in: database)
        let leaf = try database.revisionHistory(of: "a")[0]
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let store = snapshot.core.stores.olderRevisions
            func put(_ id: String, _ number: UInt64, _ tree: RevisionTree) throws {
                var bytes: [UInt8] = []
                tree.encode(to: &bytes)
                let key = OlderRevisionsKey(try DocumentID(validating: id), number).bytes
                try writer.set(bytes.span, forKey: key.span, in: store)
            }
            var tree = RevisionTree()
            tree.insert(
                existing: try RevisionHistory([.init(generation: 101, digest: "x"), leaf]),
                isTombstone: false, sequence: nil)
            try put("a", 6, tree)
            try put("a", 9, tree)
            try put("other", 6, tree)
        }
        let problems = try database.problems()
        #expect(problems.contains { $0.contains("The leaf \(leaf) of document 'a' has a child") })
        #expect(problems.contains { $0.contains("does not belong into block 9") })
        #expect(problems.contains { $0.contains("Older revisions of document 'other'") })
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func `older revisions survive conversion, copies and replacement`(_ engine: String) throws {
        let sandbox = Sandbox()
        let database = try sandbox.database {
            $0.storageEngine = engine == "lmdb" ? .lmdb : .sqlite
        }
        try edit("a", 150, in: database)
        let history = try database.revisionHistory(of: "a")
        try database.backup(to: sandbox.url("backup"))
        database.close()
        try Database.convert(at: sandbox.url(), to: engine == "lmdb" ? .sqlite : .lmdb)
        for name in ["db", "backup"] {
            let opened = try sandbox.database(name)
            #expect(try opened.revisionHistory(of: "a") == history)
            try edit("a", 30, in: opened)
            #expect(try opened.revisionHistory(of: "a").count == 180)
            try opened.compact()
            #expect(try opened.revisionHistory(of: "a").count == 180)
            #expect(try opened.problems() == [])
            opened.close()
        }
    }
}
