// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import Foundation
import Synchronization

/// The workloads on property indexes, built queries and live queries.
extension DivanWork {
    /// How many rows a range of `query_100` has.
    private static let rowsOfRange = 100

    /// Runs a workload by name; nil for one that is not about queries.
    func runQueryWork(_ work: String, on database: Database) throws -> Timing? {
        switch work {
        case "index_property":
            try database.createIndex(PropertyIndex(on: "age"))
            return try measuring {
                try database.updateIndexes()
                return try database.indexReports().reduce(0) { $0 + $1.rows }
            }
        case "group_count": return try groupCount(database)
        case "query_count": return try countCondition(database)
        case "query_email": return try queryEmails(database)
        case "query_rows": return try queryRows(database)
        case "query_100": return try queryRanges(database)
        case "query_beside_large":
            try saveLarge(database)
            return try queryRanges(database)
        case "live_query": return try followUpdates(database)
        default: return nil
        }
    }

    /// Counts documents by one property, without an index.
    private func groupCount(_ database: Database) throws -> Timing {
        let query =
            QueryBuilder
            .select(.property("age"), .expression(Function.count()))
            .from(.database(database)).groupBy(.property("age"))
        return try measuring {
            try query.run().reduce(0) { $0 + ($1[1].int ?? 0) }
        }
    }

    /// Counts the documents that fulfil a condition, without an index.
    private func countCondition(_ database: Database) throws -> Timing {
        let query =
            QueryBuilder
            .select(.expression(Function.count())).from(.database(database))
            .where(.property("age").greaterThanOrEqualTo(50))
        return try measuring { try query.run().first?[0].int ?? -1 }
    }

    /// Ranges of a hundred rows in the order of an indexed text, ID and text of each.
    private func queryEmails(_ database: Database) throws -> Timing {
        try database.createIndex(PropertyIndex(on: "email"))
        try database.updateIndexes()
        let query =
            QueryBuilder
            .select(.expression(Meta.id), .property("email")).from(.database(database))
            .where(.property("email").greaterThanOrEqualTo(.parameter("start")))
            .orderBy(.property("email")).limit(Self.rowsOfRange)
        var numbers = SeededNumbers(seed: 5)
        return try measuring {
            var sum = 0
            for _ in 0..<operations / Self.rowsOfRange {
                let id = input.documentID(numbers.next(below: input.count))
                let email = try database.document(withID: id)?["email"].string ?? ""
                sum += try Self.length(of: query.bind(["start": .string(email)]).run())
            }
            return sum
        }
    }

    /// The documents of each age through an index on it: ID and email of each.
    private func queryRows(_ database: Database) throws -> Timing {
        try database.createIndex(PropertyIndex(on: "age"))
        try database.updateIndexes()
        let query =
            QueryBuilder
            .select(.expression(Meta.id), .property("email")).from(.database(database))
            .where(.property("age").equalTo(.parameter("age")))
        return try measuring {
            try (18..<90).reduce(0) { sum, age in
                try sum + Self.length(of: query.bind(["age": .integer(Int64(age))]).run())
            }
        }
    }

    private static func length(of rows: SelectRows) -> Int {
        rows.reduce(0) {
            $0 + ($1[0].string?.utf8.count ?? 0) + ($1[1].string?.utf8.count ?? 0)
        }
    }

    /// Warm ranges of a hundred rows of an index on a number that is unique to each document.
    private func queryRanges(_ database: Database) throws -> Timing {
        let view = database.view(named: "by number")
        view.setMap(version: "1") { person, emit in
            guard let zip = person["address"]["zip"].string, let number = Int(zip) else { return }
            emit(number, nil)
        }
        try view.updateIndex()
        var numbers = SeededNumbers(seed: 9)
        func ask() throws -> Int {
            let start = numbers.next(below: 90_000)
            var query = view.query(.range(from: .integer(Int64(start))))
            query.limit = Self.rowsOfRange
            return try query.run().reduce(0) { $0 + ($1.key.int64.map { Int($0) } ?? 0) }
        }
        for _ in 0..<100 { _ = try ask() }
        return try measuring { try (0..<operations).reduce(0) { sum, _ in try sum + ask() } }
    }

    /// Eight documents of 15 MB.
    private func saveLarge(_ database: Database) throws {
        let text = String(repeating: "A sentence of a large document. ", count: 15 << 15)
        for number in 0..<8 {
            let document = MutableDocument(["type": "large"], id: "large \(number)")
            document.set(text, forKey: "text")
            try database.save(document)
        }
    }

    /// From the beginning of a save until a live query has told of it, without coalescing. The wall time
    /// is what 99 of 100 take at most, times the operations.
    private func followUpdates(_ database: Database) throws -> Timing {
        let view = database.view(named: "followed")
        view.setMap(version: "1") { person, emit in
            if person["followed"].exists { emit(person["followed"], nil) }
        }
        let told = DispatchSemaphore(value: 0)
        let newest = Mutex(-1)
        let token = view.query().live(interval: .zero).addChangeListener { result in
            guard case .success(let update) = result else { return }
            newest.withLock { $0 = update.rows.last?.key.int64.map { Int($0) } ?? -1 }
            told.signal()
        }
        defer { token.remove() }
        told.wait()
        var durations: [Double] = []
        var timing = try measuring {
            for number in 0..<operations {
                let began = ContinuousClock.now
                try database.save(MutableDocument(["followed": .integer(Int64(number))]))
                while newest.withLock({ $0 }) != number { told.wait() }
                let (seconds, attoseconds) = (ContinuousClock.now - began).components
                durations.append(Double(seconds) + Double(attoseconds) / 1e18)
            }
            return operations
        }
        durations.sort()
        timing.wall = durations[durations.count * 99 / 100] * Double(operations)
        return timing
    }
}
