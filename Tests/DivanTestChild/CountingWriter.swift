// SPDX-License-Identifier: Apache-2.0

import Divan

/// Counts up in one document while others do, and leaves a document of its own in each batch.
struct CountingWriter {
    private let database: Database
    private let name: String
    private let batches: Int

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true)
        name = try arguments.argument(1)
        batches = try arguments.number(2)
    }

    func run() throws {
        for batch in 0..<batches {
            try database.inBatch {
                let counter =
                    try database.document(withID: "counter")?.toMutable()
                    ?? MutableDocument(id: "counter")
                counter.set((counter["count"].int64 ?? 0) + 1, forKey: "count")
                try database.save(counter, .failOnConflict)
                try database.save(
                    MutableDocument(["batch": .integer(Int64(batch))], id: "\(name)-\(batch)"))
            }
        }
        database.close()
        Report.say("done")
    }
}
