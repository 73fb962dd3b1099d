// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase

/// Random changes of every kind: after each one every live document equals a fresh read.
@Suite struct LiveDocumentRandomTests {
    @Test(arguments: Soak.rounds(test: 200, soak: 5_000))
    func `live documents equal a fresh read after every random step`(round: Int) throws {
        let sandbox = Sandbox()
        var workload = try Workload(sandbox, Soak.random(round: round, salt: 61))
        var random = Soak.random(round: round, salt: 62)
        var held: [DocumentID: LiveDocument] = [:]
        for step in 0..<40 {
            let (action, id) = try workload.step()
            let database = workload.database
            // A reopened database has objects of its own.
            held = held.filter { $0.value.database === database }
            if random.oneIn(6) { held = held.filter { _ in !random.oneIn(3) } }
            for id in Workload.ids where held[id] == nil && random.oneIn(4) {
                held[id] = try database[id]
            }
            for (id, document) in held {
                #expect(try database[id] === document)
                if random.oneIn(2) {
                    try expectFresh(document, "round \(round), step \(step), \(action) of \(id)")
                }
                document.cache.checkInvariants()
            }
            if random.oneIn(5), let document = held[id] {
                try expectFreshInBatch(document, &random, round)
            }
        }
        for (id, document) in held { try expectFresh(document, "round \(round), end, \(id)") }
    }

    private func expectFresh(_ document: LiveDocument, _ when: String) throws {
        let database = document.database
        let leaves = try database.leafRevisions(of: document.id)
        let current = leaves.first
        #expect(document.currentRevisionID == current?.revisionID, "\(when)")
        #expect(document.exists == (current.map { !$0.isDeleted } ?? false), "\(when)")
        #expect(document.isDeleted == (current?.isDeleted ?? false), "\(when)")
        #expect(document.userProperties == current?.properties ?? [:], "\(when)")
        #expect(document.isConflicted == (leaves.filter { !$0.isDeleted }.count > 1), "\(when)")
        #expect(try document.leafRevisions.map(\.revisionID) == leaves.map(\.revisionID), "\(when)")
        #expect(document.sequence == current?.sequence ?? 0, "\(when)")
        #expect(
            try document.revisionHistory.map(\.revisionID)
                == database.revisionHistory(of: document.id).reversed(), "\(when)")
    }

    /// Changes a document in batches inside a batch, some of which are undone, then undoes all.
    private func expectFreshInBatch(
        _ document: LiveDocument, _ random: inout SeededRandom, _ round: Int
    ) throws {
        var numbers = random
        #expect(throws: Whim()) {
            try document.database.inBatch {
                for _ in 0..<4 {
                    try? document.database.inBatch {
                        switch numbers.below(4) {
                        case 0: try document.purge()
                        case 1: try document.update { $0.isDeletion = true }
                        default:
                            try document.update { $0.set(numbers.below(9), forKey: "inner") }
                        }
                        if numbers.oneIn(2) { throw Whim() }
                    }
                    try expectFresh(document, "round \(round), in a batch")
                }
                throw Whim()
            }
        }
        random = numbers
        try expectFresh(document, "round \(round), undone")
    }
}
