// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanTestSupport
import FoundationEssentials
import Testing

/// Compaction beside others, and of what gathers in a long life.
@Suite struct CompactionLoadTests {
    private let sandbox = Sandbox()

    @Test func `readers and writers go on through compactions and lose nothing`() throws {
        let database = try sandbox.database()
        let rounds = Soak.count(test: 200, soak: 20_000)
        let documents = 8
        for number in 0..<documents { try database.create("doc-\(number)", ["n": 0]) }

        let isDone = Flag()
        let writers = (0..<2).map { writer in
            Running {
                for round in 1...rounds {
                    let id: DocumentID = "doc-\(round % (documents / 2) * 2 + writer)"
                    try database.update(id) { $0["n"] = Fragment(round) }
                    if round % 10 == 0 {
                        // A conflict that is resolved at once, so that compaction meets those, too.
                        let number: DocumentID = "\(writer)-\(round)"
                        try database.putExistingRevision(number, ["n": 1], history: ["1-a"])
                        try database.putExistingRevision(number, ["n": 2], history: ["1-b"])
                        try database.resolveConflicts(of: number, with: .mergeFields)
                    }
                }
            }
        }
        let reader = Running {
            var reads = 0
            while !isDone.isSet {
                try database.read { transaction in
                    for number in 0..<documents {
                        let id: DocumentID = "doc-\(number)"
                        guard let document = try transaction.document(withID: id) else {
                            throw Whim()
                        }
                        // In one snapshot every body that the tree names is there.
                        for node in try transaction.revisionTree(of: id)?.nodes ?? []
                        where node.sequence != nil {
                            _ = try transaction.document(withID: id, revision: node.id)
                        }
                        reads += document.int(forKey: "n") >= 0 ? 1 : 0
                    }
                }
            }
            return reads
        }
        let compactor = Running {
            var deleted = 0
            while !isDone.isSet { deleted += try database.compact().bodiesDeleted }
            return deleted
        }
        for writer in writers { try writer.value() }
        isDone.set()
        let (reads, deleted) = (try reader.value() ?? 0, try compactor.value() ?? 0)
        #expect(reads > 0)
        #expect(deleted > 0)
        #expect(try !database.hasConflicts())
        #expect(try database.documentCount == documents + 2 * (rounds / 10))
        #expect(try database.problems() == [])
        try database.compact()
        #expect(try database.compact().bodiesDeleted == 0)
        #expect(try database.problems() == [])
    }

    @Test func `a long life of conflicts is compacted to its leaves`() throws {
        let database = try sandbox.database()
        let text = JSONValue.string(String(repeating: "x", count: 2_000))
        let leaves = Soak.count(test: 60, soak: 2_000)
        try database.inBatch {
            for document in 0..<10 {
                for leaf in 0..<leaves {
                    try database.putExistingRevision(
                        "\(document)", ["t": text], history: ["2-\(leaf)", "1-a"])
                }
            }
        }
        let full = try database.diskSize
        #expect(try database.compact().bodiesDeleted == 0)
        #expect(try database.resolveConflicts(with: .keepWinner).resolved == 10)
        let result = try database.compact()
        #expect(result.bodiesDeleted == 10 * (leaves - 1))
        #expect(result.bytesFreed > 10 * (leaves - 1) * 2_000 / 2)
        #expect(try database.diskSize < full / 4)
        #expect(try database.problems() == [])
        // The tombstones are leaves and stay; the documents go on.
        try database.update("0") { $0["n"] = 1 }
        #expect(try database.leafRevisions(of: "0").count == leaves)
        #expect(try database.problems() == [])
    }

    @Test func `old purges are forgotten and new ones kept`() throws {
        let database = try sandbox.database()
        let count = Int(PurgeRecord.keptUnlessSet) + 3_000
        try database.inBatch {
            for number in 0..<count {
                try database.create("\(number)")
                try database.purge("\(number)")
            }
        }
        #expect(try rows(database) == count)
        try database.compact()
        #expect(try rows(database) == Int(PurgeRecord.keptUnlessSet))
        let state = try database.core.read { try $0.state() }
        #expect(state.forgottenPurge == 3_000)
        #expect(state.lastPurge == UInt64(count))
        #expect(try database.problems() == [])
        try database.create("a")
        try database.purge("a")
        try database.compact()
        #expect(try rows(database) == Int(PurgeRecord.keptUnlessSet))
        #expect(try database.problems() == [])
    }

    @Test func `how many purges are kept is the app's to say, and kept with the database`() throws {
        let database = try sandbox.database()
        #expect(try database.purgeHistoryLimit == 10_000)
        try database.setPurgeHistoryLimit(20)
        try database.inBatch {
            for number in 0..<50 {
                try database.create("\(number)")
                try database.purge("\(number)")
            }
        }
        try database.compact()
        #expect(try rows(database) == 20)
        #expect(try database.core.read { try $0.state().forgottenPurge } == 30)
        #expect(try database.problems() == [])
        let copy = sandbox.folder.appending(path: "copy.divan")
        try database.backup(to: copy)
        let opened = try Database.open(at: copy)
        #expect(try opened.purgeHistoryLimit == 20)
        opened.close()
        let saved = sandbox.folder.appending(path: "saved.divan")
        _ = try Database.salvage(from: copy, to: saved)
        let salvaged = try Database.open(at: saved)
        #expect(try salvaged.purgeHistoryLimit == 20)
        salvaged.close()
    }

    @Test func `who is behind the forgotten purges is told that it may be any document`() throws {
        let database = try sandbox.database()
        try database.create("kept")
        try database.create("gone")
        let start = try database.core.committedMark()
        try database.purge("gone")
        try database.inBatch {
            for number in 0...Int(PurgeRecord.keptUnlessSet) {
                try database.create("\(number)")
                try database.purge("\(number)")
            }
        }
        try database.compact()
        let touched = try database.core.read { try $0.touchedDocuments(after: start, limit: 10) }
        #expect(touched.hasForgottenPurges)
        let told = touched.changes(by: database.core.hub.sources)
        #expect(told.first?.isOfAnyDocument == true && told.first?.documentIDs == [])
        #expect(told.count == 2 && told[1].documentIDs.count == 10)
        var all = DatabaseChangeReader(mark: start)
        #expect(try all.next(database.core).first?.hasForgottenPurges == true)
        #expect(try all.next(database.core).allSatisfy { !$0.hasForgottenPurges })
        var one = DocumentChangeReader(id: DocumentID("gone"), mark: start)
        #expect(try one.next(database.core).map(\.isPurge) == [true])
        #expect(try one.next(database.core).isEmpty)
        var other = DocumentChangeReader(id: DocumentID("kept"), mark: start)
        #expect(try other.next(database.core).isEmpty)
    }

    @Test func `nothing is forgotten of a few purges`() throws {
        let database = try sandbox.database()
        for id: DocumentID in ["a", "b"] {
            try database.create(id)
            try database.purge(id)
        }
        try database.compact()
        #expect(try rows(database) == 2)
    }

    private func rows(_ database: Database) throws -> Int {
        var rows = 0
        try database.inspect(store: "purges") { _ in rows += 1 }
        return rows
    }
}
