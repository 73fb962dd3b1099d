// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

/// Several databases that are edited apart and replicate over faulty connections, from a seed.
///
/// Soak slices: 8
@Suite struct SimulationTests {
    @Test func `databases that replicate in any order over any faults end equal, and lose nothing`()
        async throws
    {
        for round in Soak.rounds(test: 200, soak: 10_000) {
            var world = try World(round: round)
            defer { world.close() }
            for _ in 0..<(12 + world.random.below(20)) { try await world.step() }
            try await world.settle()
            for problem in try world.problems() {
                Issue.record("round \(round), seed \(Soak.seed): \(problem)")
            }
        }
    }

    @Test(arguments: Flaw.allCases)
    func `a replication that is wrong on purpose is found out`(flaw: Flaw) async throws {
        // Not every world shows the flaw; the first one that does is enough.
        var found = 0
        for round in 0..<2_000 where found == 0 {
            var world = try World(round: round)
            defer { world.close() }
            world.flaw = flaw
            for _ in 0..<25 { try await world.step() }
            // A checkpoint that was saved too early is left behind; a feed that tells too little goes on so.
            if flaw == .savesTooEarly { world.flaw = nil }
            try await world.settle()
            if try !world.problems().isEmpty { found += 1 }
        }
        #expect(found > 0)
    }
}

/// The databases of one round, and what was acknowledged to their apps.
private struct World {
    var random: SeededRandom
    let databases: [Database]
    /// Every revision that an app was told of.
    var acknowledged: Set<Saved> = []
    /// What is wrong with the replications, to see that it would be noticed.
    var flaw: Flaw?

    struct Saved: Hashable {
        var id: DocumentID
        var revision: RevisionID
    }

    init(round: Int) throws {
        random = Soak.random(round: round, salt: 0x5EED)
        let count = 2 + random.below(3)
        databases = try (0..<count).map { try Database.inMemory(named: "sim\($0)") }
    }

    func close() { for database in databases { database.close() } }

    mutating func step() async throws {
        let database = databases[random.below(databases.count)]
        switch random.below(10) {
        case 0...4: try edit(database)
        case 5: try conflict(database)
        default:
            let other = databases[random.below(databases.count)]
            guard other !== database else { return }
            try await replicate(database, other, faults: [0, 3, 8, 20][random.below(4)])
        }
    }

    // MARK: - Edits

    private mutating func edit(_ database: Database) throws {
        let id: DocumentID = "doc\(random.below(8))"
        let current = try database.revisionTree(of: id)?.winner
        // Deep histories would be stemmed, and then the test could not tell what was lost.
        if let current, current.id.generation >= 15 { return }
        let parent = current?.id
        if let current, !current.isTombstone, random.oneIn(4) {
            return note(try database.put(id, [:], parent: parent, options: .tombstone))
        }
        var properties: JSONObject = ["n": .integer(Int64(random.below(1_000)))]
        var contents: NameMap<AttachmentContent> = [:]
        if random.oneIn(5) {
            let size = random.below(300)
            contents["a\(random.below(2))"] = .bytes(
                (0..<size).map { _ in UInt8(random.below(4)) })
        }
        if let current, !current.isTombstone, random.oneIn(2),
            case .object(var stubs)? = try database.document(withID: id)?.body["_attachments"]?
                .jsonValue()
        {
            for name in contents.keys { stubs[name] = nil }
            properties["_attachments"] = .object(stubs)
        }
        // An app edits what it sees: the winner, or a tombstone that it does not.
        let base = current?.isTombstone == true ? nil : parent
        note(try database.put(id, properties, parent: base, attachments: contents))
    }

    /// Makes a branch, as an edit elsewhere would, or ends a conflict.
    private mutating func conflict(_ database: Database) throws {
        let id: DocumentID = "doc\(random.below(8))"
        guard let tree = try database.revisionTree(of: id), let winner = tree.winner else { return }
        if tree.isConflicted {
            if let kept = try database.resolveConflicts(of: id, with: .keepWinner) { note(kept) }
            return
        }
        let history = tree.history(of: winner.id)
        guard let parent = history.dropFirst().first, winner.id.generation < 15 else { return }
        note(
            try database.put(
                id, ["branch": .integer(Int64(random.below(1_000)))], parent: parent,
                options: .allowConflict))
    }

    private mutating func note(_ document: Document) {
        acknowledged.insert(Saved(id: document.id, revision: document.revisionID))
    }

    // MARK: - Replication

    private mutating func replicate(_ local: Database, _ remote: Database, faults: Int) async throws
    {
        let isPush = random.oneIn(2)
        var run = SequentialRun(
            source: isPush ? local : remote, target: isPush ? remote : local, isPush: isPush)
        run.faults = faults
        run.crashes = random.oneIn(3) ? 6 : 0
        run.flaw = flaw
        _ = try await run.run(&random)
    }

    /// Replicates without faults until a whole round brings nothing new.
    mutating func settle() async throws {
        for _ in 0..<20 {
            var moved = 0
            for source in databases {
                for target in databases where target !== source {
                    let isPush = random.oneIn(2)
                    var run = SequentialRun(source: source, target: target, isPush: isPush)
                    run.flaw = flaw
                    let result = try await run.run(&random)
                    #expect(result.ending == .finished)
                    for report in result.reports where report.error != nil {
                        Issue.record("\(String(describing: report.error))")
                    }
                    moved += result.documentsPut
                }
            }
            if moved == 0 { return }
        }
        Issue.record("The databases never came to rest.")
    }

    /// Where the databases differ, and what was acknowledged and is lost.
    func problems() throws -> [String] {
        var problems: [String] = []
        let first = try contents(databases[0])
        for (number, database) in databases.enumerated() {
            if try contents(database) != first { problems.append("database \(number) differs") }
            for saved in acknowledged {
                let tree = try database.revisionTree(of: saved.id)
                if tree?.node(saved.revision) == nil {
                    problems.append("\(saved.id) \(saved.revision) is lost in database \(number)")
                }
            }
        }
        return problems
    }

    /// Each leaf with its history, its body and the content of its attachments.
    private func contents(_ database: Database) throws -> [String: String] {
        var contents: [String: String] = [:]
        for change in try database.changes().changes {
            let tree = try #require(try database.revisionTree(of: change.id))
            for leaf in try database.leafRevisions(of: change.id) {
                let revision = leaf.revisionID
                let history = tree.history(of: revision).map(\.description).joined(separator: "<")
                let attachments = try leaf.attachments.map { try $0.content() }
                contents["\(change.id) \(leaf.revisionID)"] =
                    "\(leaf.isDeleted) \(history) \(leaf.body.jsonText) \(attachments)"
            }
        }
        return contents
    }
}
