// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ConflictResolutionTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// Makes a document whose two edits of the same revision conflict, and returns its conflict.
    @discardableResult
    private func conflicted(
        _ id: DocumentID = "a", in target: Database? = nil, ancestor: JSONObject = ["n": 0],
        sides: [JSONObject] = [["n": 1], ["n": 2]]
    ) throws -> Conflict {
        let target = target ?? database
        let first = try target.create(id, ancestor)
        for side in sides {
            try target.put(id, side, parent: first.revisionID, options: .allowConflict)
        }
        return try #require(try target.conflict(of: id))
    }

    @Test func `a conflict has a winner, the others and the ancestor`() throws {
        let conflict = try conflicted(sides: [["n": 1], ["n": 2], ["n": 3]])
        #expect(conflict.id == "a")
        #expect(conflict.winner == (try database.existing("a")))
        #expect(
            conflict.leaves.map(\.revisionID)
                == (try database.conflictingRevisions(of: "a").map(\.revisionID)))
        #expect(conflict.others.count == 2)
        #expect(conflict.ancestor?.properties == ["n": 0])
        #expect(conflict.ancestorRevisionID == conflict.ancestor?.revisionID)
    }

    @Test func `a document without a conflict has none`() throws {
        try database.create("plain")
        try database.delete(try database.create("gone"))
        #expect(try database.conflict(of: "plain") == nil)
        #expect(try database.conflict(of: "gone") == nil)
        #expect(try database.conflict(of: "missing") == nil)
        #expect(try database.resolveConflicts(of: "plain", with: .keepWinner) == nil)
        #expect(code { try database.conflict(of: "") } == .invalidID)
    }

    @Test func `the ancestor's ID is known when its body was compacted away`() throws {
        let before = try conflicted()
        try database.compact()
        let after = try #require(try database.conflict(of: "a"))
        #expect(after.ancestor == nil)
        #expect(after.ancestorRevisionID == before.ancestor?.revisionID)
    }

    @Test func `leaves of different roots have no ancestor`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        let conflict = try #require(try database.conflict(of: "a"))
        #expect(conflict.ancestor == nil)
        #expect(conflict.ancestorRevisionID == nil)
    }

    @Test func `the leaf that is kept lives on and the others are deleted`() throws {
        let conflict = try conflicted(sides: [["n": 1], ["n": 2], ["n": 3]])
        let sequence = try database.lastSequence
        let kept = try database.resolve(conflict, by: .keep(conflict.others[1]))
        #expect(kept == conflict.others[1])
        #expect(try database.existing("a") == conflict.others[1])
        #expect(try database.conflict(of: "a") == nil)
        #expect(try !database.hasConflicts())
        let leaves = try database.leafRevisions(of: "a")
        #expect(leaves.map(\.isDeleted) == [false, true, true])
        #expect(try database.changes(since: sequence).changes.map(\.id) == ["a"])
        #expect(try database.lastSequence == sequence + 2)
        #expect(try database.problems() == [])
    }

    @Test func `a merged revision goes on the winner and the others are deleted`() throws {
        let conflict = try conflicted(sides: [["n": 1], ["n": 2]])
        let merged = try database.resolve(conflict, by: .save(["n": 3]))
        #expect(merged.properties == ["n": 3])
        #expect(try database.existing("a") == merged)
        let history = try database.revisionHistory(of: "a")
        #expect(history[1] == conflict.winner.revisionID)
        #expect(try database.leafRevisions(of: "a").map(\.isDeleted) == [false, true])
        #expect(try database.changes().changes.map(\.sequence) == [merged.sequence])
        #expect(try database.problems() == [])
    }

    @Test func `a conflict can end with the deletion of the document`() throws {
        let result = try database.resolve(conflicted(), by: .delete)
        #expect(result.isDeleted)
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.leafRevisions(of: "a").map(\.isDeleted) == [true, true])
        #expect(try database.documentCount == 0)
        #expect(try database.problems() == [])
    }

    @Test func `saving what the winner says makes no revision`() throws {
        let conflict = try conflicted()
        let result = try database.resolve(conflict, by: .save(conflict.winner.properties))
        #expect(result == conflict.winner)
        #expect(try database.existing("a").revisionID == conflict.winner.revisionID)
        #expect(try database.conflict(of: "a") == nil)
    }

    @Test func `a conflict that has changed since it was read is not resolved`() throws {
        let conflict = try conflicted()
        try database.update("a") { $0["n"] = 9 }
        let tree = try database.revisionTree(of: "a")
        #expect(code { try database.resolve(conflict, by: .keep(conflict.winner)) } == .conflict)
        #expect(try database.revisionTree(of: "a") == tree)
        try database.purge("a")
        #expect(code { try database.resolve(conflict, by: .delete) } == .documentNotFound)
    }

    @Test func `only a live leaf of the document can be kept`() throws {
        let conflict = try conflicted()
        let other = try database.create("b")
        let ancestor = try #require(conflict.ancestor)
        #expect(code { try database.resolve(conflict, by: .keep(other)) } == .revisionNotFound)
        #expect(code { try database.resolve(conflict, by: .keep(ancestor)) } == .revisionNotFound)
        #expect(
            code { try database.resolveConflicts(of: "a", keeping: "2-0") } == .revisionNotFound)
        #expect(try database.conflict(of: "a") != nil)
    }

    @Test func `what cannot be stored is refused and the conflict stays`() throws {
        let conflict = try conflicted()
        for properties in [["_secret": 1], ["n": .double(.nan)]] as [JSONObject] {
            #expect(
                code { try database.resolve(conflict, by: .save(properties)) } == .invalidDocument)
        }
        #expect(try database.conflict(of: "a")?.leaves == conflict.leaves)
    }

    @Test func `picking by revision ID keeps that revision`() throws {
        let conflict = try conflicted()
        let loser = conflict.others[0]
        #expect(try database.resolveConflicts(of: "a", keeping: loser.revisionID) == loser)
        #expect(try database.existing("a") == loser)
    }

    @Test func `a resolver that fails leaves the conflict`() throws {
        try conflicted()
        #expect(throws: Whim()) {
            try database.resolveConflicts(of: "a") { _ in throw Whim() }
        }
        #expect(try database.conflict(of: "a") != nil)
    }

    @Test func `a resolver is asked again when the document changed meanwhile`() throws {
        try conflicted()
        var asked: [Int] = []
        let result = try database.resolveConflicts(of: "a") { conflict in
            asked.append(conflict.leaves.count)
            if asked.count == 1 {
                try database.putExistingRevision("a", ["n": 7], history: ["2-0"])
            }
            return .keep(conflict.winner)
        }
        #expect(asked == [2, 3])
        #expect(try database.conflict(of: "a") == nil)
        #expect(try result == database.existing("a"))
    }

    @Test func `a resolution in a batch that fails is undone`() throws {
        let conflict = try conflicted()
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.resolve(conflict, by: .save(["n": 3]))
                #expect(try database.conflict(of: "a") == nil)
                throw Whim()
            }
        }
        #expect(try database.conflict(of: "a")?.leaves == conflict.leaves)
        #expect(try database.allDocuments(onlyConflicts).map(\.id) == ["a"])
        #expect(try database.problems() == [])
    }

    @Test func `the space of losing bodies is freed by the next compaction`() throws {
        let text = String(repeating: "x", count: 100_000)
        let conflict = try conflicted(
            sides: [["t": .string(text)], ["t": .string(text + "y")]])
        try database.compact()
        #expect(try rows("largeBodies") == 2)
        try database.resolve(conflict, by: .save([:]))
        try database.compact()
        #expect(try rows("largeBodies") == 0)
        #expect(try database.problems() == [])
    }

    @Test func `devices that resolve a conflict alike make the same revisions`() throws {
        let resolutions: [(Conflict) -> ConflictResolution] = [
            { .keep($0.winner) }, { .keep($0.others[0]) }, { _ in .save(["m": 1]) },
            { _ in .delete }, { MergeFields().resolve($0) },
        ]
        for (number, decide) in resolutions.enumerated() {
            let id: DocumentID = "doc-\(number)"
            let other = try Database.inMemory()
            for database in [database, other] {
                let conflict = try conflicted(id, in: database)
                try database.resolve(conflict, by: decide(conflict))
            }
            #expect(try leafIDs(id, database) == leafIDs(id, other))
            try Self.copy(id, from: database, to: other)
            try Self.copy(id, from: other, to: database)
            #expect(try leafIDs(id, database) == leafIDs(id, other))
            #expect(try database.conflict(of: id) == nil)
            #expect(try database.problems() == other.problems())
        }
    }

    @Test func `devices that merge differently conflict again and can agree`() throws {
        let other = try Database.inMemory()
        for (number, database) in [database, other].enumerated() {
            let conflict = try conflicted(in: database)
            try database.resolve(conflict, by: .save(["by": .integer(Int64(number))]))
        }
        try Self.copy("a", from: database, to: other)
        try Self.copy("a", from: other, to: database)
        #expect(
            try database.conflict(of: "a")?.ancestorRevisionID?.generation == 2)
        for database in [database, other] {
            try database.resolveConflicts(of: "a", with: .mergeFields)
        }
        #expect(try leafIDs("a", database) == leafIDs("a", other))
        #expect(try !database.hasConflicts())
    }

    @Test func `devices that keep different leaves delete the document between them`() throws {
        let other = try Database.inMemory()
        let conflict = try conflicted()
        try other.resolve(conflicted(in: other), by: .keep(conflict.winner))
        try database.resolve(conflict, by: .keep(conflict.others[0]))
        try Self.copy("a", from: other, to: database)
        #expect(try database.document(withID: "a") == nil)
        // Nothing is lost yet: the bodies are there until they are compacted away.
        let lost = conflict.others[0]
        #expect(try database.document(withID: "a", revision: lost.revisionID) == lost)
    }

    @Test func `databases that resolve apart and exchange everything agree`() throws {
        for round in Soak.rounds(test: 60, soak: 3_000) {
            var random = Soak.random(round: round, salt: 44)
            let pair = [try Database.inMemory(), try Database.inMemory()]
            let count = 2 + random.below(3)
            for database in pair {
                var random = Soak.random(round: round, salt: 45)
                try database.putExistingRevision("a", ["k": 0], history: ["1-a"])
                for side in 0..<count {
                    let key = "k\(random.below(3))"
                    try database.putExistingRevision(
                        "a",
                        [key: .integer(Int64(random.below(3))), "at": .integer(Int64(side % 2))],
                        history: ["2-\(side)", "1-a"])
                }
            }
            let kind = random.below(3)
            for database in pair {
                switch kind {
                case 0: try database.resolveConflicts(with: .keepWinner)
                case 1: try database.resolveConflicts(with: .keepLatest(by: "at"))
                default: try database.resolveConflicts(with: .mergeFields)
                }
            }
            #expect(try pair[0].existing("a") == pair[1].existing("a"))
            try Self.copy("a", from: pair[0], to: pair[1])
            try Self.copy("a", from: pair[1], to: pair[0])
            #expect(
                try leafIDs("a", pair[0]) == leafIDs("a", pair[1]), "seed \(Soak.seed) \(round)")
            #expect(try pair[0].conflict(of: "a") == nil)
            #expect(try pair.map { try $0.problems() } == [[], []])
        }
    }

    @Test func `a tombstone that came from elsewhere already is not made twice`() throws {
        let conflict = try conflicted()
        let other = try Database.inMemory()
        try Self.copy("a", from: database, to: other)
        try other.resolve(try #require(try other.conflict(of: "a")), by: .keep(conflict.winner))
        // The tombstone arrives without its parent, so the losing leaf is still one.
        let tombstone = try #require(try other.leafRevisions(of: "a").last)
        try database.putExistingRevision(
            "a", [:], history: [tombstone.revisionID], isDeleted: true)
        #expect(try database.conflict(of: "a") != nil)
        try database.resolve(conflict, by: .keep(conflict.winner))
        #expect(try leafIDs("a", database) == leafIDs("a", other))
        #expect(try database.conflict(of: "a") == nil)
        #expect(try database.problems() == [])
    }

    @Test func `resolutions keep to the depth of trees`() throws {
        let conflict = try conflicted()
        try database.setRevisionBodyLimit(1)
        try database.resolve(conflict, by: .save(["n": 3]))
        let tree = try database.revisionTree(of: "a")
        #expect(tree?.nodes.allSatisfy { $0.isLeaf == ($0.sequence != nil) } == true)
        #expect(try database.problems() == [])
        try database.compact()
        #expect(try database.problems() == [])
    }

    @Test func `all conflicts are resolved and those that cannot be are named`() throws {
        for number in 0..<250 { try conflicted("doc-\(number)") }
        try database.create("plain")
        var reports: [WorkProgress] = []
        let report = try database.resolveConflicts(progress: { reports.append($0) }) { conflict in
            if conflict.id == "doc-7" { throw Whim() }
            if conflict.id == "doc-8" { return .save(["_bad": 1]) }
            return .keep(conflict.winner)
        }
        #expect(report.resolved == 248)
        #expect(report.failures.map(\.id) == ["doc-7", "doc-8"])
        #expect(report.failures.first?.error as? Whim == Whim())
        #expect(reports.last?.completed == 250)
        #expect(reports.last?.total == 250)
        #expect(try database.conflictCount == 2)
        #expect(try database.problems() == [])
    }

    @Test func `resolving all conflicts stops where progress throws`() throws {
        for number in 0..<150 { try conflicted("doc-\(number)") }
        #expect(throws: Whim()) {
            try database.resolveConflicts(with: .keepWinner) { progress in
                if progress.completed > 0 { throw Whim() }
            }
        }
        #expect(try database.conflictCount == 50)
        #expect(try database.problems() == [])
    }

    @Test func `resolving all conflicts stops when the task is cancelled`() async throws {
        for number in 0..<10 { try conflicted("doc-\(number)") }
        let database = database
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await database.perform {
                try $0.resolveConflicts(with: .keepWinner)
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(try database.conflictCount == 10)
        let report = try database.resolveConflicts(with: .keepWinner)
        #expect(report.resolved == 10)
    }

    @Test func `enumerating conflicts tells which revisions conflict`() throws {
        for id: DocumentID in ["a", "c", "e"] { try conflicted(id) }
        for id: DocumentID in ["b", "d"] { try database.create(id) }
        let rows = try database.allDocuments(onlyConflicts)
        #expect(rows.map(\.id) == ["a", "c", "e"])
        for row in rows {
            #expect(
                try row.conflictingRevisions
                    == database.conflictingRevisions(of: row.id).map(\.revisionID))
            #expect(row.conflictingRevisions.first == row.revisionID)
        }
        var options = AllDocumentsOptions()
        #expect(try database.allDocuments(options).allSatisfy(\.conflictingRevisions.isEmpty))
        options.showConflicts = true
        let all = try database.allDocuments(options)
        #expect(all.map(\.id) == ["a", "b", "c", "d", "e"])
        #expect(all.map(\.conflictingRevisions.count) == [2, 0, 2, 0, 2])
    }

    @Test func `the list of conflicts follows what happens to documents`() throws {
        func listed() throws -> [String] { try database.allDocuments(onlyConflicts).map(\.id.text) }
        for id: DocumentID in ["a", "b", "c", "d"] { try conflicted(id) }
        #expect(try listed() == ["a", "b", "c", "d"])
        try database.delete("a")
        #expect(try listed() == ["b", "c", "d"])
        try database.purge("b")
        #expect(try listed() == ["c", "d"])
        let leaf = try database.conflictingRevisions(of: "c")[1]
        try database.purge("c", revisions: [leaf.revisionID])
        #expect(try listed() == ["d"])
        try database.compact()
        #expect(try listed() == ["d"])
        #expect(try database.conflictCount == 1)
        #expect(try rows("conflicts") == 1)
        #expect(try database.problems() == [])
    }

    private var onlyConflicts: AllDocumentsOptions {
        var options = AllDocumentsOptions()
        options.onlyConflicts = true
        return options
    }

    private func rows(_ store: String) throws -> Int {
        var count = 0
        try database.inspect(store: store) { _ in count += 1 }
        return count
    }

    private func leafIDs(_ id: DocumentID, _ database: Database) throws -> [String] {
        try database.leafRevisions(of: id).map(\.revisionID.description)
    }

    /// Copies every leaf of a document with its history, as a replication does.
    static func copy(_ id: DocumentID, from source: Database, to target: Database) throws {
        let tree = try #require(try source.revisionTree(of: id))
        for leaf in try source.leafRevisions(of: id) {
            try target.putExistingRevision(
                id, leaf.properties,
                history: tree.history(of: leaf.revisionID), isDeleted: leaf.isDeleted)
        }
    }
}
