// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan

/// The workloads on full text. All but the build make their index before the clock starts, unless the
/// database has it already.
extension DivanWork {
    /// Runs a workload by name; nil for one that is not about full text.
    func runTextWork(_ work: String, on database: Database) throws -> Timing? {
        guard work.hasPrefix("text_") else { return nil }
        let index = database.fullTextIndex(
            named: "text", on: ["bio"], options: FullTextOptions(language: .english))
        switch work {
        case "text_build":
            return try measuring {
                try index.updateIndex()
                return Int(try index.lastSequenceIndexed)
            }
        case "text_update": return try update(index, of: database)
        default:
            guard let kind = TextQueries.Kind(rawValue: String(work.dropFirst("text_".count)))
            else { return nil }
            try index.updateIndex()
            return try search(index, for: kind, TextQueries.read(kind, beside: inputPath))
        }
    }

    /// What the index takes of a thousand changed documents: rounds of both, less as many of the changes
    /// alone, as `index_update` does.
    private func update(_ index: FullTextIndex, of database: Database) throws -> Timing {
        try index.updateIndex()
        let alone = try measuring {
            for round in 0..<operations { try edit(database, round: round, appending: " Edited.") }
            return 0
        }
        try index.updateIndex()
        var whole = try measuring {
            for round in 0..<operations {
                try edit(database, round: round, appending: " Edited since.")
                try index.updateIndex()
            }
            return Int(try index.lastSequenceIndexed)
        }
        whole.cpu -= alone.cpu
        whole.wall -= alone.wall
        return whole
    }

    private func edit(_ database: Database, round: Int, appending words: String) throws {
        let each = min(1000, input.count / operations)
        try database.write { transaction in
            for number in round * each..<(round + 1) * each {
                try transaction.update(input.documentID(scattered(number))) { person in
                    person.set((person["bio"].string ?? "") + words, forKey: "bio")
                }
            }
        }
    }

    /// Numbers of documents that are not in order, none of them twice; the floor has the same.
    private func scattered(_ number: Int) -> Int {
        let prime = 7919
        return input.count % prime == 0 ? number : number * prime % input.count
    }

    /// Each operation is a search, whose IDs are read. A phrase tells all of its matches, in the order of
    /// their IDs; others tell the best ten.
    private func search(
        _ index: FullTextIndex, for kind: TextQueries.Kind, _ queries: [[String]]
    ) throws -> Timing {
        let searches = queries.map { words in
            var search = index.search(expression(kind, words))
            search.includeDocuments = false
            if kind == .phrase { search.isRanked = false } else { search.limit = 10 }
            return search
        }
        return try measuring {
            var rows = 0
            for number in 0..<(searches.isEmpty ? 0 : operations) {
                for row in try searches[number % searches.count].run() {
                    rows += row.documentID.text.isEmpty ? 0 : 1
                }
            }
            return rows
        }
    }

    private func expression(_ kind: TextQueries.Kind, _ words: [String]) -> FullTextExpression {
        switch kind {
        case .phrase: .phrase(words.joined(separator: " "))
        case .and: .all(words.map { .word($0) })
        case .or: .any(words.map { .word($0) })
        case .prefix: .prefix(words.first ?? "")
        case .rare: .word(words.first ?? "")
        }
    }
}
