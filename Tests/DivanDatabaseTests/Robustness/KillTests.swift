// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import Testing

/// A process that writes batches and compacts is killed at random moments, over and over, on one
/// database.
///
/// Soak slices: 10.
@Suite struct KillTests {
    @Test(arguments: Keeping.allCases)
    func `every acknowledged batch is there and whole after a kill`(_ keeping: Keeping)
        async throws
    {
        let directory = try TestDirectory("kill")
        let rounds = Soak.rounds(test: 20, soak: 500)
        let total = try await offPool {
            let path = directory.path("app.divan")
            var history = KillHistory()
            for round in rounds {
                var random = Soak.random(round: round, salt: 0x6B69_6C6C)
                let child = try TestChild(
                    "batches", path, "\(random.next())", keeping.rawValue)
                // One round in six may die before it has opened the database.
                var lines = child.readLines(through: random.below(6), "done")
                lines += child.readLines(killingAfterMicroseconds: random.below(60_000))
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                try history.apply(lines)
                try history.check(path, keeping, round: round)
            }
            return history.acknowledged
        }
        // So many that the kills have hit batches at work, not only children that were starting.
        #expect(total > rounds.count)
    }
}

/// What the children have said so far, and so what the database must hold.
struct KillHistory {
    /// How each document stands, as a line.
    private var states: [String: String] = [:]
    private var totals = "0 0"
    private(set) var acknowledged = 0
    /// The batch that was announced and not acknowledged: it is there whole or not at all.
    private var doubtful: (states: [String: String], totals: String)?

    /// Reads what one child said before it died.
    mutating func apply(_ lines: [String]) throws {
        doubtful = nil
        var plan: (states: [String: String], totals: String) = ([:], "")
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard let word = words.first else { continue }
            switch word {
            case "ready": break
            case "plan": plan = ([:], "")
            case "total": plan.totals = words[1]
            case "end": doubtful = plan
            case "done":
                let done = try #require(doubtful)
                keep(done)
                acknowledged += 1
                doubtful = nil
            default: plan.states[word] = line
            }
        }
    }

    private mutating func keep(_ batch: (states: [String: String], totals: String)) {
        states.merge(batch.states) { _, new in new }
        totals = batch.totals
    }

    /// Whether a batch that the writer did not acknowledge is in the database.
    ///
    /// The totals alone do not say: a batch that purges tombstones changes neither the last sequence nor the
    /// number of documents, so the documents are asked, too.
    private func isThere(
        _ batch: (states: [String: String], totals: String), in database: Database,
        _ found: String
    ) throws -> Bool {
        guard found == batch.totals else { return false }
        return try batch.states.allSatisfy { id, state in
            try DocumentState.line(DocumentID(id), in: database) == state
        }
    }

    /// Compares the database with what the children said.
    mutating func check(_ path: String, _ keeping: Keeping, round: Int) throws {
        let database = try Database.forTest(at: path, create: true, keeping: keeping)
        defer { database.close() }
        let found = "\(try database.lastSequence) \(try database.documentCount)"
        if let doubtful, try isThere(doubtful, in: database, found) { keep(doubtful) }
        #expect(found == totals, "Round \(round): last sequence and count.")
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        options.includeDocuments = true
        var there: Set<String> = []
        try database.forEachDocument(options) { row in
            there.insert(row.id.text)
            let state = try DocumentState.line(row.id, in: database)
            if state != states[row.id.text] {
                Issue.record("Round \(round): \(state), not \(states[row.id.text] ?? "absent").")
            }
            if let document = row.document, !KnownBody.isWhole(document) {
                Issue.record("Round \(round): \(document) is not whole.")
            }
        }
        for (id, state) in states where state != "\(id) -" && !there.contains(id) {
            Issue.record("Round \(round): \(id) is gone.")
        }
        let problems = try database.verify()
        #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
    }
}
