// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan

extension DivanWork {
    /// As many replicas as operations each made an edit of the same revision, and a pull brings them.
    func addLeaves(to database: Database) throws -> Int {
        for start in stride(from: 0, to: operations, by: 100) {
            try database.write { transaction in
                for index in start..<min(start + 100, operations) {
                    let body = try input.withText(index % input.count) {
                        try PackedValue(parsing: $0)
                    }
                    try transaction.putExistingRevision(
                        "conflicted", body: body,
                        history: [Self.revision(2, index), Self.revision(1, 0)])
                }
            }
        }
        return Int(try database.lastSequence)
    }

    /// Reads the winner of that document.
    func readConflicted(_ database: Database) throws -> Int {
        try database.read { transaction in
            var sum = 0
            for _ in 0..<operations {
                sum += try transaction.document(withID: "conflicted")?.int(forKey: "age") ?? -1
            }
            return sum
        }
    }

    /// Makes as many documents as operations, each with two edits of one revision.
    func addConflicts(to database: Database) throws {
        for start in stride(from: 0, to: operations, by: 1000) {
            try database.write { transaction in
                for index in start..<min(start + 1000, operations) {
                    let id = input.documentID(index)
                    let document = try input.withText(index) {
                        try MutableDocument(json: $0, id: id)
                    }
                    let first = try transaction.save(document).document
                    for age in [20, 30] as [Int64] {
                        var properties = first.properties
                        properties["age"] = .integer(age)
                        try transaction.put(
                            id, properties, parent: first.revisionID, options: .allowConflict)
                    }
                }
            }
        }
    }

    /// A revision ID of the usual form.
    private static func revision(_ generation: Int, _ number: Int) -> RevisionID {
        var numbers = SeededNumbers(seed: UInt64(number))
        let digest = (0..<32).map { _ in String(numbers.next(below: 16), radix: 16) }.joined()
        return "\(generation)-\(digest)"
    }
}
