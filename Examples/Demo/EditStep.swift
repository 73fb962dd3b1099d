// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// The second process: finds everything again, reads, edits, makes and resolves a conflict, checks.
struct EditStep {
    var folder: String

    func run() throws {
        let clock = ContinuousClock()
        let began = clock.now
        let manager = try Manager(directory: URL(fileURLWithPath: folder))
        let atlas = try manager.database(named: "atlas")
        let austria = try atlas.document(withID: "country/AT")
        let opened = clock.now - began

        Demo.headline("A second process opens the same database")
        Demo.fact("open and first read", String(format: "%.2f ms", Demo.seconds(opened) * 1000))
        Demo.fact("documents", "\(try atlas.documentCount)")
        Demo.fact("country/AT", austria?.toJSON() ?? "missing")

        try read(atlas)
        try edit(atlas)
        try resolveConflict(atlas)
        try QueryStep(atlas: atlas).run()
        try maintain(atlas)
        manager.close()
    }

    // MARK: - Reading and editing

    private func read(_ atlas: Database) throws {
        Demo.headline("Read")
        let ids = try atlas.allDocuments().map(\.id)
        var letters = 0
        let reading = try ContinuousClock().measure {
            try atlas.read { transaction in
                for id in ids {
                    letters +=
                        try transaction.document(withID: id)?
                        .string(forKey: "name")?.count ?? 0
                }
            }
        }
        Demo.fact("by ID, one property each", Demo.rate(ids.count, reading, of: "reads"))

        var kinds: [String: Int] = [:]
        let scanning = try ContinuousClock().measure {
            try atlas.read { transaction in
                try transaction.scan { document in
                    kinds[try document.string(forKey: "type") ?? "none", default: 0] += 1
                }
            }
        }
        Demo.fact("scan of one property", Demo.rate(ids.count, scanning, of: "documents"))
        for (kind, count) in kinds.sorted(by: { $0.value > $1.value }) {
            Demo.fact("  \(kind)", "\(count)")
        }
    }

    private func edit(_ atlas: Database) throws {
        Demo.headline("Edit")
        let before = try atlas.lastSequence
        var options = AllDocumentsOptions()
        options.startID = "subdivision/AT"
        options.endID = "subdivision/AT~"
        let austrian = try atlas.allDocuments(options).map(\.id)
        try atlas.inBatch {
            for id in austrian { try atlas.update(id) { $0["visited"] = true } }
        }
        Demo.fact("edited in one batch", "\(austrian.count) subdivisions of Austria")
        try atlas.update("country/AT") { country in
            country["capital"] = "Vienna"
            country["neighbours"] = ["CZ", "SK", "HU", "SI", "IT", "CH", "LI", "DE"]
        }
        let changed = try atlas.changes(since: before).changes
        Demo.fact("in the changes feed", "\(changed.count) changes since \(before)")
        Demo.fact(
            "history of country/AT",
            try atlas.revisionHistory(of: "country/AT").map(\.description).joined(separator: " "))
    }

    // MARK: - A conflict

    private func resolveConflict(_ atlas: Database) throws {
        let id: DocumentID = "country/AT"
        Demo.headline("A conflict: another device edited the first revision, too")
        let history = try atlas.revisionHistory(of: id)
        guard let first = history.last,
            var theirs = try atlas.document(withID: id, revision: first)?
                .properties
        else { throw DatabaseError(.documentNotFound, "There is no \(id) to edit.") }
        theirs["currency"] = "EUR"
        try atlas.putExistingRevision(
            id, theirs, history: ["2-00000000000000000000000000000001", first])
        try show(atlas, id)
        Demo.fact("conflicting revisions", "\(try atlas.conflictingRevisions(of: id).count)")
        Demo.fact("any conflict in the database", "\(try atlas.hasConflicts())")

        Demo.headline("Resolved: both edits merged, the loser deleted, in one batch")
        try atlas.inBatch {
            let leaves = try atlas.conflictingRevisions(of: id)
            try atlas.update(id) { country in
                for leaf in leaves.dropFirst() {
                    for (key, value) in leaf.properties where !country.contains(key) {
                        country.set(value, forKey: key)
                    }
                }
            }
            for loser in leaves.dropFirst() { try atlas.delete(loser) }
        }
        try show(atlas, id)
        Demo.fact("conflicting revisions", "\(try atlas.conflictingRevisions(of: id).count)")
        Demo.fact(id.text, try atlas.document(withID: id)?.toJSON() ?? "missing")
    }

    private func show(_ atlas: Database, _ id: DocumentID) throws {
        for line in try atlas.revisionTree(of: id)?.drawing() ?? [] { print("    " + line) }
    }

    // MARK: - Maintenance

    private func maintain(_ atlas: Database) throws {
        Demo.headline("Compact and verify")
        let before = try atlas.diskSize
        let result = try atlas.compact()
        Demo.fact(
            "before, after, given back",
            "\(Demo.megabytes(before)), \(Demo.megabytes(try atlas.diskSize)), "
                + Demo.megabytes(result.bytesFreed))
        var problems: [VerificationProblem] = []
        let verifying = try ContinuousClock().measure { problems = try atlas.verify() }
        Demo.fact("verified", Demo.rate(try atlas.documentCount, verifying, of: "documents"))
        Demo.fact("problems found", problems.isEmpty ? "none" : "\(problems)")
        guard problems.isEmpty else {
            throw DatabaseError(.corrupted, "The demo's database is damaged.")
        }
    }
}
