// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import Foundation

/// The workloads on Divan, written as an app would write them.
struct DivanWork {
    let input: InputFile
    /// Where that file lies.
    let inputPath: String
    let directory: URL
    let operations: Int
    let storageEngine: StorageEngineFactory
    /// The key of the database; nil for one that is not encrypted.
    let key: EncryptionKey?

    private static let documentsPerTransaction = 1000

    /// Runs a workload by name.
    func run(_ work: String) throws -> Timing {
        // Opening is timed by its own workload only.
        if work == "open" { return try measuring(open) }
        var options = DatabaseOptions()
        options.create = true
        options.storageEngine = storageEngine
        options.encryptionKey = key
        let writers = writers(of: work)
        if writers != nil { options.durability = .full }
        let database = try Database.open(at: directory, options: options)
        defer { database.close() }
        if let writers { return try writeMany(database, writers) }
        switch work {
        case "insert_batch":
            return try measuring { try insert(into: database, Self.documentsPerTransaction) }
        case "insert_single": return try measuring { try insert(into: database, 1) }
        case "read_random": return try measuring { try readRandom(database) }
        case "read_random_each": return try measuring { try readRandomEach(database) }
        case "update_batch": return try measuring { try update(database) }
        case "scan_predicate": return try measuring { try scan(database) }
        case "all_documents": return try measuring { try allDocuments(database) }
        case "all_ids": return try measuring { try allIDs(database) }
        case "all_id_rows": return try measuring { try allIDRows(database) }
        case "read_many": return try readMany(database)
        case "read_under_writes": return try readUnderWrites(database)
        case "conflict_leaves": return try measuring { try addLeaves(to: database) }
        case "conflict_read":
            _ = try addLeaves(to: database)
            return try measuring { try readConflicted(database) }
        case "conflict_resolve":
            try addConflicts(to: database)
            return try measuring {
                try database.resolveConflicts(with: .mergeFields).resolved
            }
        default:
            let known = try runIndexWork(work, on: database) ?? runQueryWork(work, on: database)
            let other = try known ?? runLifeWork(work, on: database) ?? runKeyWork(work)
            let last =
                try other ?? runTextWork(work, on: database)
                ?? runRecordWork(work, on: database)
            guard let timing = try last ?? runWireWork(work, on: database) else {
                throw UnknownWork(name: work)
            }
            return timing
        }
    }

    /// The error for a name that is no workload.
    struct UnknownWork: Error {
        var name: String
    }

    // MARK: - Writing

    private func insert(into database: Database, _ perTransaction: Int) throws -> Int {
        for start in stride(from: 0, to: operations, by: perTransaction) {
            try database.write { transaction in
                for index in start..<min(start + perTransaction, operations) {
                    let document = try input.withText(index) {
                        try MutableDocument(json: $0, id: input.documentID(index))
                    }
                    try transaction.save(document)
                }
            }
        }
        return Int(try database.lastSequence)
    }

    /// Another age and a longer bio, as the floors do.
    private func update(_ database: Database) throws -> Int {
        var numbers = SeededNumbers(seed: 2)
        var sum = 0
        for start in stride(from: 0, to: operations, by: Self.documentsPerTransaction) {
            try database.write { transaction in
                for _ in start..<min(start + Self.documentsPerTransaction, operations) {
                    let id = input.documentID(numbers.next(below: input.count))
                    let saved = try transaction.update(id) { person in
                        person.set(person.int(forKey: "age") + 1, forKey: "age")
                        person.set((person["bio"].string ?? "") + " Edited since.", forKey: "bio")
                    }
                    sum += Int(saved.generation)
                }
            }
        }
        return sum
    }

    // MARK: - Reading

    private func readRandom(_ database: Database) throws -> Int {
        try database.read { transaction in
            var numbers = SeededNumbers(seed: 1)
            var sum = 0
            for _ in 0..<operations {
                let id = input.documentID(numbers.next(below: input.count))
                sum += try transaction.document(withID: id)?.int(forKey: "age") ?? -1
            }
            return sum
        }
    }

    private func readRandomEach(_ database: Database) throws -> Int {
        var numbers = SeededNumbers(seed: 1)
        var sum = 0
        for _ in 0..<operations {
            let id = input.documentID(numbers.next(below: input.count))
            sum += try database.document(withID: id)?.int(forKey: "age") ?? -1
        }
        return sum
    }

    private func scan(_ database: Database) throws -> Int {
        try database.read { transaction in
            var found = 0
            try transaction.scan { person in
                if let age = try person.int64(forKey: "age"), age >= 50 { found += 1 }
            }
            return found
        }
    }

    private func allDocuments(_ database: Database) throws -> Int {
        var options = AllDocumentsOptions()
        options.includeDocuments = true
        var sum = 0
        try database.forEachDocument(options) { row in
            sum += row.document?.int(forKey: "age") ?? -1
        }
        return sum
    }

    /// The bytes of the IDs, as they are lent, which is what the floors look at.
    private func allIDs(_ database: Database) throws -> Int {
        var sum = 0
        try database.forEachDocumentID { id in sum += Int(id[id.count - 1]) }
        return sum
    }

    /// The same as texts, and each revision's.
    private func allIDRows(_ database: Database) throws -> Int {
        var sum = 0
        try database.forEachDocument { row in
            sum += row.id.text.utf8.count + row.revisionID.description.utf8.count
        }
        return sum
    }

    /// Opens, reads one document, closes, again and again.
    private func open() throws -> Int {
        var sum = 0
        for _ in 0..<operations {
            var options = DatabaseOptions()
            options.storageEngine = storageEngine
            options.encryptionKey = key
            let database = try Database.open(at: directory, options: options)
            sum += try database.document(withID: input.documentID(0))?.int(forKey: "age") ?? -1
            database.close()
        }
        return sum
    }
}

extension InputFile {
    /// Returns a document's ID as Divan takes it.
    func documentID(_ index: Int) -> DocumentID { DocumentID(id(index)) }
}
