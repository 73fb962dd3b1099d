// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// The first process: reads the open data and saves every record as a document.
struct ImportStep {
    var folder: String
    var dataFolder: String

    /// As many saves as a transaction takes before the next one makes no difference.
    private static let documentsPerBatch = 500

    func run() throws {
        Demo.headline("Import: \(dataFolder)")
        let manager = try Manager(directory: URL(fileURLWithPath: folder))
        let atlas = try manager.database(named: "atlas")
        let documents = try OpenData.all.flatMap { try $0.documents(in: dataFolder) }
        guard !documents.isEmpty else {
            throw DatabaseError(
                .io, "There is no open data in '\(dataFolder)'; run scripts/bootstrap.")
        }

        let bar = DemoBar(label: "saving", total: documents.count)
        let elapsed = try ContinuousClock().measure {
            for start in stride(from: 0, to: documents.count, by: Self.documentsPerBatch) {
                let batch = documents[start..<min(start + Self.documentsPerBatch, documents.count)]
                try atlas.inBatch {
                    for document in batch { try atlas.save(document) }
                }
                bar.show(start + batch.count)
            }
        }
        bar.finish()

        Demo.fact("saved", Demo.rate(documents.count, elapsed, of: "documents"))
        Demo.fact("documents in the database", "\(try atlas.documentCount)")
        Demo.fact("last sequence", "\(try atlas.lastSequence)")
        let text = OpenData.all.reduce(0) { $0 + $1.size(in: dataFolder) }
        manager.close()
        let reopened = try Database.open(at: URL(fileURLWithPath: folder + "/atlas.divan"))
        Demo.fact(
            "JSON text, database on disk",
            "\(Demo.megabytes(text)), \(Demo.megabytes(try reopened.diskSize))")
        reopened.close()
    }
}
